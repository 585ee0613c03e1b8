import { isDeepStrictEqual } from 'node:util'
import type {
  LeaseRecord,
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from '@tenure/core'
import { epochOf, type Departure, type HolderObserver, type LeaseHolder } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { SimulatedCandidate } from './simulated-candidate.ts'
import { SimulatedWatch } from './simulated-watch.ts'

/** The lock of one process on a lease of the simulated API server. */
export class SimulatedLock implements Lock {
  readonly description: string
  /** The identity, which is unique to each process. */
  readonly processRef: string
  readonly coordinator: SimulatedCandidate | undefined
  readonly departure: Departure | undefined
  readonly heldForLife: boolean
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #name: string

  constructor(cluster: Cluster, process: SimulatedProcess, name: string, departure: Departure | undefined) {
    this.departure = departure
    this.#cluster = cluster
    this.#process = process
    this.#name = name
    this.processRef = process.identity
    this.heldForLife = cluster.collector !== undefined
    const { coordinator } = cluster
    this.coordinator = coordinator && new SimulatedCandidate(cluster, process, coordinator)
    this.description = `simulated lease ${name}`
  }

  get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    return this.#request('get lease', () => this.#cluster.server.read(this.#name), signal)
  }

  create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    return this.#write('create lease', record, undefined, signal)
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    if (this.heldForLife && isDeepStrictEqual(record, base.record)) return this.#check(record, signal)
    const { identity } = this.#process
    if (record.holderIdentity === '' && this.coordinator?.state === 'server') await this.coordinator.withdraw()
    if (base.record.holderIdentity === identity && record.holderIdentity !== identity) {
      this.#cluster.tell({ kind: 'lease-given-up', process: this.#process, lease: this.#name, epoch: epochOf(base) })
    }
    return this.#write('update lease', record, base, signal)
  }

  watch(observer: LockObserver): LockWatch {
    const { coordinator } = this
    const changed = (snapshot: LockSnapshot) => {
      coordinator?.observed(snapshot)
      observer.changed(snapshot)
    }
    const heard = { changed, up: () => observer.up(), down: (cause: Error) => observer.down(cause) }
    return new SimulatedWatch(this.#cluster, this.#process, this.#name, heard)
  }

  watchHolder({ processRef }: LeaseHolder, observer: HolderObserver): LockWatch {
    return this.#cluster.deaths.watch(this.#process, processRef, observer)
  }

  async close(): Promise<void> {
    await this.coordinator?.close()
  }

  #write(
    what: string,
    record: LeaseRecord,
    base: PresentLease | undefined,
    signal: AbortSignal,
  ): Promise<PresentLease> {
    const { server } = this.#cluster
    const sentAt = this.#process.now()
    const answer = nonceOf(record, ANSWER)
    if (answer !== undefined && !this.#process.answers.has(answer)) this.#process.answers.set(answer, sentAt)
    const owner =
      this.heldForLife && record.holderIdentity === this.#process.identity ? record.holderIdentity : undefined
    const write = () => {
      const lease = server.write(this.#name, record, base, owner)
      this.#entitle(record, sentAt, base)
      return lease
    }
    return this.#request(`${what} (holder ${record.holderIdentity || 'none'})`, write, signal)
  }

  #check(record: LeaseRecord, signal: AbortSignal): Promise<PresentLease> {
    const sentAt = this.#process.now()
    const check = () => {
      const lease = this.#cluster.server.check(this.#name, record)
      this.#entitle(record, sentAt, lease)
      return lease
    }
    return this.#request('check lease', check, signal)
  }

  /**
   * A write, or the check of a lease that is held for life, entitles its holder to act, counted from its send. A transfer counts from the send
   * of the answer that it repeats. A process that gives up the lease is no longer entitled.
   */
  #entitle(record: LeaseRecord, sentAt: number, base: PresentLease | undefined): void {
    const { timing } = this.#cluster
    const { holderIdentity, leaseDurationSeconds = 0 } = record
    const { identity } = this.#process
    if (base?.record.holderIdentity === identity && holderIdentity !== identity) this.#process.disentitle()
    const holder = this.#cluster.processOf(holderIdentity ?? '')
    if (holder === undefined) return
    const from = holder === this.#process ? sentAt : holder.answers.get(nonceOf(record, TRANSFER) ?? '')
    if (from === undefined) return
    holder.entitle(from + leaseDurationSeconds * 1000 * (1 - timing.clockRateTolerance))
  }

  #request<T>(what: string, apply: () => T, signal: AbortSignal): Promise<T> {
    const { network, server } = this.#cluster
    return network.request({ process: this.#process, server, what, apply, signal })
  }
}

const ANSWER = 'tenure.dev/transfer-answer'
const TRANSFER = 'tenure.dev/transfer'

/** The nonce in an annotation about a transfer. */
function nonceOf({ annotations }: LeaseRecord, key: string): string | undefined {
  const note = annotations[key]
  return note === undefined ? undefined : (JSON.parse(note) as { readonly nonce?: string }).nonce
}
