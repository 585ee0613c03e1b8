import type { LeaseRecord } from './lease-record.ts'
import { LockRequestError } from './lock-request-error.ts'
import type { Lock, LockObserver, LockSnapshot, LockWatch, PresentLease } from './lock.ts'

/**
 * Leases in the memory of this process, for tests and for standing for a lease among candidates of one process.
 *
 * Its version counter is shared by all leases of the store and never goes back, also not when a lease is deleted.
 */
export class MemoryLeaseStore {
  readonly #leases = new Map<string, PresentLease>()
  readonly #observers = new Map<string, Set<LockObserver>>()
  #version = 0n

  /** A lock on the lease of the given name. Every candidate needs one of its own. */
  lock(name: string): Lock {
    return new MemoryLock(this, name)
  }

  /** The lease as it is. */
  read(name: string): LockSnapshot {
    return this.#leases.get(name) ?? { kind: 'absent', version: this.#version }
  }

  /** Writes the lease if it is at `expected`, or absent when that is undefined. @throws LockRequestError on a conflict. */
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

  /** Deletes the lease, as a person might. */
  delete(name: string): void {
    if (!this.#leases.delete(name)) return
    this.#version += 1n
    this.#notify(name, { kind: 'absent', version: this.#version })
  }

  /** Reports the lease and its changes to the observer until the returned function is called. */
  observe(name: string, observer: LockObserver): () => void {
    const observers = this.#observers.get(name) ?? new Set()
    this.#observers.set(name, observers)
    observers.add(observer)
    return () => {
      observers.delete(observer)
      if (observers.size === 0) this.#observers.delete(name)
    }
  }

  #notify(name: string, snapshot: LockSnapshot): void {
    for (const observer of this.#observers.get(name) ?? []) {
      queueMicrotask(() => {
        if (this.#observers.get(name)?.has(observer) === true) observer.changed(snapshot)
      })
    }
  }
}

class MemoryLock implements Lock {
  readonly description: string
  readonly #store: MemoryLeaseStore
  readonly #name: string

  constructor(store: MemoryLeaseStore, name: string) {
    this.#store = store
    this.#name = name
    this.description = `memory lease ${name}`
  }

  async get(): Promise<LockSnapshot> {
    return this.#store.read(this.#name)
  }

  async create(record: LeaseRecord): Promise<PresentLease> {
    return this.#store.write(this.#name, record, undefined)
  }

  async update(base: PresentLease, record: LeaseRecord): Promise<PresentLease> {
    return this.#store.write(this.#name, record, base.version)
  }

  watch(observer: LockObserver): LockWatch {
    const end = this.#store.observe(this.#name, observer)
    let isOpen = true
    queueMicrotask(() => {
      if (!isOpen) return
      observer.changed(this.#store.read(this.#name))
      observer.up()
    })
    return {
      close: async () => {
        isOpen = false
        end()
      },
    }
  }

  async close(): Promise<void> {}
}
