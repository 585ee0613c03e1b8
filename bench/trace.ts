import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock, type TracedElector, type TraceStep } from '@tenure/core/internal'
import { Fleet, type FleetMachine, type FleetReplica } from '../packages/core/test/election/fleet.ts'
import { transition } from '../packages/core/src/election/machine/transition.ts'
import { traceChannel } from '../packages/core/src/election/trace/trace-channel.ts'
import { traceExtension } from '../packages/tenure/src/trace-extension.ts'
import { FLEET_KINDS } from '../test/traces/fleet-kinds.ts'
import { percentile, writeFigures } from './figures.ts'

/*
 * What `TENURE_TRACE` costs an elector: the time that it takes to publish a step to the trace, with its lines in a file. The floor is the same
 * without a subscriber. The steps are those of fleets of three with faults, one after the other; lines in which a replica acts are written
 * at once.
 */
const LIMIT_US = 2

/** The steps of one batch, which runs without interruption most of the time. */
const STEPS = 200

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    batches: { type: 'string', default: '2000' },
    // Reports a slow trace without failing, for a busy machine.
    lenient: { type: 'boolean', default: false },
  },
})
const batches = Number(values.batches)
if (!Number.isInteger(batches) || batches < 1) {
  console.error(`Expected \`--batches\` to be a whole number above 0, got \`${values.batches}\``)
  process.exit(2)
}

const steps = Array.from({ length: 10 }, (_, seed) => stepsOf(seed)).flat()
const [acting, seeing] = [steps.filter(isActing), steps.filter((step) => !isActing(step))]
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-trace-'))
try {
  const floor = microseconds(steps)
  const trace = traceExtension(join(folder, 'trace.jsonl'), silent)
  await trace.start?.({} as never)
  const [all, ofActing, ofSeeing] = [steps, acting, seeing].map(microseconds) as [number, number, number]
  await trace.stop?.()
  const share = acting.length / steps.length
  const figures = {
    'trace.floor_us': floor,
    'trace.event_us': all - floor,
    'trace.acting_us': ofActing - floor,
    'trace.seeing_us': ofSeeing - floor,
    'trace.acting_share': share,
  }
  console.log(`µs a step, beyond the floor of ${floor.toFixed(2)} µs of a channel without a subscriber:`)
  for (const [name, us] of [
    ['all steps', all],
    [`${(share * 100).toFixed(0)} % in which a replica acts`, ofActing],
    ['the others', ofSeeing],
  ] as const)
    console.log(
      `${name.padEnd(36)}${(us - floor).toFixed(2).padStart(8)}${(us / floor).toFixed(1).padStart(8)} × the floor`,
    )
  await writeFigures(values.json, figures)
  const isSlow = all - floor > LIMIT_US
  if (isSlow) console.error(`Expected a step to cost at most ${LIMIT_US} µs`)
  process.exitCode = isSlow && !values.lenient ? 1 : 0
} finally {
  await rm(folder, { recursive: true })
}

/** The steps of a fleet, as its electors publish them. Their clock is that of this machine. */
function stepsOf(seed: number): readonly TraceStep[] {
  const found: TraceStep[] = []
  const electors = new Map<FleetReplica, TracedElector>()
  const machine: FleetMachine = (replica, state, event, { at, config }) => {
    const step = transition(state, event, { at, config })
    const elector = electors.get(replica) ?? { lock: 'lease ops/janitor', clock: systemClock }
    electors.set(replica, elector)
    found.push({ elector, config, at, event, ...step })
    return step
  }
  const kind = FLEET_KINDS['plain']
  if (kind === undefined) throw new Error('There is no plain fleet')
  new Fleet({ seed, replicas: 3, ...kind, machine }).run(60_000, 30_000)
  return found
}

/** Whether the trace shows that the replica does something in this step. */
function isActing({ effects }: TraceStep): boolean {
  return effects.some(
    ({ kind }) => kind === 'write' || kind === 'read' || kind.endsWith('-validity') || kind.endsWith('-term'),
  )
}

/** The time of one step: the median over batches. */
function microseconds(of: readonly TraceStep[]): number {
  const samples: number[] = []
  for (let batch = 0, next = 0; batch < batches; batch++) {
    const chosen = Array.from({ length: STEPS }, () => of[next++ % of.length]) as TraceStep[]
    const began = performance.now()
    for (const step of chosen) publish(step)
    if (batch >= batches / 10) samples.push((1000 * (performance.now() - began)) / STEPS)
  }
  return percentile(samples, 0.5)
}

/** As an elector does it. */
function publish({ elector, config, at, event, effects, state }: TraceStep): void {
  const now = { now: elector.clock.now(), wallTime: elector.clock.wallTime(), random: at.random }
  if (traceChannel.hasSubscribers)
    traceChannel.publish({ elector, config, at: now, event, effects, state } satisfies TraceStep)
}
