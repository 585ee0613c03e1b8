/** The longest that a follower holds back. */
export const MAX_HOLD_BACK_MS = 75

/** With `e^SKEWNESS` followers or fewer (about 1,100), the expected number of those that write does not depend on how many they are. */
const SKEWNESS = 7

/**
 * How long a follower holds back, in milliseconds, before it writes to a lease that all followers saw become free at the same moment.
 *
 * Most hold back for nearly the whole window and very few for less, whatever their number, so that the first one's write is
 * seen before the many would send theirs: within `d` ms of the first, about `e^(d · SKEWNESS / MAX_HOLD_BACK_MS)` of them write.
 * Timers for feedback in multicast are spread in the same way (Nonnenmacher and Biersack, 1999).
 */
export function holdBackMs(random: number): number {
  return (MAX_HOLD_BACK_MS * Math.log1p(random * Math.expm1(SKEWNESS))) / SKEWNESS
}
