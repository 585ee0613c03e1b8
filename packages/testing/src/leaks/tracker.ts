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

/** Adds things of one sort to the ledger when they are created. Returns a function that removes the tracker completely. */
export type Tracker = (context: TrackerContext) => Undo
