import { env } from 'node:process'
import { type FaultKind } from './faults.ts'
import { watchRealWorld } from './real-world/watch-real-world.ts'
import { formatSeed, parseSeed } from './seed.ts'
import {
  type ResolvedSimulationOptions,
  resolveSimulationOptions,
  type SimulationOptions,
} from './simulation-options.ts'
import { type RunResult, Simulation } from './simulation.ts'
import { describeTrace, type TraceLine } from './trace.ts'
import type { Violation } from './violation.ts'
import { ORACLES } from './oracles/index.ts'

/** What a run came to. */
export interface SimulationReport {
  /** The seed, with the version of the simulator: the same seed and options give the same run. */
  readonly seed: string
  /** The rules that were broken; empty when all is well. The run ends with the first. */
  readonly violations: readonly Violation[]
  /** Everything that happened, in order; recorded only where a rule was broken. */
  readonly trace: readonly TraceLine[]
  /** A hash of everything that happened: two runs with one hash are the same run. */
  readonly traceHash: string
  readonly simulatedMs: number
  /** How many timers fired and messages arrived. */
  readonly events: number
  /** How many terms began. */
  readonly terms: number
  /** How often each fault happened to a replica in each state. */
  readonly coverage: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>
  /** How to see this run again. */
  readonly replay: string
}

/** Options of one run. */
export interface SimulateOptions extends SimulationOptions {
  /** Which run: a seed as a report shows it, or a number. @default that of `TENURE_SIMULATION_SEED`, or 0 */
  readonly seed?: string | number
}

/**
 * Runs a whole fleet on virtual time: real managers, electors and terms with your controllers, a simulated API server, a simulated
 * database, and faults, all of it decided by one seed. Judges the run by rules O1 to O7.
 *
 * A run that breaks a rule is run once more to record its trace, and has to come out the same.
 *
 * @throws OptionsError for a bad option, or a seed of another version.
 * @throws RealWorldError when a controller used the real clock, a real timer, real chance or I/O, with the call and its place.
 */
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const { seed = env[SEED_VARIABLE] ?? 0, ...rest } = options
  const resolved = resolveSimulationOptions(rest)
  return runSeed(resolved, parseSeed(seed))
}

/** Replays one seed where a test would run many. */
export const SEED_VARIABLE = 'TENURE_SIMULATION_SEED'

/** Runs one seed. */
export async function runSeed(options: ResolvedSimulationOptions, seed: number): Promise<SimulationReport> {
  const result = await observed(options, seed, false)
  if (result.violations.length === 0) return reportOf(options, seed, result)
  const replay = await observed(options, seed, true)
  if (replay.trace.hash !== result.trace.hash) {
    throw new Error(
      `The run of seed ${formatSeed(seed)} did not repeat itself: trace ${result.trace.hash}, then ${replay.trace.hash}. ` +
        'A controller keeps state outside of its terms, or depends on something that the simulator does not decide.',
    )
  }
  return reportOf(options, seed, replay)
}

async function observed(options: ResolvedSimulationOptions, seed: number, isVerbose: boolean): Promise<RunResult> {
  const realWorld = watchRealWorld()
  try {
    const result = await new Simulation(options, seed, isVerbose).run(() => realWorld.isTouched)
    realWorld.assertUntouched()
    return result
  } finally {
    realWorld.end()
  }
}

function reportOf(options: ResolvedSimulationOptions, seed: number, result: RunResult): SimulationReport {
  const { violations, trace, terms, coverage } = result
  return {
    seed: formatSeed(seed),
    violations,
    trace: trace.lines,
    traceHash: trace.hash,
    simulatedMs: violations[0]?.at ?? options.durationMs,
    events: trace.events,
    terms,
    coverage,
    replay: `${SEED_VARIABLE}=${formatSeed(seed)}`,
  }
}

/** A report in words: what was broken, when, what came before it, and how to see it again. */
export function describeReport(report: SimulationReport): string {
  const { seed, violations, trace, traceHash, replay, terms, simulatedMs } = report
  if (violations.length === 0) {
    return `seed ${seed}: no rule broken in ${Math.round(simulatedMs)} ms, ${terms} terms, trace ${traceHash}`
  }
  const broken = violations.map(({ oracle, at, message }) => {
    const rule = ORACLES.find(({ id }) => id === oracle)?.rule ?? ''
    return `${oracle} is broken at ${at.toFixed(3)} ms: ${message}\n  The rule: ${rule}`
  })
  return [
    `seed ${seed}, trace ${traceHash}`,
    ...broken,
    'What happened before:',
    describeTrace(trace),
    `Replay: run the same simulation with ${replay} in the environment, or with \`seed: '${seed}'\``,
  ].join('\n')
}
