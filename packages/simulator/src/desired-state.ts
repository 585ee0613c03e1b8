import { OptionsError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'

/** The state that the controllers must reach and keep. */
export interface DesiredState {
  /**
   * Whether the store is in the desired state. It receives the last value of every key, and depends on nothing else. It runs after every
   * write from then on when the state is due.
   */
  readonly isReached: (values: ReadonlyMap<string, unknown>) => boolean
  /** How long the controllers may take, in milliseconds, once a replica leads without faults. @default 60000 */
  readonly withinMs?: number
}

/**
 * Checks the desired state, and that a period without faults is long enough to reach it and then to keep it.
 * @throws OptionsError that names the invalid option
 */
export function resolveDesired(
  desired: DesiredState | undefined,
  longestMs: number,
): Required<DesiredState> | undefined {
  if (desired === undefined) return undefined
  if (typeof desired !== 'object' || desired === null) throw OptionsError.expected('`desired` to be an object', desired)
  assertKnownKeys('`desired`', desired, ['isReached', 'withinMs'])
  const { isReached, withinMs = 60_000 } = desired
  if (typeof isReached !== 'function') throw OptionsError.expected('`desired.isReached` to be a function', isReached)
  if (typeof withinMs === 'number' && withinMs > 0 && withinMs < longestMs) return { isReached, withinMs }
  throw OptionsError.expected(
    `\`desired.withinMs\` to be a number of milliseconds above 0 and below ${longestMs}, so that a period without faults ` +
      '(`calmMs`, `durationMs`) lasts longer than it takes to elect a leader and to reach the state',
    withinMs,
  )
}
