import { leastEpochOf, type LeaseRecord } from './lease-record.ts'

/**
 * Stores a lease. A lock reads it, writes it by compare-and-swap and reports changes. It knows no time and makes no decisions.
 *
 * Every implementation must keep this contract:
 * 1. Each accepted write gives the lease a `version` greater than all earlier ones, even after deletion and re-creation. Only a store
 *    that was restored from a backup may go back. Reads and watches then show the restored lease with its lower version.
 * 2. `create` succeeds only if the lease does not exist. `update` succeeds only if the stored version is that of `base`.
 * 3. Reads are linearizable: a read that starts after a write was acknowledged sees that write or a later one.
 * 4. Fields, labels and annotations that Tenure does not know survive every update.
 * 5. When `signal` aborts, the request stops and leaves nothing behind.
 * 6. Every failed request rejects with a `LockRequestError` that says whether the write may have happened.
 */
export interface Lock {
  /** The name of this lock in logs and errors, for example `lease ops/janitor`. */
  readonly description: string
  /** Reads the lease. */
  get(options: LockRequestOptions): Promise<LockSnapshot>
  /** Creates the lease. @throws LockRequestError with failure `conflict` when it exists. */
  create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease>
  /** Replaces the record of the lease if it is still at `base.version`. @throws LockRequestError with failure `conflict` when it is not. */
  update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease>
  /** Watches the lease until the returned handle is closed. Reconnects by itself. */
  watch(observer: LockObserver): LockWatch
  /**
   * Identifies the process of this replica, so that others can detect its termination (Kubernetes: its Pod and container). Written into
   * the lease while this replica holds it. Opaque to electors. May be set later.
   */
  readonly processRef?: string | undefined
  /**
   * Watches the process that runs the holder of the lease. Opened only while another replica holds it. A lock that cannot prove the end
   * of a process omits this method. @see HolderObserver.dead for what counts as proof
   */
  watchHolder?(holder: LeaseHolder, observer: HolderObserver): LockWatch
  /** Set if something other than the replicas may decide who leads. */
  readonly coordinator?: Coordinator | undefined
  /** Set if the lock may see that this replica is about to be stopped. */
  readonly departure?: Departure | undefined
  /**
   * Whether a holder keeps the lease for life: it does not expire. An update that changes nothing then writes nothing: a linearizable
   * read, sent after the call, finds the same lease of the same holder and returns it, at its present version. Otherwise the update
   * fails with `not-found` or `conflict`. @default false
   */
  readonly heldForLife?: boolean
  /** Closes connections. No request may follow. */
  close(): Promise<void>
}

/**
 * What decides who leads in place of the replicas, such as the election controller of an API server. It names the holder in the lease;
 * the replica that is named acquires the lease by a write of its own, and acts only after that.
 */
export interface Coordinator {
  /** `asking`: it is not known yet who decides, so nobody acquires the lease. `peers`: the replicas decide, as without a coordinator. */
  readonly state: 'asking' | 'server' | 'peers'
  /** The candidate that is to lead in place of this replica, which holds the lease; undefined while none is known. */
  readonly preferred: PreferredHolder | undefined
  /** How often it asked whether this replica lives, by how long the answer took. Undefined if it does not ask. */
  readonly pings?: CandidatePings
  /** What a candidate has published of itself, as far as it was seen lately. Undefined if candidates publish nothing. */
  versionsOf?(identity: string): CandidateVersions | undefined
  /** Stands for election from this moment on, in monotonic milliseconds; undefined: no longer. Called often; acts on changes only. */
  stand(from: number | undefined): void
  /** Calls `changed` after each change of `state` or `preferred`, until the handle is closed. */
  watch(changed: () => void): LockWatch
}

/** How often a coordinator asked whether this replica lives. */
export interface CandidatePings {
  /** Answered while the coordinator waited for the answer. */
  readonly answered: number
  /** Answered later, so that the coordinator may have passed this replica over. */
  readonly late: number
}

/** The versions of a candidate. */
export interface CandidateVersions {
  /** The version of the binary, as strict semver; undefined if the candidate states none. */
  readonly binaryVersion: string | undefined
  /** The version whose behaviour it emulates, as strict semver; undefined if the candidate states none. */
  readonly emulationVersion: string | undefined
}

/** A candidate that a coordinator prefers to the holder. */
export interface PreferredHolder {
  /** The identity that the lease names. */
  readonly identity: string
  /** Whether the candidate still stands for election. A preference for a candidate that does not is dropped. */
  readonly isAlive: boolean
}

/**
 * Whether this replica is about to be stopped, as far as is known. A hint that may be late, wrong or missing: it only affects which replica
 * leads next.
 */
export interface Departure {
  /** `stopping`: its place is being stopped (Kubernetes: its Pod is being deleted). `draining`: its machine takes no new work. */
  readonly state: 'stopping' | 'draining' | undefined
  /** Calls `changed` after each change of `state`, until the handle is closed. */
  watch(changed: () => void): LockWatch
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
  /** Whether the lease is being deleted but still exists (Kubernetes: `metadata.deletionTimestamp` is set). */
  readonly deleting: boolean
  /**
   * In the answer to `create`: the last record of the lease that was deleted before, if the store shows that no other lease existed in
   * between. Then this replica need not wait for a leader that may not have seen the deletion, provided that the record has no holder, or
   * a holder whose process has provably ended.
   */
  readonly replaced?: LeaseRecord
  /** The data that the lock needs to write the lease again without losing foreign fields. Opaque to all other code. */
  readonly native?: unknown
}

/**
 * The fencing token of a term that begins with this version of the lease: the count of the store, or the least epoch of the record if
 * that is greater.
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
  /** The version of the store at which the lease was absent, if the store reports it. */
  readonly version?: bigint
  /** In the news of a deletion: the record that was deleted, if the store tells. */
  readonly deleted?: LeaseRecord
}

/**
 * Receives the events of a watch, in the order of versions. After a restore of the store, versions start again from a lower one. Never
 * called after the watch was closed.
 */
export interface LockObserver {
  /** Called with the lease at the start of the watch and after every change, including changes of foreign fields. */
  readonly changed: (snapshot: LockSnapshot) => void
  /** The watch is established: changes will be reported as they happen; if the lock has a coordinator, every change until `down`. */
  readonly up: () => void
  /** The watch is broken, has gone silent, or skips changes. Changes may go unreported until `up`. */
  readonly down: (cause: Error) => void
}

/** One term of one holder, and the process in which the holder runs by its own account. */
export interface LeaseHolder {
  /** The identity in the lease. */
  readonly identity: string
  /** When the holder acquired the lease, as the lease states it (RFC 3339). */
  readonly acquireTime: string
  /** The {@link Lock.processRef} of the holder; empty if it has published none. Untrusted: any client that may write the lease can set it. */
  readonly processRef: string
}

/** Receives the death of a holder. */
export interface HolderObserver {
  /**
   * Called when the process that `processRef` names has provably ended and will never run again. A process that cannot be reached or
   * found may still run. Called at most once, and never after the watch was closed.
   */
  readonly dead: () => void
}

/** A running watch of a {@link Lock}. */
export interface LockWatch {
  /** Stops the watch. Resolves when its connection is closed. No observer is called after this call. */
  close(): Promise<void>
}
