import { env } from 'node:process'
import type { FaultScript } from './fault-script.ts'
import { type FaultKind } from './faults.ts'
import { watchRealWorld } from './real-world/watch-real-world.ts'
import { formatSeed, parseSeed, type Seed } from './seed.ts'
import {
  type ResolvedSimulationOptions,
  resolveSimulationOptions,
  type SimulationOptions,
} from './simulation-options.ts'
import { type RunResult, Simulation } from './simulation.ts'
import { shrinkScript } from './shrink.ts'
import { linkOf, notesOf, recordElectors } from './steps.ts'
import { describeTrace, type TraceLine } from './trace.ts'
import type { Violation } from './violation.ts'
import { ORACLES } from './oracles/index.ts'

/** The result of a run. */
export interface SimulationReport {
  /** The seed with the version of the simulator. The same seed and options give the same run. */
  readonly seed: string
  /** The seed before its history was shrunk; `seed` otherwise. */
  readonly original: string
  /** The broken rules; empty if the run is sound. The run ends with the first violation. */
  readonly violations: readonly Violation[]
  /** Everything that happened, in order. Recorded only if a rule was broken. */
  readonly trace: readonly TraceLine[]
  /**
   * The same run as lines of JSON, which the page of the simulator opens from a file or a link: what the electors did, and everything else.
   * Recorded only if a rule was broken.
   */
  readonly steps: readonly string[]
  /** A hash of everything that happened. Two runs with the same hash are the same run. */
  readonly traceHash: string
  /** How much virtual time passed, in milliseconds. */
  readonly simulatedMs: number
  /** The number of timers that fired and messages that arrived. */
  readonly events: number
  /** The number of terms. */
  readonly terms: number
  /** How often each fault happened to a replica in each state. */
  readonly coverage: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>
  /** The faults that happened, by period with faults. */
  readonly faults: FaultScript
  /** The environment variable that replays this run, as `NAME=value`. */
  readonly replay: string
}

/** Options of one run. */
export interface SimulateOptions extends SimulationOptions {
  /** The seed of the run: a number, or a text from a report. @default the value of `TENURE_SIMULATION_SEED`, or 0 */
  readonly seed?: string | number
}

/**
 * Runs a whole fleet on virtual time: real managers, electors and terms with your controllers, a simulated API server, a simulated
 * database, and faults. One seed decides everything. The run is checked against rules O1 to O15.
 *
 * A run that breaks a rule is repeated to record its trace. The repetition must give the same run.
 *
 * @throws OptionsError for an invalid option, or a seed of another version.
 * @throws Error if the repetition of a failed run differs.
 * @throws RealWorldError if a controller used the real clock, a real timer, a real random number or I/O. It names the call and its place.
 */
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const { seed = env[SEED_VARIABLE] ?? 0, ...rest } = options
  const resolved = resolveSimulationOptions(rest)
  return runSeed(resolved, parseSeed(seed))
}

/** The environment variable that replays one seed where a test would run many. */
export const SEED_VARIABLE = 'TENURE_SIMULATION_SEED'

/** Runs one seed. */
export async function runSeed(options: ResolvedSimulationOptions, seed: Seed): Promise<SimulationReport> {
  const result = await observed(options, seed, false)
  if (result.violations.length === 0) return reportOf(options, seed, result)
  const report = await repeated(options, seed, result)
  if (!options.shrink) return report
  const least = await leastSeed(options, seed, result)
  return { ...(await repeated(options, least, await observed(options, least, false))), original: report.seed }
}

/** The seed with the fewest faults that are found to break the same rule. */
async function leastSeed(
  options: ResolvedSimulationOptions,
  { number }: Seed,
  { script, violations }: RunResult,
): Promise<Seed> {
  const rule = violations[0]?.oracle
  const least = await shrinkScript(script, async (candidate) => {
    const result = await observed(options, { number, script: candidate }, false)
    return result.violations[0]?.oracle === rule
  })
  return { number, script: least }
}

/** Repeats a run that broke a rule to record its trace. */
async function repeated(options: ResolvedSimulationOptions, seed: Seed, result: RunResult): Promise<SimulationReport> {
  const electors = recordElectors()
  const replay = await observed(options, seed, true).finally(() => electors.end())
  if (replay.trace.hash !== result.trace.hash) {
    throw new Error(
      `Two runs of seed ${formatSeed(seed)} differ: trace ${result.trace.hash}, then ${replay.trace.hash}. ` +
        'A controller keeps state outside its terms, or depends on something that the seed does not decide.',
    )
  }
  return { ...reportOf(options, seed, replay), steps: [...electors.lines, ...notesOf(replay.trace.lines)] }
}

async function observed(options: ResolvedSimulationOptions, seed: Seed, isVerbose: boolean): Promise<RunResult> {
  const realWorld = watchRealWorld()
  try {
    const result = await new Simulation(options, seed, isVerbose).run(() => realWorld.isTouched)
    realWorld.assertUntouched()
    return result
  } finally {
    realWorld.end()
  }
}

function reportOf(options: ResolvedSimulationOptions, seed: Seed, result: RunResult): SimulationReport {
  const { violations, trace, terms, coverage, script } = result
  return {
    seed: formatSeed(seed),
    original: formatSeed(seed),
    violations,
    trace: trace.lines,
    steps: [],
    traceHash: trace.hash,
    simulatedMs: violations[0]?.at ?? options.durationMs,
    events: trace.events,
    terms,
    coverage,
    faults: script,
    replay: `${SEED_VARIABLE}=${formatSeed(seed)}`,
  }
}

/** The page of the simulator, in the repository of Tenure. */
const PAGE = 'site/dist/simulate/index.html'

/** The longest link that is printed. Terminals and loggers cut off longer lines. */
const MAX_LINK_LENGTH = 30_000

function describeSteps({ steps, original, seed }: SimulationReport): string {
  const link = linkOf(steps)
  if (link.length <= MAX_LINK_LENGTH) return `Step by step: open ${PAGE}#${link}`
  const remedy = original === seed ? 'shrink the history with the option `shrink`, or ' : ''
  return `Step by step: ${remedy}write \`report.steps\` to a file, one on a line, and open it with ${PAGE}`
}

/** Describes a report: each broken rule with its time, the last lines of the trace, how to replay the run, and how to see it step by step. */
export function describeReport(report: SimulationReport): string {
  const { seed, original, violations, trace, traceHash, replay, terms, simulatedMs } = report
  if (violations.length === 0) {
    return `seed ${seed}: no rule broken in ${Math.round(simulatedMs)} ms, ${terms} terms, trace ${traceHash}`
  }
  const broken = violations.map(({ oracle, at, message }) => {
    const rule = ORACLES.find(({ id }) => id === oracle)?.rule ?? ''
    return `${oracle} is broken at ${at.toFixed(3)} ms: ${message}\n  The rule: ${rule}`
  })
  return [
    `seed ${seed}, trace ${traceHash}`,
    ...(original === seed ? [] : [`Shrunk from seed ${original}`]),
    ...broken,
    'The trace before it:',
    describeTrace(trace),
    `Replay: run the same simulation with ${replay} in the environment, or with \`seed: '${seed}'\``,
    describeSteps(report),
  ].join('\n')
}
