import { simulate, type SimulationOptions, type SimulationReport } from '@tenure/simulator'
import { recordElectors } from '../../packages/simulator/src/steps.ts'

/** Simulates a fleet of whole replicas that breaks no rule, and returns the lines of its trace, in the order of true time. */
export async function traceSimulation(options: SimulationOptions, seed: number): Promise<readonly string[]> {
  const { lines, report } = await tracedSimulation({ ...options, seed })
  const [violation] = report.violations
  if (violation !== undefined)
    throw new Error(`The simulation of seed ${seed} breaks ${violation.oracle}: ${violation.message}`)
  return lines
}

/** A fleet whose store is restored about every two minutes. Its oracles do not hold then. */
export function withRestores(options: SimulationOptions): SimulationOptions {
  return { ...options, oracles: [], faults: { ...options.faults, 'store-restored': 120 } }
}

/** A run of the simulator with its trace. */
interface TracedSimulation {
  readonly report: SimulationReport
  readonly lines: readonly string[]
}

/** Simulates a fleet of whole replicas. The lines of its trace are in the order of true time. A run that breaks a rule brings its own. */
export async function tracedSimulation(options: Parameters<typeof simulate>[0]): Promise<TracedSimulation> {
  const electors = recordElectors()
  try {
    const report = await simulate(options)
    return { report, lines: report.violations.length > 0 ? report.steps : electors.lines }
  } finally {
    electors.end()
  }
}
