import type { LeaseRecord, Lock, LockRequestOptions, LockSnapshot, PresentLease } from '@tenure/core'
import { withLeastEpoch, countedEpochOf } from '@tenure/core/internal'

/** One of the two locks of a `MultiLock`, with the newest snapshot of its lease from any read, write or watch. */
export class MultiLockSide {
  readonly lock: Lock
  #newest: LockSnapshot | undefined
  #lastRecord: LeaseRecord | undefined
  #rank = -1n

  constructor(lock: Lock) {
    this.lock = lock
  }

  /** The newest snapshot of the lease. */
  get newest(): LockSnapshot | undefined {
    return this.#newest
  }

  /** The record of the newest lease that was seen, which may be deleted by now. */
  get lastRecord(): LeaseRecord | undefined {
    return this.#lastRecord
  }

  /** Grows with every change of the lease, including deletion, unless its store is restored. */
  get rank(): bigint {
    return this.#rank
  }

  /** The rank of a snapshot of this lease; an absence has the rank of the newest snapshot. */
  rankOf(snapshot: LockSnapshot): bigint {
    return snapshot.kind === 'present' ? rankOf(snapshot, this.#rank) : this.#rank
  }

  /** Reads are never stale. A read that finds an older version than was known before it proves a restore of the store. */
  async read(options: LockRequestOptions): Promise<void> {
    const before = this.#rank
    const snapshot = await this.lock.get(options)
    if (rankOf(snapshot, before) < before) this.#rank = -1n
    this.note(snapshot, before)
  }

  /**
   * Writes the record on the very snapshot that the decision was based on. A term that begins with it on this lease alone has at
   * least the epoch `least`, whatever this store counts.
   */
  async write(
    base: LockSnapshot,
    { record, least }: { readonly record: LeaseRecord; readonly least: bigint },
    options: LockRequestOptions,
  ): Promise<PresentLease> {
    const { lock } = this
    const counted = base.kind === 'present' ? countedEpochOf(base) : 0n
    const lifted = withLeastEpoch(record, least > counted + 1n ? least : 0n)
    const written = await (base.kind === 'absent' ? lock.create(lifted, options) : lock.update(base, lifted, options))
    this.note(written, this.#rank)
    return written
  }

  /** Keeps a snapshot, unless a newer one is known. `rankBefore` places an absence that comes without a version. */
  note(snapshot: LockSnapshot, rankBefore: bigint): void {
    const rank = rankOf(snapshot, rankBefore)
    if (rank <= this.#rank) return
    this.#rank = rank
    this.#newest = snapshot
    if (snapshot.kind === 'present') this.#lastRecord = snapshot.record
  }
}

/** Versions are even, absences odd: an absence comes after the version that it ended and before the next. */
function rankOf(snapshot: LockSnapshot, rankBefore: bigint): bigint {
  if (snapshot.kind === 'present') return 2n * snapshot.version
  if (snapshot.version !== undefined) return 2n * snapshot.version + 1n
  return rankBefore < 0n ? 0n : rankBefore | 1n
}
