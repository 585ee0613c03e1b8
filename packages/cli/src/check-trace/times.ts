/** A time of the clock of a machine. */
export interface Moment {
  readonly machine: string
  readonly at: number
}

/** Times are rounded to microseconds. */
export const EPSILON_MS = 0.01

/** A duration in a message. */
export function ms(duration: number): string {
  return `${Math.round(duration * 1000) / 1000} ms`
}
