import { describe, expect, it } from 'vitest'
import type { Census } from './census.ts'
import { judge } from './verdict.ts'

/** A census in every twentieth term, with the given count of descriptors. */
function censusesOf(descriptors: (index: number) => number): readonly Census[] {
  return Array.from({ length: 26 }, (_, index): Census => {
    const counts = { descriptors: descriptors(index), 'listeners.bus': 3 }
    return { term: index * 20, heapBytes: 20e6, rssBytes: 100e6, objects: { objects: 50_000 }, counts }
  })
}

describe('the verdict of a soak', () => {
  it('finds nothing when nothing grows', () => {
    expect(
      judge(
        censusesOf(() => 27),
        500,
      ).findings,
    ).toEqual([])
  })

  it('finds nothing when a pool keeps a connection that it opened in the second half', () => {
    expect(
      judge(
        censusesOf((index) => (index > 18 ? 28 : 27)),
        500,
      ).findings,
    ).toEqual([])
  })

  it('finds a descriptor that every twentieth term leaves open', () => {
    expect(
      judge(
        censusesOf((index) => 27 + index),
        500,
      ).findings,
    ).toEqual([expect.stringMatching(/^descriptors: 9 more/)])
  })

  it('finds a single listener that stays', () => {
    const censuses = censusesOf(() => 27).map((census, index) => ({
      ...census,
      counts: { ...census.counts, 'listeners.bus': index < 10 ? 3 : 4 },
    }))
    expect(judge(censuses, 500).findings).toEqual([expect.stringMatching(/^listeners.bus: 1 more/)])
  })
})
