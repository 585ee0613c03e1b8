import { TenureError } from '@tenure/core'
import type { ProcessLife } from '../process-life.ts'
import type { Run } from '../run.ts'
import type { StoreWrite } from './store-write.ts'

/** The store refused a write because it has seen a newer epoch. */
export class StaleEpochError extends TenureError {
  override readonly code = 'STALE_EPOCH'

  constructor(key: string, epoch: bigint, newest: bigint) {
    super(`The store refused the write of \`${key}\` with epoch ${epoch}: it has seen epoch ${newest}`)
  }
}

/** The store refused a write because the key has another version. */
export class StaleVersionError extends TenureError {
  override readonly code = 'STALE_VERSION'

  constructor(key: string, expected: number, stored: number) {
    super(`The store refused the write of \`${key}\` at version ${expected}: its version is ${stored}`)
  }
}

/** A stored value. */
export interface Entry {
  /** The value, as it was written. */
  readonly value: unknown
  /** Increases with every write of any key. */
  readonly version: number
}

/** The database of a run: keys and values, one version counter, and one fence that only increases. */
export class SimulatedStore {
  readonly #run: Run
  readonly #entries = new Map<string, Entry>()
  readonly #watchers = new Map<ProcessLife, (write: StoreWrite) => void>()
  #version = 0
  #fence = 0n

  constructor(run: Run) {
    this.#run = run
  }

  /** The entry of a key. */
  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  /** Every entry, and the version of the store. */
  list(): { readonly entries: ReadonlyMap<string, Entry>; readonly version: number } {
    return { entries: new Map(this.#entries), version: this.#version }
  }

  /** Calls `changed` with every write from now on, until the process ends. */
  watch(process: ProcessLife, changed: (write: StoreWrite) => void): void {
    this.#watchers.set(process, changed)
  }

  /** Refuses every fenced write of an older epoch from now on. @throws StaleEpochError if the store has seen a newer epoch. */
  raise(epoch: bigint): void {
    if (epoch < this.#fence) throw new StaleEpochError('(fence)', epoch, this.#fence)
    this.#fence = epoch
  }

  /** Replaces a value. @throws StaleEpochError, StaleVersionError */
  put(write: Omit<StoreWrite, 'version' | 'replaced'> & { readonly ifVersion: number | undefined }): StoreWrite {
    const { key, value, epoch, ifVersion } = write
    if (epoch !== undefined) this.raise(epoch)
    const replaced = this.#entries.get(key)?.version ?? 0
    if (ifVersion !== undefined && ifVersion !== replaced) throw new StaleVersionError(key, ifVersion, replaced)
    this.#version += 1
    this.#entries.set(key, { value, version: this.#version })
    const stored: StoreWrite = { ...write, version: this.#version, replaced }
    this.#run.tell({ kind: 'stored', write: stored })
    for (const [process, changed] of this.#watchers) {
      if (process.isAlive) changed(stored)
      else this.#watchers.delete(process)
    }
    return stored
  }
}
