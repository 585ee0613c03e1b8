import { describe, expect, it } from 'vitest'
import { growthOf, type Point, typicalGrowthOf } from './growth.ts'

const TERMS = [160, 240, 320, 400, 480]

function pointsOf(...values: readonly number[]): readonly Point[] {
  return values.map((value, index): Point => [TERMS[index] ?? 0, value])
}

describe('the typical growth', () => {
  it('is none when some of the counts were taken beside an open connection', () => {
    expect(typicalGrowthOf(pointsOf(52_597, 52_597, 52_597, 52_815, 52_743))).toBeCloseTo(0)
    expect(typicalGrowthOf(pointsOf(52_190, 52_597, 52_597, 52_597, 52_670))).toBeCloseTo(0)
  })

  it('is none when a connection opens half-way and stays open', () => {
    expect(typicalGrowthOf(pointsOf(53_286, 53_286, 53_664, 53_664, 53_664))).toBeCloseTo(0)
    expect(typicalGrowthOf(pointsOf(53_286, 53_664, 53_286, 53_664, 53_664))).toBeCloseTo(0)
  })

  it('is one object a term when each of them leaves one behind, whatever else is open', () => {
    const leaked = pointsOf(...TERMS.map((term) => 52_597 + term))
    expect(typicalGrowthOf(leaked)).toBe(1)
    const withOneMore = leaked.map(([term, value], index): Point => [term, index === 2 ? value + 217 : value])
    expect(typicalGrowthOf(withOneMore)).toBeCloseTo(1, 1)
  })
})

describe('the growth of a heap', () => {
  it('is the slope of its line, with no margin where nothing scatters', () => {
    expect(growthOf(pointsOf(...TERMS.map((term) => 5_000_000 + 32 * term)))).toEqual({
      perTerm: expect.closeTo(32),
      upperBound95: expect.closeTo(32),
      lowerBound999: expect.closeTo(32),
    })
  })

  it('is less certain the more the samples scatter', () => {
    const { perTerm, upperBound95 } = growthOf(pointsOf(1000, 1400, 1000, 1400, 1000))
    expect(perTerm).toBeCloseTo(0)
    expect(upperBound95).toBeGreaterThan(1)
  })
})
