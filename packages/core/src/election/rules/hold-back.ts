/** The longest time that a follower holds back, in milliseconds. */
export const MAX_HOLD_BACK_MS = 75

/** Up to `e^SKEWNESS` followers (about 1,100), the expected number of writes does not depend on the number of followers. */
const SKEWNESS = 7

/**
 * How long a follower holds back, in milliseconds, before it writes to a lease that all followers saw become free at the same moment.
 *
 * Most followers hold back for nearly the whole window and very few for less. So most see the first write before they send their own.
 * Within `d` ms of the first, about `e^(d · SKEWNESS / MAX_HOLD_BACK_MS)` of them write. Timers for multicast feedback use the same
 * distribution (Nonnenmacher and Biersack, 1999).
 */
export function holdBackMs(random: number): number {
  return (MAX_HOLD_BACK_MS * Math.log1p(random * Math.expm1(SKEWNESS))) / SKEWNESS
}
