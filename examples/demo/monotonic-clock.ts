/** Milliseconds on the monotonic clock of this machine, which all its processes share: stamps of any two can be compared. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
