import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { Fleet } from './fleet.ts'

/** What became of a fleet. */
export interface FleetRun {
  readonly violations: readonly string[]
  readonly faults: readonly string[]
  readonly simulatedMs: number
  /** How many writes the API server took. */
  readonly writes: number
}

/** How many faults hit a fleet. */
const FAULTS = 8

/** Runs the fleet of a seed: faults, then a calm time in which the slice becomes right. */
export async function runFleet(seed: number): Promise<FleetRun> {
  const clock = new VirtualClock()
  const random = seeded(seed)
  const fleet = new Fleet(clock, random, 2 + (seed % 4))
  await fleet.pass(3000)
  for (let fault = 0; fault < FAULTS; fault++) {
    fleet.disturb()
    await fleet.pass(500 + random() * 25_000)
  }
  fleet.heal()
  await fleet.pass(60_000)
  fleet.judge()
  // The end of all replicas at once is not judged.
  const violations = [...fleet.violations]
  await fleet.end()
  return { violations, faults: fleet.faults, simulatedMs: clock.now(), writes: fleet.api.writes.length }
}

/** A generator of random numbers that a seed repeats (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
