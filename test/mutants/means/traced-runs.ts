import { once } from 'node:events'
import process from 'node:process'
import { watchRealWorld } from '../../../packages/simulator/src/real-world/watch-real-world.ts'
import { fleetOf } from '../../simulation/fleets.ts'
import { FLEET_KINDS } from '../../traces/fleet-kinds.ts'
import { traceFleet } from '../../traces/fleet-trace.ts'
import { tracedSimulation, withRestores } from '../../traces/simulated-trace.ts'

/*
 * Runs fleets with a defect, and sends the trace of each and what the simulator found to the parent process, which judges the trace
 * without the defect. Runs the next one when the parent answers.
 */

/** One run of a fleet with its trace. */
export interface TracedRun {
  readonly name: string
  readonly lines: readonly string[]
  /** The oracle of the simulator that the run breaks. Undefined if it breaks none, and for a fleet of pure machines. */
  readonly violation: string | undefined
  /** Whether the store was restored during the run. */
  readonly mayRestore?: boolean
}

/** How many fleets of pure machines of each kind run, and then of whole replicas. */
const FLEETS = 26
const SIMULATIONS = 136

/** How many fleets of whole replicas run with a store that is restored now and then. */
const RESTORED = 60

/** A fleet and a seed in which a read overtakes both a renewal and the word of a coordinator. */
const OVERTAKEN = ['coordinated, late views', 680] as const

/** The first seed of the short runs. */
const FIRST_SEED = 34_000

/**
 * Seeds of a long run. In the first one, the answer to a write to the list comes after a newer version, directly before a replica is
 * stopped. In the second one, a replica cannot leave the list while its node is cordoned, and its Pod is deleted later.
 */
const SLOW_RUNS = [10_001_526, 10_031_032]

const FLEET_MS = 60_000
const REST_MS = 30_000

for (const run of fleets()) await send(run)
const realWorld = watchRealWorld()
for (let seed = FIRST_SEED; seed < FIRST_SEED + SIMULATIONS; seed += 1) await send(await simulated(seed))
for (const seed of SLOW_RUNS) await send(await simulated(seed))
for (let seed = 0; seed < RESTORED; seed += 1) await send(await restored(seed))
realWorld.end()
process.disconnect?.()

function* fleets(): Generator<TracedRun> {
  for (let seed = 1; seed <= FLEETS; seed += 1) for (const name of Object.keys(FLEET_KINDS)) yield traced(name, seed)
  yield traced(...OVERTAKEN)
}

function traced(name: string, seed: number): TracedRun {
  const kind = FLEET_KINDS[name]
  if (kind === undefined) throw new Error(`Expected a kind of fleet, got \`${name}\``)
  const { lines } = traceFleet({ seed, replicas: 3, isOnlyTraced: true, ...kind }, FLEET_MS, REST_MS)
  return { name: `fleet ${name} ${seed}`, lines, violation: undefined }
}

async function simulated(seed: number): Promise<TracedRun> {
  const { name, options } = fleetOf(seed)
  const { report, lines } = await tracedSimulation({ ...options, seed })
  const [violation] = report.violations
  // A violation ends a run. The trace is that of the whole.
  const whole = violation === undefined ? lines : (await tracedSimulation({ ...options, seed, oracles: [] })).lines
  return { name: `${name}, seed ${seed}`, lines: whole, violation: violation?.oracle }
}

async function restored(seed: number): Promise<TracedRun> {
  const { name, options } = fleetOf(seed)
  const { lines } = await tracedSimulation({ ...withRestores(options), seed })
  return { name: `${name}, restored, seed ${seed}`, lines, violation: undefined, mayRestore: true }
}

async function send(run: TracedRun): Promise<void> {
  const answered = once(process, 'message')
  process.send?.(run)
  await answered
}
