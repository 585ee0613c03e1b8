import { type KubeObject, type ObjectRef, Store, StoreConflictError } from '@tenure/api-server/internal'
import { type LeaseRecord, LockRequestError, type LockSnapshot, type PresentLease } from '@tenure/core'
import { withRequest } from '@tenure/core/internal'
import type { Run } from '../run.ts'
import type { ServerState } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { NAMESPACE, ownerOf, presentLease, storedLease } from './stored-lease.ts'

const LEASES = 'coordination.k8s.io/leases'

/** The number of past states to which the store can return. */
const BACKUPS = 64

/** The objects of the store at a version. */
interface Backup {
  readonly version: number
  readonly leases: readonly KubeObject[]
}

/** The API server of a run: the store of the embedded API server, with refusals and outages. */
export class SimulatedApiServer implements ServerState {
  downUntil = 0
  readonly #run: Run
  #store = new Store({ historyLimit: 1 })
  #backups: readonly Backup[] = []
  /** The lease that was deleted last; undefined if the store does not know it. */
  #deleted: LeaseRecord | undefined
  readonly #refusals = new Map<SimulatedProcess, { readonly failure: 'unauthenticated' | 'forbidden'; until: number }>()
  readonly #breakWatches = new Set<(cause: Error) => void>()

  constructor(run: Run) {
    this.#run = run
    this.#keepBackups()
  }

  /** The stored lease. */
  read(name: string): LockSnapshot {
    const object = this.#store.get(refOf(name))
    return object === undefined ? { kind: 'absent', version: BigInt(this.#store.version) } : presentLease(object)
  }

  /** The Lease object. */
  object(name: string): KubeObject | undefined {
    return this.#store.get(refOf(name))
  }

  /** Finds the lease that its holder keeps for life, if it is still that of the same term. */
  check(name: string, record: LeaseRecord): PresentLease {
    const stored = this.read(name)
    if (stored.kind === 'absent') throw new LockRequestError('not-found', 'the lease was deleted')
    const { holderIdentity, acquireTime } = stored.record
    if (holderIdentity === record.holderIdentity && acquireTime === record.acquireTime) return stored
    throw new LockRequestError('conflict', `the lease is held by ${holderIdentity || 'nobody'}`)
  }

  /**
   * Writes the lease if it still has the version of `base`, or does not exist if there is no `base`. `owner`: whose Pod owns it from now on, if
   * that changes. A creation then tells which lease was deleted before.
   */
  write(name: string, record: LeaseRecord, base: PresentLease | undefined, owner?: string): PresentLease {
    const ref = refOf(name)
    try {
      const object = storedLease(name, record, this.#store.get(ref), owner)
      if (base !== undefined) return presentLease(this.#store.update(ref, object, String(base.version)))
      const created = presentLease(this.#store.create(ref, object))
      return owner === undefined || this.#deleted === undefined ? created : { ...created, replaced: this.#deleted }
    } catch (error) {
      if (!(error instanceof StoreConflictError)) throw error
      const failure = error.conflict === 'absent' ? 'not-found' : 'conflict'
      throw new LockRequestError(failure, error.message, { cause: error })
    }
  }

  /** Deletes the lease, like another client. Returns whether it existed. */
  delete(name: string): boolean {
    const stored = this.#store.get(refOf(name))
    if (stored === undefined) return false
    this.#deleted = presentLease(stored).record
    this.#store.delete(refOf(name))
    return true
  }

  /** Edits the lease, like another client, and keeps the holder. Returns whether the lease exists. */
  edit(name: string): boolean {
    const stored = this.#store.get(refOf(name))
    if (stored === undefined) return false
    const { random } = this.#run
    const { record } = presentLease(stored)
    const dice = random()
    const metadata = { ...stored.metadata, labels: { ...stored.metadata.labels, edited: String(random()) } }
    if (dice < 0.5) this.#store.update(refOf(name), { ...stored, metadata })
    else {
      const edited =
        dice < 0.75
          ? { ...record, leaseDurationSeconds: (record.leaseDurationSeconds ?? 1) + 1 }
          : { ...record, leaseTransitions: (record.leaseTransitions ?? 0) + 7 }
      this.#store.update(refOf(name), storedLease(name, edited, stored))
    }
    return true
  }

  /** Lets others acquire the lease early, like another client, and keeps its times. Returns whether the lease exists. */
  shorten(name: string): boolean {
    const stored = this.#store.get(refOf(name))
    if (stored === undefined) return false
    const { record } = presentLease(stored)
    // Before the first renewal, nobody can tell the edit from a release.
    if (record.acquireTime === record.renewTime) return true
    const changes = [{ leaseDurationSeconds: 1 }, { leaseDurationSeconds: undefined }, { holderIdentity: '' }]
    const change = changes[Math.floor(this.#run.random() * changes.length)]
    this.#store.update(refOf(name), storedLease(name, { ...record, ...change }, stored))
    return true
  }

  /** Requests through the lease that its holder steps down, like an operator. Returns whether the lease exists. */
  requestStepDown(name: string, to: string | undefined): boolean {
    const stored = this.#store.get(refOf(name))
    if (stored === undefined) return false
    const { record } = presentLease(stored)
    const id = `request-${this.#store.version}`
    this.#store.update(refOf(name), storedLease(name, withRequest(record, { id, to }), stored))
    return true
  }

  /**
   * Calls `changed` with the lease after every change, in order, and `broken` if the server disconnects the watch. The news of a deletion tell
   * which lease was deleted if a Pod owned it.
   */
  watch(name: string, changed: (snapshot: LockSnapshot) => void, broken: (cause: Error) => void): () => void {
    this.#breakWatches.add(broken)
    const stop = this.#store.watch(LEASES, ({ type, ref, object, version }) => {
      if (ref.name !== name) return
      changed(type === 'DELETED' ? deletedLease(object, version) : presentLease(object))
    })
    return () => {
      stop()
      this.#breakWatches.delete(broken)
    }
  }

  /** Takes the server down for `ms`. Its store remains. */
  restart(ms: number): void {
    this.downUntil = this.#run.now + ms
    for (const broken of this.#breakWatches) broken(new Error('the server went down'))
  }

  /**
   * Returns the store to one of its latest states, like etcd after a restore from a backup, and takes the server down for `ms`. Later
   * versions are lost, and other contents use their numbers again.
   */
  restoreBackup(ms: number): void {
    const kept = Math.floor(this.#run.random() * this.#backups.length)
    const backup = this.#backups[kept]
    if (backup === undefined) return
    this.#run.say('server', `is restored from version ${this.#store.version} to version ${backup.version}`)
    this.#backups = this.#backups.slice(0, kept + 1)
    this.#deleted = undefined
    this.#store = new Store({ historyLimit: 1 })
    this.#store.restore(
      backup.leases.map((lease) => [refOf(lease.metadata.name ?? ''), lease]),
      backup.version,
    )
    this.#keepBackups()
    this.restart(ms)
  }

  #keepBackups(): void {
    const store = this.#store
    store.onCommit(({ version }) => {
      this.#backups = [...this.#backups.slice(1 - BACKUPS), { version, leases: store.list(LEASES) }]
    })
  }

  /** Answers requests of a process with 401 or 403 for `ms`. */
  refuse(process: SimulatedProcess, failure: 'unauthenticated' | 'forbidden', ms: number): void {
    this.#refusals.set(process, { failure, until: this.#run.now + ms })
  }

  /** Ends the outage and all refusals. */
  heal(): void {
    this.downUntil = 0
    this.#refusals.clear()
  }

  admit(process: SimulatedProcess): void {
    const refusal = this.#refusals.get(process)
    if (refusal === undefined || this.#run.now >= refusal.until) return
    throw new LockRequestError(refusal.failure, refusal.failure)
  }
}

function deletedLease(object: KubeObject, version: number): LockSnapshot {
  const told = ownerOf(object) !== undefined && { deleted: presentLease(object).record }
  return { kind: 'absent', version: BigInt(version), ...told }
}

function refOf(name: string): ObjectRef {
  return { collection: LEASES, namespace: NAMESPACE, name }
}
