import { AsyncLocalStorage } from 'node:async_hooks'
import type { TermLife } from './term-life.ts'

/** The owner of the code that runs: a process, or one of its terms. */
export interface Actor {
  readonly term: TermLife | undefined
}

/** Follows every promise and simulated timer. It attributes all code to the term that started it, tracked or not. */
export const actors: AsyncLocalStorage<Actor> = new AsyncLocalStorage()
