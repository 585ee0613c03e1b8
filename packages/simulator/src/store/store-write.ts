import type { TermLife } from '../term-life.ts'

/** A write that the store has accepted. */
export interface StoreWrite {
  readonly key: string
  readonly value: unknown
  /** The version that the write has given the key. */
  readonly version: number
  /** The version that the writer had last read or written of this key, where it had; what it has not seen it cannot have meant to lose. */
  readonly basedOn: number | undefined
  /** The version that was replaced; 0 where the key was new. */
  readonly replaced: number
  /** The epoch that the write was fenced with. */
  readonly epoch: bigint | undefined
  /** The term whose code sent the write. */
  readonly term: TermLife | undefined
  readonly process: string
}
