import { argv } from 'node:process'
import { describeReport, simulate, type SimulationReport } from '@tenure/simulator'
import { watchRealWorld } from '../../packages/simulator/src/real-world/watch-real-world.ts'
import { describeEndpoints, runEndpoints } from './endpoints.ts'
import { fleetOf } from './fleets.ts'
import type { SeedRange } from './seed-ranges.ts'
import { count, emptyTally } from './tally.ts'

/* Runs every n-th seed of a range and sends the results to the parent process. */
const { first, step, end, endpoints } = JSON.parse(argv[2] ?? '') as SeedRange
const tally = emptyTally()
// Sets the traps once for all runs.
const realWorld = watchRealWorld()
for (let seed = first; seed < end; seed += step) {
  const began = performance.now()
  if (endpoints) {
    const report = await runEndpoints(seed)
    count(tally, 'endpoints', report, performance.now() - began)
    if (report.violations.length > 0) console.error(`${describeEndpoints(seed, report)}\n`)
    continue
  }
  const fleet = fleetOf(seed)
  const report = await run(seed)
  count(tally, fleet.name, report, performance.now() - began)
  if (report.violations.length > 0) console.error(`${fleet.name}: ${describeReport(report)}\n`)
}
realWorld.end()
process.send?.(tally)

async function run(seed: number): Promise<SimulationReport> {
  return simulate({ ...fleetOf(seed).options, seed })
}
