import { isDeepStrictEqual } from 'node:util'
import {
  type LeaseRecord,
  type Lock,
  type LockObserver,
  LockRequestError,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import type { HolderObserver, LeaseHolder } from '@tenure/core/internal'
import { PodDeathProof } from '../death/pod-death-proof.ts'
import { LeaseClient } from '../lease/lease-client.ts'
import { ObjectLock } from '../lease/object-lock.ts'
import { isAcquisition, lifeCodec } from './life-config-map.ts'
import { type LifeLockOptions, type ResolvedLifeLockOptions, resolveLifeLockOptions } from './life-lock-options.ts'
import { OwnPod } from './own-pod.ts'
import { OwnerWatches } from './owner-watches.ts'

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
  #isStarted = false

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
      ownsClient: false,
      name,
      namespace,
      labels: {},
      annotations: {},
      silenceMs,
      deathProof: this.#proof,
    })
    this.description = this.#lock.description
    const reference = { ...codec.resource, name, namespace }
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
    return this.#seen(await this.#lock.create(record, options))
  }

  async update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    if (isDeepStrictEqual(base.record, record)) return this.#check(base, options)
    if (isAcquisition(base.record, record)) await this.#pod.confirm(options.signal)
    else await this.#pod.find(options.signal)
    return this.#seen(await this.#lock.update(base, record, options))
  }

  watch(observer: LockObserver): LockWatch {
    if (!this.#isStarted) this.#proof.start()
    this.#isStarted = true
    return this.#lock.watch({
      ...observer,
      changed: (snapshot) => observer.changed(this.#seen(snapshot)),
    })
  }

  watchHolder(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    return this.#owners.watch(holder, observer)
  }

  async close(): Promise<void> {
    await Promise.all([this.#lock.close(), this.#owners.close(), this.#proof.close()])
    await this.#client.close()
  }

  #seen<S extends LockSnapshot>(snapshot: S): S {
    if (snapshot.kind === 'present') this.#owners.see(snapshot)
    return snapshot
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
