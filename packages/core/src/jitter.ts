/** The largest jitter, as a share of the pause. */
const MAX_JITTER = 0.2

/** The longest jittered pause, as a multiple of the pause. */
export const JITTER_FACTOR: number = 1 + MAX_JITTER

/**
 * Lengthens a pause by up to a fifth, so that replicas that failed together do not retry together.
 * @param random in [0, 1)
 */
export function jittered(pauseMs: number, random: number): number {
  return pauseMs * (1 + MAX_JITTER * random)
}
