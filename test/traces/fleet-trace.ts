import type { Clock } from '@tenure/core'
import { type TracedElector, type TraceStep, TraceWriter } from '@tenure/core/internal'
import {
  Fleet,
  type FleetMachine,
  type FleetOptions,
  type FleetReplica,
} from '../../packages/core/test/election/fleet.ts'
import { transition } from '../../packages/core/src/election/machine/transition.ts'

/** The trace of a fleet of pure machines: the lines of all replicas, in the order of true time. */
export interface FleetTrace {
  readonly lines: readonly string[]
  /** What the fleet itself found wrong; undefined if nothing. */
  readonly broken: Error | undefined
}

/** Runs a fleet for a while and traces it. `machine` is what it runs, for planted defects. */
export function traceFleet(options: FleetOptions, ms: number, restMs: number): FleetTrace {
  const { machine = (_, ...input) => transition(...input) } = options
  const lines: string[] = []
  let fleet: Fleet | undefined
  const writer = new TraceWriter({
    machine: 'fleet',
    machineTime: () => fleet?.now ?? 0,
    write: (text) => lines.push(...text.trimEnd().split('\n')),
  })
  const electors = new Map<FleetReplica, TracedElector>()
  let now = 0
  const clock: Clock = { now: () => now, wallTime: () => now, setTimer: () => ({ cancel: () => {} }) }
  const traced: FleetMachine = (replica, state, event, context) => {
    const step = machine(replica, state, event, context)
    const { at, config } = context
    now = at.now
    if (event.kind === 'start') electors.set(replica, { lock: 'lease of the fleet', clock })
    // A process that is suspended from the start on gets other events before.
    const elector = state.kind === 'idle' && event.kind !== 'start' ? undefined : electors.get(replica)
    if (elector !== undefined) writer.take({ elector, config, at, event, ...step } satisfies TraceStep)
    return step
  }
  fleet = new Fleet({ ...options, machine: traced })
  try {
    fleet.run(ms, restMs)
    return { lines, broken: undefined }
  } catch (error) {
    return { lines, broken: error as Error }
  }
}
