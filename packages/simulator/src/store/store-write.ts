import type { TermLife } from '../term-life.ts'

/** A write that the store has accepted. */
export interface StoreWrite {
  readonly key: string
  readonly value: unknown
  /** The version of the key after the write. */
  readonly version: number
  /** The latest version of this key that the writer had read or written. Undefined if it had done neither. */
  readonly basedOn: number | undefined
  /** The version of each key that the writer had read or written last. */
  readonly views: ReadonlyMap<string, number>
  /** The replaced version; 0 if the key was new. */
  readonly replaced: number
  /** The epoch of a fenced write. */
  readonly epoch: bigint | undefined
  /** The term whose code sent the write. */
  readonly term: TermLife | undefined
  readonly process: string
}

/** The name of the term whose code sent the write, or of its process. */
export function writerOf({ term, process }: StoreWrite): string {
  return term?.name ?? process
}
