import { isDeepStrictEqual } from 'node:util'
import {
  type Clock,
  type LeaseRecord,
  type Lock,
  type LockObserver,
  LockRequestError,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import { type HolderObserver, type LeaseHolder, systemClock } from '@tenure/core/internal'
import { withDeadline } from '../../client/deadline.ts'
import { watchObjects } from '../../client/object-requests.ts'
import type { ObjectReference } from '../../client/resource.ts'
import { firstEvent } from '../../reflector/first-event.ts'
import { decimalVersionOf } from '../../reflector/watch-event.ts'
import { PodDeathProof } from '../death/pod-death-proof.ts'
import { LeaseClient } from '../lease/lease-client.ts'
import { ObjectLock } from '../lease/object-lock.ts'
import { isAcquisition, lifeCodec } from './life-config-map.ts'
import { type LifeLockOptions, type ResolvedLifeLockOptions, resolveLifeLockOptions } from './life-lock-options.ts'
import { OwnPod } from './own-pod.ts'
import { OwnerWatches } from './owner-watches.ts'

/** How long a creation may wait for the events of the store. */
const HISTORY_MS = 1000

/**
 * Makes the lock of a leader for life: a ConfigMap whose owner is the Pod of the leader, as `leader.Become()` of operator-lib makes it.
 *
 * The leader writes nothing while it leads. It reads the ConfigMap every `retryPeriodMs` instead, and stops in time when it cannot.
 * Others may lead when it releases the lease, when its container has provably ended, or when the garbage collector has deleted the
 * ConfigMap after the Pod. After a deletion a new leader holds the ConfigMap for `leaseDurationMs` before it acts, because a Pod that
 * was deleted by force may still run. Replicas of operator-lib may compete for the same ConfigMap.
 *
 * Needs the right to read Pods, besides those on the ConfigMap. Does no I/O before its first use.
 *
 * @throws OptionsError when an option is malformed, or this process does not know its Pod
 *
 * @example
 * ```ts
 * import { lifeLock } from '@tenure/kubernetes'
 * import { createManager } from 'tenure'
 *
 * const manager = createManager({ lease: { name: 'janitor' }, lock: ({ name, namespace }) => lifeLock({ name, namespace }) })
 * ```
 */
export function lifeLock(options: LifeLockOptions): Lock {
  return new LifeLock(resolveLifeLockOptions(options, process.env))
}

/**
 * A {@link Lock} for life.
 *
 * 1. An update that changes nothing writes nothing: it reads, and answers with what it read only if that is of the same holder.
 * 2. The owner of the ConfigMap is the Pod of the holder, except between a transfer and the first renewal of the new holder.
 * 3. Whatever cannot be read as the lock of a leader for life grants nothing.
 */
class LifeLock implements Lock {
  readonly heldForLife = true
  readonly description: string
  readonly #lock: ObjectLock
  readonly #client: LeaseClient
  readonly #proof: PodDeathProof
  readonly #pod: OwnPod
  readonly #owners: OwnerWatches
  readonly #reference: ObjectReference
  readonly #clock: Clock
  /** Undefined unless the last event of the ConfigMap was its deletion. */
  #deletion: { readonly version: bigint; readonly record: LeaseRecord } | undefined
  /** Resolves when a creation has been answered; undefined if there is none. */
  #creation: Promise<void> | undefined

  constructor(options: ResolvedLifeLockOptions) {
    const { name, namespace, pod, podUid, container, silenceMs, client: clientOptions } = options
    const client = new LeaseClient(clientOptions)
    const { logger, clock } = clientOptions
    this.#client = client
    this.#pod = new OwnPod({ client, name: pod, namespace, uid: podUid })
    this.#proof = new PodDeathProof({ client, pod: { name: pod, namespace }, container, ...(logger && { logger }) })
    const codec = lifeCodec(() => this.#pod.known)
    this.#lock = new ObjectLock({
      codec,
      client,
      ownsClient: true,
      name,
      namespace,
      labels: {},
      annotations: {},
      silenceMs,
      deathProof: this.#proof,
    })
    this.description = this.#lock.description
    const reference = { ...codec.resource, name, namespace }
    this.#reference = reference
    this.#clock = clock ?? systemClock
    const shared = { client, reference, lock: this.#lock, pod: this.#pod, proof: this.#proof }
    this.#owners = new OwnerWatches({ ...shared, clock, logger })
  }

  get processRef(): string | undefined {
    return this.#proof.processRef
  }

  async get(options: LockRequestOptions): Promise<LockSnapshot> {
    return this.#seen(await this.#lock.get(options))
  }

  async create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    await this.#pod.confirm(options.signal)
    const deletion = this.#deletion
    if (deletion === undefined) return this.#seen(await this.#lock.create(record, options))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#creation = promise
    try {
      const lease = this.#seen(await this.#lock.create(record, options))
      const isNext = await this.#isNext(lease, deletion.version, options.signal)
      return isNext ? { ...lease, replaced: deletion.record } : lease
    } finally {
      // After the answer has been taken in.
      setImmediate(() => {
        this.#creation = undefined
        resolve()
      })
    }
  }

  async update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    if (isDeepStrictEqual(base.record, record)) return this.#check(base, options)
    if (isAcquisition(base.record, record)) await this.#pod.confirm(options.signal)
    else await this.#pod.find(options.signal)
    return this.#seen(await this.#lock.update(base, record, options))
  }

  watch(observer: LockObserver): LockWatch {
    this.#proof.start()
    let isClosed = false
    const watch = this.#lock.watch({
      ...observer,
      changed: (snapshot) => {
        const { deleted: record, version } = snapshot.kind === 'absent' ? snapshot : {}
        this.#deletion = record && version !== undefined ? { record, version } : undefined
        const tell = () => observer.changed(this.#seen(snapshot))
        if (this.#creation === undefined) return tell()
        // The answer says more of a creation than its news.
        void this.#creation.then(() => !isClosed && tell())
      },
    })
    const close = () => {
      isClosed = true
      return watch.close()
    }
    return { close }
  }

  watchHolder(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    return this.#owners.watch(holder, observer)
  }

  async close(): Promise<void> {
    await Promise.all([this.#lock.close(), this.#owners.close(), this.#proof.close()])
  }

  #seen<S extends LockSnapshot>(snapshot: S): S {
    if (snapshot.kind === 'present') this.#owners.see(snapshot)
    return snapshot
  }

  /** Whether no other ConfigMap of this name existed between a deletion and a creation, as the events of the store show. */
  async #isNext({ version }: PresentLease, deletedAt: bigint, signal: AbortSignal): Promise<boolean> {
    const deadline = { clock: this.#clock, timeoutMs: HISTORY_MS, signal }
    const from = { version: String(deletedAt), spread: 0 }
    try {
      const next = await withDeadline(deadline, (bounded) =>
        firstEvent(this.#client.transport, watchObjects(this.#reference, from, bounded)),
      )
      return next?.kind === 'present' && decimalVersionOf(next) === version
    } catch {
      // The store may have forgotten that version. Without a proof, this replica waits.
      return false
    }
  }

  /** Reads the ConfigMap in place of a renewal. */
  async #check({ record }: PresentLease, options: LockRequestOptions): Promise<PresentLease> {
    const seen = await this.#lock.get(options)
    if (seen.kind === 'absent') {
      throw new LockRequestError('not-found', `Could not keep ${this.description}: it was deleted`)
    }
    const { holderIdentity, acquireTime } = seen.record
    if (holderIdentity === record.holderIdentity && acquireTime === record.acquireTime) return seen
    throw new LockRequestError(
      'conflict',
      `Could not keep ${this.description}: ${holderIdentity || 'nobody'} holds it now`,
    )
  }
}
