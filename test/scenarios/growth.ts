/** Growth per term that counts as a leak, in bytes: far above what compiled code and statistics add, far below any object graph. */
export const LEAK_BYTES = 16 * 1024

/**
 * By how much a series grows from one value to the next: the median slope of all pairs of values, to which a few wild values
 * mean nothing. The first fifth is left out, because code is still being compiled then.
 */
export function growthPerTerm(values: readonly number[]): number {
  const settled = values.slice(Math.ceil(values.length / 5))
  const slopes = settled.flatMap((value, index) =>
    settled.slice(index + 1).map((later, distance) => (later - value) / (distance + 1)),
  )
  return slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)] ?? 0
}
