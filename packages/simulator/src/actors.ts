import { AsyncLocalStorage } from 'node:async_hooks'
import type { SimulatedProcess } from './cluster/simulated-process.ts'
import type { TermLife } from './term-life.ts'

/** Whose code is running: that of a process, and where it belongs to a term, of that term. */
export interface Actor {
  readonly process: SimulatedProcess
  readonly term: TermLife | undefined
}

/**
 * Follows every promise and every simulated timer, so that whatever runs is known to belong to the term which started it, also
 * when nobody tracks it any more.
 */
export const actors: AsyncLocalStorage<Actor> = new AsyncLocalStorage()
