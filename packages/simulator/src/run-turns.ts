import { nextTick } from 'node:process'

/** The one of this process, whatever is put in its place later. */
const { setImmediate: nextRound } = globalThis

/** How many turns may pass before the event loop gets one. */
const TURNS_IN_A_ROW = 5000

/**
 * Takes turns until there are no more. After each turn, and before the next, every promise continuation runs that can run: Node
 * serves its tick queue only when no continuation is left. Code that uses `process.nextTick` itself is given one more round.
 *
 * Rejects with what a turn throws.
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
