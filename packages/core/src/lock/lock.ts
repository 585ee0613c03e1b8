import { leastEpochOf, type LeaseRecord } from './lease-record.ts'

/**
 * How a lease is stored. A lock knows no time and takes no decision: it reads, writes by compare-and-swap, and reports changes.
 *
 * Contract that every implementation keeps:
 * 1. Each accepted write gives the lease a `version` greater than any it had before, also across deletion and re-creation. Only a
 *    store that was restored from a backup may go back. Reads and watches then show the restored lease, with its lower version.
 * 2. `create` succeeds only when the lease does not exist; `update` only when the stored version is that of `base`.
 * 3. Reads are linearizable: a read that starts after a write was acknowledged sees that write or a later one.
 * 4. Fields, labels and annotations that Tenure does not know survive every update.
 * 5. A request stops for real when `signal` aborts; nothing of it stays behind.
 * 6. Every failed request rejects with a `LockRequestError` that says whether the write can have happened.
 */
export interface Lock {
  /** What to call this lock in logs and errors, for example `lease ops/janitor`. */
  readonly description: string
  /** Reads the lease. */
  get(options: LockRequestOptions): Promise<LockSnapshot>
  /** Creates the lease. @throws LockRequestError with failure `conflict` when it exists. */
  create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease>
  /** Replaces the record of the lease if it is still at `base.version`. @throws LockRequestError with failure `conflict` when it is not. */
  update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease>
  /** Follows the lease until the returned handle is closed. Reconnects by itself. */
  watch(observer: LockObserver): LockWatch
  /**
   * Identifies the process of this replica, so that others can detect its termination (Kubernetes: its Pod and its
   * container). Written into the lease for as long as this replica holds it; opaque to electors. May become known late.
   */
  readonly processRef?: string | undefined
  /**
   * Watches the process that runs the holder of the lease. Opened only while another replica holds it. A lock that cannot prove a
   * death leaves this out. @see HolderObserver.dead for what counts as proof
   */
  watchHolder?(holder: LeaseHolder, observer: HolderObserver): LockWatch
  /** Closes connections. No request may follow. */
  close(): Promise<void>
}

/** Options of every single request of a {@link Lock}. */
export interface LockRequestOptions {
  /** Ends the request when aborted. */
  readonly signal: AbortSignal
}

/** The lease as it was at one version. */
export type LockSnapshot = PresentLease | AbsentLease

/** A lease that exists. */
export interface PresentLease {
  readonly kind: 'present'
  /** Grows with every write; Kubernetes: `metadata.resourceVersion`. */
  readonly version: bigint
  /**
   * The fencing token of a term that began with this version, for locks whose versions only order what they see. It grows with every
   * write, as versions do. @default version
   */
  readonly epoch?: bigint
  /** The content of the lease. */
  readonly record: LeaseRecord
  /** The lease is being deleted but still exists (Kubernetes: `metadata.deletionTimestamp` is set). */
  readonly deleting: boolean
  /** What the lock needs to write the lease again without losing foreign fields. Opaque to everybody else. */
  readonly native?: unknown
}

/**
 * The fencing token of a term that began with this version of the lease: what the store counts, or the least epoch that the record
 * states, where that is greater.
 */
export function epochOf(lease: PresentLease): bigint {
  const counted = countedEpochOf(lease)
  const least = leastEpochOf(lease.record)
  return least > counted ? least : counted
}

/** The part of the epoch that the store counts. The next write has a greater one. */
export function countedEpochOf({ epoch, version }: PresentLease): bigint {
  return epoch ?? version
}

/** A lease that does not exist. */
export interface AbsentLease {
  readonly kind: 'absent'
  /** The version of the store at which it was seen to be absent, where the store tells. */
  readonly version?: bigint
}

/**
 * Receives what a watch sees. Called in the order of versions, which start again from a lower one after a restore of the store; never
 * after the watch was closed.
 */
export interface LockObserver {
  /** The lease at the start of the watch, then after every change. Also called when only foreign fields changed. */
  readonly changed: (snapshot: LockSnapshot) => void
  /** The watch is established: changes will be reported as they happen. */
  readonly up: () => void
  /** The watch is broken or has gone silent and is being re-established. Changes may go unreported until `up`. */
  readonly down: (cause: Error) => void
}

/** One term of one holder, and the process that it said it runs in. */
export interface LeaseHolder {
  /** The identity in the lease. */
  readonly identity: string
  /** When the holder acquired the lease, as the lease states it (RFC 3339). */
  readonly acquireTime: string
  /** The {@link Lock.processRef} of the holder. Untrusted: anybody who may write the lease can have put it there. */
  readonly processRef: string
}

/** Hears of the death of a holder. */
export interface HolderObserver {
  /**
   * The very process that `processRef` names has ended, beyond doubt, and will never run again. A process that cannot be reached
   * or found is not proved to have ended. Called at most once; never after the watch was closed.
   */
  readonly dead: () => void
}

/** A running watch of a {@link Lock}. */
export interface LockWatch {
  /** Stops the watch; resolves when its connection is gone. No observer is called from the moment of the call on. */
  close(): Promise<void>
}
