import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { Fleet } from './fleet.ts'

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

const SEEDS = Array.from({ length: Number(process.env['TENURE_ENDPOINT_SEEDS'] ?? 60) }, (_, index) => index + 1)

describe('a fleet with kills, restarts, pauses, cuts, outages and meddlers', () => {
  test.each(SEEDS)('never loses the living, drops the dead, and is never empty (seed %i)', async (seed) => {
    const clock = new VirtualClock()
    const random = seeded(seed)
    const fleet = new Fleet(clock, random, 2 + (seed % 4))
    await fleet.pass(3000)
    for (let fault = 0; fault < 8; fault++) {
      await fleet.disturb()
      await fleet.pass(500 + random() * 25_000)
    }
    fleet.heal()
    await fleet.pass(60_000)
    expect(fleet.violations).toEqual([])
    const { listed, living } = fleet.outcome
    // Nobody is left to remove the last ones that were killed together.
    if (living.length > 0) expect(listed).toEqual(living)
    await fleet.end()
  })
})
