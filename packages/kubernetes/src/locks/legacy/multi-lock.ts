import {
  type LeaseRecord,
  LockRequestError,
  type Lock,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import { leastEpochOf, withLeastEpoch, epochOf } from '@tenure/core/internal'
import { combine, differInAnnotationsOnly, type LeasePair } from './combined-lease.ts'
import { MultiLockSide } from './multi-lock-side.ts'

/**
 * Combines two locks, to move a fleet from one lock to the other while it runs. First all replicas use the old lock, then a
 * `MultiLock` of both, then the new lock. In every mixture of neighbouring steps there is at most one leader.
 *
 * A replica leads when it holds both leases. It writes the primary first. A refused write there leaves the secondary alone. Each
 * write is based on the version that was judged. While the two name different holders, the combined lease has the holder
 * `UNKNOWN_LEADER`, which no replica can be. It is free when neither has changed for the longer of their durations. A free lease
 * beside a held or absent lease changes nothing: the other decides. Of this process's own writes, only a write that has reached
 * both counts.
 *
 * Epochs are those of the primary, and of the secondary while that decides alone: a replica with the new lock alone may transfer it.
 * They grow over all steps, also if the two stores count versions separately, for example if Leases have their own etcd: each write
 * ensures that a term on either lease alone begins above.
 *
 * After client-go's `resourcelock.MultiLock`, which its `configmapsleases` and `endpointsleases` used up to v0.27.
 *
 * @example
 * ```ts
 * const lock = new MultiLock(new ConfigMapLock({ kubeConfig, name, namespace }), new LeaseLock({ kubeConfig, name, namespace }))
 * ```
 */
export class MultiLock implements Lock {
  readonly description: string
  readonly #primary: MultiLockSide
  readonly #secondary: MultiLockSide
  readonly #watches = new Set<MultiWatch>()
  #own: readonly LeaseRecord[] = []
  #writes = 0
  #isClosed = false

  /** Does no I/O. The locks belong to this one and are closed with it. */
  constructor(primary: Lock, secondary: Lock) {
    this.#primary = new MultiLockSide(primary)
    this.#secondary = new MultiLockSide(secondary)
    this.description = `${primary.description} and ${secondary.description}`
  }

  async get(options: LockRequestOptions): Promise<LockSnapshot> {
    this.#assertOpen()
    const reads = await Promise.allSettled([this.#primary.read(options), this.#secondary.read(options)])
    for (const read of reads) if (read.status === 'rejected') throw read.reason
    return this.#snapshot(this.#pair())
  }

  async create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    const known = this.#pair()
    if (known.primary.kind === 'absent' && known.secondary.kind === 'absent') {
      return this.#writeBoth(ABSENT, record, options)
    }
    // One of the two leases may still exist, and the known state may be out of date: read both.
    await this.get(options)
    const pair = this.#pair()
    return this.#writeBoth(combine(pair, this.#own) === undefined ? pair : ABSENT, record, options)
  }

  async update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    const pair = base.native
    if (!isPair(pair)) {
      throw new LockRequestError(
        'rejected',
        `Could not update ${this.description}: its base was not read from this kind of lock`,
      )
    }
    if (differInAnnotationsOnly(base.record, record)) return this.#annotate(pair, record, options)
    return this.#writeBoth(pair, record, options)
  }

  watch(observer: LockObserver): LockWatch {
    this.#assertOpen()
    const watch = new MultiWatch({
      observer,
      sides: [this.#primary, this.#secondary],
      snapshot: () => this.#snapshot(this.#pair()),
      // Nothing is reported between the two halves of a write of this process.
      isHeldBack: () => this.#writes > 0,
      onClosed: () => this.#watches.delete(watch),
    })
    this.#watches.add(watch)
    return watch
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#watches].map((watch) => watch.close()))
    await Promise.all([this.#primary.lock.close(), this.#secondary.lock.close()])
  }

  #writeBoth(pair: LeasePair, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    return this.#write(async () => {
      // A record of unknown outcome may still arrive late.
      this.#own = [...this.#own, record].slice(-MAX_OWN_RECORDS)
      const least = greater(leastEpochOf(record), greater(aboveEpochOf(pair.primary), aboveEpochOf(pair.secondary)))
      const primary = await this.#primary.write(pair.primary, { record, least }, options)
      try {
        const secondary = await this.#secondary.write(pair.secondary, { record, least: epochOf(primary) }, options)
        this.#own = [record]
        return { primary, secondary }
      } catch (error) {
        if (isLost(error) && !isHeldBy(pair.primary, record)) await this.#giveBack(primary, options)
        throw error
      }
    })
  }

  /**
   * Frees the primary after this process has lost the secondary to another one. It held neither before, so none of its tasks
   * runs. If its name stayed on the primary, it would later wait for itself.
   */
  async #giveBack(primary: PresentLease, options: LockRequestOptions): Promise<void> {
    const acquireTime = otherTime(primary.record.acquireTime)
    const record = { ...primary.record, holderIdentity: '', leaseDurationSeconds: 1, acquireTime }
    try {
      await this.#primary.write(primary, { record, least: epochOf(primary) }, options)
    } catch {
      // The name stays until the lease expires. The caller reports the lost secondary.
    }
  }

  /** Writes annotations to the leases whose record decides, and leaves the rest of each record unchanged. */
  #annotate(pair: LeasePair, { annotations }: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    return this.#write(async () => {
      const deciding = combine(pair, this.#own)?.deciding
      if (deciding === undefined || deciding === 'neither') {
        throw new LockRequestError('conflict', `Could not annotate ${this.description}: its holder is not known`)
      }
      const annotated = (stored: LeaseRecord) => ({
        record: { ...stored, annotations },
        least: greater(leastEpochOf({ ...stored, annotations }), leastEpochOf(stored)),
      })
      const annotate = async (side: MultiLockSide, base: LockSnapshot): Promise<LockSnapshot> =>
        base.kind === 'absent' ? base : side.write(base, annotated(base.record), options)
      const primary = deciding === 'secondary' ? pair.primary : await annotate(this.#primary, pair.primary)
      const secondary = deciding === 'primary' ? pair.secondary : await annotate(this.#secondary, pair.secondary)
      return { primary, secondary }
    })
  }

  async #write(send: () => Promise<LeasePair>): Promise<PresentLease> {
    this.#assertOpen()
    this.#writes += 1
    try {
      const written = this.#snapshot(await send())
      if (written.kind === 'present') return written
      throw new LockRequestError('unknown-outcome', `May have failed to write ${this.description}: it is absent`)
    } finally {
      this.#writes -= 1
      for (const watch of this.#watches) watch.report()
    }
  }

  #pair(): LeasePair {
    const [primary, secondary] = [this.#primary, this.#secondary]
    return {
      primary: primary.newest ?? ABSENT.primary,
      secondary: secondary.newest ?? ABSENT.secondary,
      deleted: { primary: primary.lastRecord, secondary: secondary.lastRecord },
    }
  }

  #snapshot(pair: LeasePair): LockSnapshot {
    const version = this.#primary.rankOf(pair.primary) + this.#secondary.rankOf(pair.secondary)
    const combined = combine(pair, this.#own)
    if (combined === undefined) return { kind: 'absent', version }
    const leases = [pair.primary, pair.secondary].filter((lease) => lease.kind === 'present')
    const decisive = combined.deciding === 'secondary' ? pair.secondary : leases[0]
    return {
      kind: 'present',
      version,
      epoch: decisive?.kind === 'present' ? epochOf(decisive) : 0n,
      record: withLeastEpoch(combined.record, 0n),
      deleting: leases.some((lease) => lease.deleting),
      native: pair,
    }
  }

  #assertOpen(): void {
    if (!this.#isClosed) return
    throw new LockRequestError('unreachable', `Could not reach ${this.description}: the lock is closed`)
  }
}

/** Far more than a replica sends before a term without a renewal ends. */
const MAX_OWN_RECORDS = 64

function aboveEpochOf(lease: LockSnapshot): bigint {
  return lease.kind === 'present' ? epochOf(lease) + 1n : 0n
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

const ABSENT: LeasePair = { primary: { kind: 'absent' }, secondary: { kind: 'absent' } }

/** A release has a time of its own, which tells it from an edit. */
function otherTime(time: string | undefined): string | undefined {
  return time?.replace(/\dZ/, (end) => (end === '1Z' ? '0Z' : '1Z'))
}

/** Whether a write has certainly not happened, because the store refused it. */
function isLost(error: unknown): boolean {
  return error instanceof LockRequestError && error.failure !== 'unknown-outcome'
}

function isHeldBy(lease: LockSnapshot, { holderIdentity }: LeaseRecord): boolean {
  return lease.kind === 'present' && lease.record.holderIdentity === holderIdentity
}

function isPair(native: unknown): native is LeasePair {
  return typeof native === 'object' && native !== null && 'primary' in native && 'secondary' in native
}

interface MultiWatchOptions {
  readonly observer: LockObserver
  readonly sides: readonly MultiLockSide[]
  readonly snapshot: () => LockSnapshot
  readonly isHeldBack: () => boolean
  readonly onClosed: () => void
}

/** Watches both locks, and reports their combination once both were seen. It is up while both watches are. */
class MultiWatch implements LockWatch {
  readonly #options: MultiWatchOptions
  readonly #watches: readonly LockWatch[]
  readonly #seen = new Set<MultiLockSide>()
  readonly #up = new Set<MultiLockSide>()
  #connection: 'new' | 'up' | 'down' = 'new'
  #reported: bigint | undefined
  #isClosed = false

  constructor(options: MultiWatchOptions) {
    this.#options = options
    this.#watches = options.sides.map((side) => side.lock.watch(this.#observerOf(side)))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#options.onClosed()
    await Promise.all(this.#watches.map((watch) => watch.close()))
  }

  /** Reports what is new, unless it is held back. */
  report(): void {
    const { observer, sides, snapshot, isHeldBack } = this.#options
    if (this.#isClosed || isHeldBack() || this.#seen.size < sides.length) return
    const seen = snapshot()
    // A lower version comes from a restored store.
    if (this.#reported !== seen.version) {
      this.#reported = seen.version
      observer.changed(seen)
    }
    if (this.#up.size < sides.length || this.#connection === 'up') return
    this.#connection = 'up'
    observer.up()
  }

  #observerOf(side: MultiLockSide): LockObserver {
    return {
      changed: (snapshot) => {
        side.note(snapshot, side.rank)
        this.#seen.add(side)
        this.report()
      },
      up: () => {
        this.#up.add(side)
        this.report()
      },
      down: (cause) => {
        this.#up.delete(side)
        if (this.#isClosed || this.#connection === 'down') return
        this.#connection = 'down'
        this.#options.observer.down(cause)
      },
    }
  }
}
