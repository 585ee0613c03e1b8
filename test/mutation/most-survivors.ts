/** How often a sample of sources that just reach the score may seem to miss it. */
const FALSE_ALARMS = 0.001

/**
 * The most mutants that may survive in a random sample before the score of the whole is certainly below `leastScore`: a whole that just
 * reaches it leaves more survivors in one of 1000 samples.
 */
export function mostSurvivors(sample: number, leastScore: number): number {
  const share = 1 - leastScore
  // The binomial distribution: the chance of exactly `survivors`, and of more.
  let exactly = leastScore ** sample
  let more = 1 - exactly
  let survivors = 0
  while (more > FALSE_ALARMS && survivors < sample) {
    exactly *= ((sample - survivors) / (survivors + 1)) * (share / leastScore)
    more -= exactly
    survivors += 1
  }
  return survivors
}
