import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { TRACE_CHANNEL, type TraceStep, TraceWriter } from '@tenure/core/internal'
import { simulate, type SimulationOptions, type SimulationReport } from '@tenure/simulator'
import { SimulatedProcess } from '../../packages/simulator/src/cluster/simulated-process.ts'

/** Simulates a fleet of whole replicas that breaks no rule, and returns the lines of its trace, in the order of true time. */
export async function traceSimulation(options: SimulationOptions, seed: number): Promise<readonly string[]> {
  const { lines, report } = await tracedSimulation({ ...options, seed })
  const [violation] = report.violations
  if (violation !== undefined) throw new Error(`The simulation of seed ${seed} breaks ${violation.oracle}`)
  return lines
}

/** A run of the simulator with its trace. */
interface TracedSimulation {
  readonly report: SimulationReport
  readonly lines: readonly string[]
}

/**
 * Simulates a fleet of whole replicas. The lines of its trace are in the order of true time. The simulator repeats a run that breaks a rule:
 * the lines are those of the last run.
 */
export async function tracedSimulation(options: Parameters<typeof simulate>[0]): Promise<TracedSimulation> {
  let lines: string[] = []
  let writer = newWriter(lines)
  let now = 0
  const take = (message: unknown): void => {
    const step = message as TraceStep
    const { clock } = step.elector
    // The rest of a turn still runs in a process that has just ended.
    if (!(clock instanceof SimulatedProcess) || !clock.isAlive) return
    if (clock.trueTime < now) writer = newWriter((lines = []))
    now = clock.trueTime
    writer.take(step)
  }
  subscribe(TRACE_CHANNEL, take)
  try {
    const report = await simulate(options)
    return { report, lines }
  } finally {
    unsubscribe(TRACE_CHANNEL, take)
  }
}

function newWriter(lines: string[]): TraceWriter {
  return new TraceWriter({
    machine: 'simulation',
    machineTime: ({ clock }) => (clock instanceof SimulatedProcess ? clock.trueTime : 0),
    write: (text) => lines.push(...text.trimEnd().split('\n')),
  })
}
