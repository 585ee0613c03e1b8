import { type FleetRun, runFleet } from '../../packages/kubernetes/test/endpoints/run-fleet.ts'
import type { CountedRun } from './tally.ts'

/*
 * Fleets that keep an EndpointSlice, with the code of production over a virtual API server: kills, restarts, pauses, cuts, late watches, outages
 * and meddlers. Three rules: nobody who lives is absent or dropped, nobody who is dead stays, and the slice is not empty while one lives.
 */

/** Runs the fleet of a seed. */
export async function runEndpoints(seed: number): Promise<CountedRun & Pick<FleetRun, 'faults' | 'violations'>> {
  const { violations, faults, simulatedMs, writes } = await runFleet(seed)
  return { seed: String(seed), violations, faults, simulatedMs, events: writes, terms: 0, coverage: new Map() }
}

/** Tells what a run broke. */
export function describeEndpoints(
  seed: number,
  { violations, faults }: Pick<FleetRun, 'faults' | 'violations'>,
): string {
  const what = violations.length === 0 ? 'no violations' : violations.join('\n  ')
  return `endpoints, seed ${seed}: ${what}\nFaults:\n  ${faults.join('\n  ')}\nReproduce it with: npm run simulate -- --endpoints --seed ${seed}`
}
