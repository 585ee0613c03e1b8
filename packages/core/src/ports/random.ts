/** A source of random numbers in [0, 1). Injected, so that a run can be repeated from its seed. */
export type Random = () => number

/** The random source of this process. */
export const systemRandom: Random = () => Math.random()
