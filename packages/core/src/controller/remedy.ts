import { textOf } from '../text-of.ts'

/**
 * The remedy for a failure that many controllers have, for the end of a message; empty for other failures.
 *
 * A metric of the global registry of prom-client outlives its run, so the next run cannot create it.
 */
export function remedyFor(error: unknown): string {
  const isTaken = /^A metric with the name \S+ has already been registered/.test(textOf(error))
  return isTaken ? ' Define it with `registers: [metrics(term)]`: such a metric ends with its run' : ''
}
