/** Where the monotonic clock of this machine stands when its wall clock reads `epochMicros`, in nanoseconds. */
export function monotonicAt(epochMicros: number): bigint {
  return BigInt(Math.round(epochMicros * 1000)) - wallMinusMonotonic()
}

/** Where the monotonic clock stood at a time written with six fractional digits, in nanoseconds. */
export function monotonicAtTime(microTime: string): bigint {
  const millis = Date.parse(microTime)
  return monotonicAt(millis * 1000 + Number(microTime.slice(-4, -1)))
}

/** `Date.now()` has whole milliseconds; at the moment at which it moves on, it is exact. */
function wallMinusMonotonic(): bigint {
  const before = Date.now()
  let now = before
  while (now === before) now = Date.now()
  return BigInt(now) * 1_000_000n - process.hrtime.bigint()
}
