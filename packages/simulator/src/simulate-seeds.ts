import { env } from 'node:process'
import type { FaultKind } from './faults.ts'
import { watchRealWorld } from './real-world/watch-real-world.ts'
import { parseSeed, type Seed } from './seed.ts'
import { runSeed, SEED_VARIABLE, type SimulationReport } from './simulate.ts'
import { resolveSimulationOptions, type SimulationOptions } from './simulation-options.ts'

/** Options of many runs. */
export interface SimulateSeedsOptions extends SimulationOptions {
  /** How many seeds to run. With `TENURE_SIMULATION_SEED` in the environment, only that seed runs. */
  readonly seeds: number
  /** The number of the first seed. @default 0 */
  readonly firstSeed?: number
  /** Stops after this many runs that broke a rule. @default 1 */
  readonly maxFailures?: number
}

/** The result of many runs. */
export interface SeedsReport {
  /** The number of runs. */
  readonly seeds: number
  /** The runs that broke a rule. */
  readonly failures: readonly SimulationReport[]
  readonly simulatedMs: number
  readonly events: number
  readonly terms: number
  /** How often each fault happened to a replica in each state. */
  readonly coverage: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>
}

/**
 * Runs `simulate()` for consecutive seeds.
 *
 * @throws OptionsError, RealWorldError as `simulate()` does.
 */
export async function simulateSeeds(options: SimulateSeedsOptions): Promise<SeedsReport> {
  const { seeds, firstSeed = 0, maxFailures = 1, ...rest } = options
  const resolved = resolveSimulationOptions(rest)
  const failures: SimulationReport[] = []
  const coverage = new Map<FaultKind, Map<string, number>>()
  const sum = { seeds: 0, simulatedMs: 0, events: 0, terms: 0 }
  const only = env[SEED_VARIABLE]
  const chosen = only === undefined ? range(parseSeed(firstSeed).number, seeds) : [parseSeed(only)]
  const realWorld = watchRealWorld()
  try {
    for (const seed of chosen) {
      const report = await runSeed(resolved, seed)
      sum.seeds += 1
      sum.simulatedMs += report.simulatedMs
      sum.events += report.events
      sum.terms += report.terms
      addCoverage(coverage, report.coverage)
      if (report.violations.length > 0) failures.push(report)
      if (failures.length >= maxFailures) break
    }
  } finally {
    realWorld.end()
  }
  return { ...sum, failures, coverage }
}

function* range(first: number, count: number): Iterable<Seed> {
  for (let number = first; number < first + count; number++) yield { number, script: undefined }
}

/** Adds the counts of one run to a sum. */
function addCoverage(
  sum: Map<FaultKind, Map<string, number>>,
  more: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>,
): void {
  for (const [kind, states] of more) {
    const counts = sum.get(kind) ?? new Map<string, number>()
    sum.set(kind, counts)
    for (const [state, count] of states) counts.set(state, (counts.get(state) ?? 0) + count)
  }
}
