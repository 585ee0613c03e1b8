import type { LeaseRecord } from './lease-record.ts'
import { LockRequestError } from './lock-request-error.ts'
import type { Lock, LockObserver, LockRequestOptions, LockSnapshot, LockWatch, PresentLease } from './lock.ts'

/**
 * Leases in the memory of this process, for tests and for candidates within one process.
 *
 * All leases of the store share one version counter. It never goes back, even when a lease is deleted.
 */
export class MemoryLeaseStore {
  readonly #leases = new Map<string, PresentLease>()
  readonly #subscriptions = new Map<string, Set<Subscription>>()
  #version = 0n

  /** Creates a lock on the lease of this name. Every candidate needs its own lock. */
  lock(name: string): Lock {
    return new MemoryLock(this, name)
  }

  /** Reads the lease. */
  read(name: string): LockSnapshot {
    return this.#leases.get(name) ?? { kind: 'absent', version: this.#version }
  }

  /** Writes the lease if its version is `expected`, or creates it if `expected` is undefined. @throws LockRequestError on a conflict. */
  write(name: string, record: LeaseRecord, expected: bigint | undefined): PresentLease {
    const stored = this.#leases.get(name)
    if (stored === undefined && expected !== undefined) {
      throw new LockRequestError('not-found', `The lease \`${name}\` does not exist`)
    }
    if (stored?.version !== expected) {
      throw new LockRequestError('conflict', `The lease \`${name}\` is at version ${stored?.version}, not ${expected}`)
    }
    this.#version += 1n
    const lease: PresentLease = { kind: 'present', version: this.#version, record, deleting: false }
    this.#leases.set(name, lease)
    this.#notify(name, lease)
    return lease
  }

  /** Deletes the lease, as an operator might. */
  delete(name: string): void {
    if (!this.#leases.delete(name)) return
    this.#version += 1n
    this.#notify(name, { kind: 'absent', version: this.#version })
  }

  /** Reports the lease and then its changes, until the returned function is called. */
  observe(name: string, observer: LockObserver): () => void {
    const subscriptions = this.#subscriptions.get(name) ?? new Set()
    const subscription: Subscription = { observer, isUp: false }
    this.#subscriptions.set(name, subscriptions.add(subscription))
    queueMicrotask(() => this.#report(name, subscription))
    return () => void subscriptions.delete(subscription)
  }

  #notify(name: string, snapshot: LockSnapshot): void {
    for (const subscription of this.#subscriptions.get(name) ?? []) {
      // The first report includes earlier changes.
      if (subscription.isUp) queueMicrotask(() => this.#deliver(name, subscription, snapshot))
    }
  }

  #report(name: string, subscription: Subscription): void {
    subscription.isUp = true
    this.#deliver(name, subscription, this.read(name))
    if (this.#isOpen(name, subscription)) subscription.observer.up()
  }

  #deliver(name: string, subscription: Subscription, snapshot: LockSnapshot): void {
    if (this.#isOpen(name, subscription)) subscription.observer.changed(snapshot)
  }

  #isOpen(name: string, subscription: Subscription): boolean {
    return this.#subscriptions.get(name)?.has(subscription) === true
  }
}

interface Subscription {
  readonly observer: LockObserver
  isUp: boolean
}

class MemoryLock implements Lock {
  readonly description: string
  readonly #store: MemoryLeaseStore
  readonly #name: string
  readonly #watches = new Set<LockWatch>()
  #closed = false

  constructor(store: MemoryLeaseStore, name: string) {
    this.#store = store
    this.#name = name
    this.description = `memory lease ${name}`
  }

  async get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    this.#assertUsable(signal)
    return this.#store.read(this.#name)
  }

  async create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    this.#assertUsable(signal)
    return this.#store.write(this.#name, record, undefined)
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    this.#assertUsable(signal)
    return this.#store.write(this.#name, record, base.version)
  }

  watch(observer: LockObserver): LockWatch {
    this.#assertUsable()
    const unsubscribe = this.#store.observe(this.#name, observer)
    const watch: LockWatch = {
      close: async () => {
        this.#watches.delete(watch)
        unsubscribe()
      },
    }
    this.#watches.add(watch)
    return watch
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#watches].map((watch) => watch.close()))
  }

  #assertUsable(signal?: AbortSignal): void {
    if (!this.#closed && signal?.aborted !== true) return
    const why = this.#closed ? 'the lock is closed' : 'the request was aborted'
    throw new LockRequestError('unreachable', `Could not reach ${this.description}: ${why}`, { cause: signal?.reason })
  }
}
