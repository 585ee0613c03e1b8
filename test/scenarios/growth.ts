/** Growth per term that counts as a leak, in bytes: far above what compiled code and statistics add, far below any object graph. */
export const LEAK_BYTES = 16 * 1024

/**
 * The growth of a series from one value to the next: the median slope of all pairs of values, which ignores outliers. It skips the first
 * fifth, in which code is still being compiled.
 */
export function growthPerTerm(values: readonly number[]): number {
  const settled = values.slice(Math.ceil(values.length / 5))
  const slopes = settled.flatMap((value, index) =>
    settled.slice(index + 1).map((later, distance) => (later - value) / (distance + 1)),
  )
  return slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)] ?? 0
}
