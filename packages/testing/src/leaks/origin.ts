import { AsyncLocalStorage } from 'node:async_hooks'
import type { Trace } from './trace.ts'

/** On whose behalf something was created. Holds plain data only: it lives as long as any async context that carries it. */
export interface Origin {
  readonly controller?: string
  readonly lease?: string
  readonly epoch?: bigint
  readonly task?: string
  /** Identifies one run of one controller, also where its term is not known. */
  readonly run?: number
  /** Where the call was made that leads here, for what a library creates later on its own. */
  readonly call?: Trace
  /** Where the manager was started, for what it creates on its own. */
  readonly start?: Trace
}

const NOBODY: Origin = {}
const storage = new AsyncLocalStorage<Origin>()

/** The origin of whatever is created now. */
export function currentOrigin(): Origin {
  return storage.getStore() ?? NOBODY
}

/** Calls `work` so that all that it creates, now or later, has this origin. */
export function runWithOrigin<T>(origin: Origin, work: () => T): T {
  return storage.run(origin, work)
}
