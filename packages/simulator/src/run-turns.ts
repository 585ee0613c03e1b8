import { nextTick } from 'node:process'

/** The original function of this process, even if it is replaced later. */
const { setImmediate: nextRound } = globalThis

/** After this many turns, the event loop runs once. */
const TURNS_IN_A_ROW = 5000

/**
 * Runs turns until `next` returns none. Between two turns all pending promise continuations run, because Node serves its tick queue
 * only when none is left. A second round covers code that calls `process.nextTick` itself.
 *
 * Rejects with the error of a turn that throws.
 */
export function runTurns(next: () => (() => void) | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let turns = 0
  const take = () => {
    const turn = next()
    if (turn === undefined) {
      resolve()
      return
    }
    try {
      turn()
    } catch (error) {
      reject(error)
      return
    }
    turns += 1
    if (turns % TURNS_IN_A_ROW === 0) queueMicrotask(rest)
    else queueMicrotask(settle)
  }
  const rest = () => void nextRound(take)
  const settle = () => nextTick(() => queueMicrotask(() => nextTick(take)))
  settle()
  return promise
}
