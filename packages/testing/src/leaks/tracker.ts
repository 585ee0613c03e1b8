import type { Births } from './births.ts'
import type { Ledger } from './ledger.ts'
import type { Pools } from './pools.ts'
import type { Undo } from './replace-property.ts'

/** What a {@link Tracker} works with. */
export interface TrackerContext {
  readonly ledger: Ledger
  readonly births: Births
  readonly pools: Pools
}

/** Sees things of one sort being created, and enters them in the ledger. Returns what takes it out again, without a trace. */
export type Tracker = (context: TrackerContext) => Undo
