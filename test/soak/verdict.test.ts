import { describe, expect, it } from 'vitest'
import type { Census } from './census.ts'
import { isUndecided, judge } from './verdict.ts'

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

  it.each([
    ['undecided', 'scatters', 500, [0, 200_000], 0, true],
    ['decided', 'scatters as much over four times as many terms', 2000, [0, 200_000], 0, false],
    ['decided', 'scatters little', 500, [0, 20_000], 0, false],
    ['decided', 'grows by 1 KB a term', 500, [0, 200_000], 1024, false],
  ])('is %s about a heap that %s', (_verdict, _heap, terms, scatter, perTerm, expected) => {
    const censuses = Array.from({ length: terms / 20 + 1 }, (_, index): Census => {
      const heapBytes = 20e6 + (scatter[index % 2] ?? 0) + perTerm * index * 20
      return { term: index * 20, heapBytes, rssBytes: 100e6, objects: { objects: 50_000 }, counts: {} }
    })
    expect(isUndecided(judge(censuses, terms))).toBe(expected)
    const withLeak = censuses.map((census, index) => ({ ...census, counts: { 'listeners.bus': index } }))
    expect(isUndecided(judge(withLeak, terms))).toBe(false)
  })

  const counted = (terms: number, counts: readonly number[]) => {
    const censuses = counts.map((objects, index): Census => {
      const term = (terms * (index + 2)) / (counts.length + 1)
      return { term, heapBytes: 20e6, rssBytes: 100e6, objects: { objects }, counts: {} }
    })
    return judge(censuses, terms).findings
  }

  it.each([
    [500, [55_263, 55_263, 55_280, 55_329, 55_439, 55_477, 55_429]],
    [500, [55_264, 55_339, 55_362, 55_404, 55_332, 55_332, 55_358]],
    [2500, [55_313, 55_281, 55_247, 55_280, 55_247, 55_281, 55_313, 55_349]],
  ])('finds nothing in counts of a sound run of %i terms, which vary', (terms, counts) => {
    expect(counted(terms, counts)).toEqual([])
  })

  it.each([
    ['every term of 500', 500, 1],
    ['every fifth term of 5,000', 5000, 0.2],
  ])('finds an object that %s leaves behind, among counts that vary', (_which, terms, perTerm) => {
    const varying = [1, -1, 17, 66, 0, 38, -10].map(
      (more, index) => 55_263 + more + (perTerm * terms * (index + 2)) / 8,
    )
    expect(counted(terms, varying)).toEqual([expect.stringMatching(/^objects: /)])
  })

  it.each([
    [
      'finds nothing',
      'that jumps up and down between two sizes',
      (index: number) => 270 + (index % 8 > 4 ? 45 : 0),
      [],
    ],
    ['finds growth', 'that grows by 40 MiB', (index: number) => 270 + index * 1.6, [expect.stringMatching(/^RSS: /)]],
  ])('%s in an RSS %s', (_verdict, _which, mebibytes, findings) => {
    const censuses = censusesOf(() => 27).map((census, index) => ({ ...census, rssBytes: mebibytes(index) * 2 ** 20 }))
    expect(judge(censuses, 500).findings).toEqual(findings)
  })
})
