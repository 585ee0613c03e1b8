import { AsyncLocalStorage } from 'node:async_hooks'
import type { TermLife } from './term-life.ts'

/** Whose code runs: that of a process, or that of one of its terms. */
export interface Actor {
  readonly term: TermLife | undefined
}

/** Follows every promise and every simulated timer, so that all code is attributed to the term that started it, tracked or not. */
export const actors: AsyncLocalStorage<Actor> = new AsyncLocalStorage()
