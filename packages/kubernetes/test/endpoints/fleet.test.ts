import { describe, expect, test } from 'vitest'
import { runFleet } from './run-fleet.ts'

const SEEDS = Array.from({ length: Number(process.env['TENURE_ENDPOINT_SEEDS'] ?? 60) }, (_, index) => index + 1)

describe('a fleet with kills, restarts, pauses, cuts, late watches, outages and meddlers', () => {
  test.each(SEEDS)('never loses the living, drops the dead, and is never empty (seed %i)', async (seed) => {
    const { violations } = await runFleet(seed)
    expect(violations).toEqual([])
  })
})
