import { AsyncLocalStorage } from 'node:async_hooks'
import type { Trace } from './trace.ts'

/** The controller, term and task that created something. Plain data only, because async contexts keep it alive. */
export interface Origin {
  readonly controller?: string
  readonly lease?: string
  readonly epoch?: bigint
  readonly task?: string
  /** Identifies one run of one controller, even if its term is unknown. */
  readonly run?: number
  /** The place of the call that led here, for objects that a library creates later. */
  readonly call?: Trace
  /** The place where the manager was started, for objects that the manager creates. */
  readonly start?: Trace
}

const NOBODY: Origin = {}
const storage = new AsyncLocalStorage<Origin>()

/** The current origin. */
export function currentOrigin(): Origin {
  return storage.getStore() ?? NOBODY
}

/** Calls `work`. Everything that it creates, now or later, has this origin. */
export function runWithOrigin<T>(origin: Origin, work: () => T): T {
  return storage.run(origin, work)
}
