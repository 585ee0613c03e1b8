/** How a series grows from one term to the next. */
export interface Growth {
  readonly perTerm: number
  /** The one-sided 95 % bound: the true growth is above it in one of twenty cases. */
  readonly upperBound95: number
  /** The one-sided 99.9 % bound: the true growth is below it in one of a thousand cases. */
  readonly lowerBound999: number
}

/** A value at a term. */
export type Point = readonly [term: number, value: number]

/**
 * Fits a line. Consecutive samples of a heap are correlated, so the error is computed for a smaller number of samples.
 */
export function growthOf(points: readonly Point[]): Growth {
  const n = points.length
  const meanTerm = mean(points.map(([term]) => term))
  const meanValue = mean(points.map(([, value]) => value))
  const spread = sum(points.map(([term]) => (term - meanTerm) ** 2))
  const perTerm = sum(points.map(([term, value]) => (term - meanTerm) * (value - meanValue))) / spread
  const residuals = points.map(([term, value]) => value - meanValue - perTerm * (term - meanTerm))
  const squares = sum(residuals.map((residual) => residual ** 2))
  const followed = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] ?? 0)))
  const correlation = squares === 0 ? 0 : Math.min(0.9, Math.max(0, followed / squares))
  const error = Math.sqrt((squares / (n - 2) / spread) * ((1 + correlation) / (1 - correlation)))
  return {
    perTerm,
    upperBound95: perTerm + studentQuantile95(n - 2) * error,
    lowerBound999: perTerm - studentQuantile999(n - 2) * error,
  }
}

/**
 * The median growth from each point to the next. A leak shows in every step. A connection that opens or closes shows in one step,
 * however many objects it holds.
 */
export function typicalGrowthOf(points: readonly Point[]): number {
  const pairs = points.slice(1).map((next, index) => [points[index] ?? next, next] as const)
  return median(pairs.map(([[term, value], [nextTerm, nextValue]]) => (nextValue - value) / (nextTerm - term)))
}

/** The one-sided 95 % quantile of Student's distribution, to a hundredth from 5 degrees of freedom on. */
function studentQuantile95(degrees: number): number {
  return 1.645 + 1.52 / degrees + 1.4 / degrees ** 2
}

/** The one-sided 99.9 % quantile of Student's distribution, within 0.15 from 4 degrees of freedom on. */
function studentQuantile999(degrees: number): number {
  return 3.09 + 6.74 / degrees + 36.4 / degrees ** 2
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

/** The value in the middle, the lower one of two. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN
}
