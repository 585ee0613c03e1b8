import { nextTick } from 'node:process'

/** Code under test may use `nextTick` itself; each use of it needs one more round. */
const ROUNDS = 3

/**
 * Resolves when every promise continuation that can run without a timer or I/O has run.
 *
 * Node runs the tick queue only when its microtask queue is empty, so one tick waits for chains of any length. The timing of the
 * event loop has no influence.
 */
export async function settleMicrotasks(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await new Promise<void>((resolve) => nextTick(resolve))
}
