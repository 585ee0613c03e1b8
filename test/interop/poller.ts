import { setTimeout as sleep } from 'node:timers/promises'
import { AdminClient } from '../scenarios/admin-client.ts'
import { type LeaseSpec, leasesPath } from '../scenarios/lease-journal.ts'
import type { MixedTiming } from './mixed-lease.ts'

/**
 * An elector of another language, reduced to its algorithm.
 *
 * - `fabric8`: `LeaderElector` of the fabric8 client for Java. It trusts the wall clock: a lease is over when `renewTime` plus its own
 *   duration has passed. It releases by a lease without a holder.
 * - `python`: `LeaderElection` of the Kubernetes client for Python. It counts from when it saw the record change. It never releases,
 *   and never writes the number of transitions.
 */
export type PollerKind = 'fabric8' | 'python'

/** Where and how a poller stands for election. */
export interface PollerOptions {
  readonly kind: PollerKind
  /** The content of the kubeconfig. */
  readonly kubeConfig: string
  readonly namespace: string
  readonly lease: string
  readonly id: string
  readonly timing: MixedTiming
}

/** A lease as it was read, with everything that a write gives back. */
interface Lease {
  readonly metadata: object
  readonly spec: LeaseSpec
}

/** Stands for a lease that exists: reads it every retry period, and writes it with the version that it read. */
export class Poller implements AsyncDisposable {
  readonly #client: AdminClient
  readonly #options: PollerOptions
  readonly #path: string
  readonly #began = Promise.withResolvers<bigint>()
  readonly #looked = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  #stoppedAt: bigint | undefined
  #observed: { readonly record: string; readonly at: number } | undefined

  private constructor(client: AdminClient, options: PollerOptions) {
    this.#client = client
    this.#options = options
    this.#path = `${leasesPath(options.namespace)}/${options.lease}`
    this.#began.promise.catch(() => {})
    this.#ended = this.#run()
    this.#ended.catch((error: unknown) => {
      this.#looked.reject(error)
      this.#began.reject(error)
    })
  }

  /** Starts a poller. Fulfils when it has looked at the lease once. */
  static async start(options: PollerOptions): Promise<Poller> {
    const poller = new Poller(await AdminClient.fromKubeConfig(options.kubeConfig), options)
    await poller.#looked.promise
    return poller
  }

  /** When its work began, in nanoseconds of the monotonic clock. */
  get began(): Promise<bigint> {
    return this.#began.promise
  }

  /** When its work ended; undefined while it leads, or if it never did. */
  get stoppedAt(): bigint | undefined {
    return this.#stoppedAt
  }

  /** Stops it as the client library does. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  /** Stops it like a crash: without a last write. */
  async kill(): Promise<void> {
    this.#stopping.abort('kill')
    await this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#client.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const hasAcquired = await this.#acquire()
    if (!hasAcquired) return this.#began.reject(new Error(`${this.#options.id} was stopped before it led`))
    this.#began.resolve(process.hrtime.bigint())
    await this.#renew()
    if (signal.aborted && signal.reason !== 'kill' && this.#options.kind === 'fabric8') await this.#release()
    this.#stoppedAt = process.hrtime.bigint()
  }

  /** Polls until it leads. Returns whether it does. */
  async #acquire(): Promise<boolean> {
    const { kind, timing } = this.#options
    while (!this.#stopping.signal.aborted) {
      const outcome = await this.#tryAcquireOrRenew()
      this.#looked.resolve()
      if (outcome === 'written') return true
      await this.#pause(timing.retryPeriodMs * (kind === 'fabric8' ? 1 + FABRIC8_JITTER * Math.random() : 1))
    }
    return false
  }

  /** Renews until it is stopped, sees another holder, or the deadline has passed since its last renewal. */
  async #renew(): Promise<void> {
    const { renewDeadlineMs, retryPeriodMs } = this.#options.timing
    let renewBy = Date.now() + renewDeadlineMs
    await this.#pause(retryPeriodMs)
    while (!this.#stopping.signal.aborted && Date.now() < renewBy) {
      const outcome = await this.#tryAcquireOrRenew()
      if (outcome === 'held by another') return
      if (outcome === 'written') renewBy = Date.now() + renewDeadlineMs
      await this.#pause(retryPeriodMs)
    }
  }

  /** One look at the lease, and a write if it may. */
  async #tryAcquireOrRenew(): Promise<'written' | 'refused' | 'held by another'> {
    const lease = await this.#get()
    if (lease === undefined) return 'refused'
    const isLeader = lease.spec.holderIdentity === this.#options.id
    if (!isLeader && !this.#mayAcquire(lease.spec)) return 'held by another'
    return (await this.#put(lease, this.#specOf(lease.spec, isLeader))) ? 'written' : 'refused'
  }

  #mayAcquire(spec: LeaseSpec): boolean {
    const { kind, timing } = this.#options
    const record = JSON.stringify(spec)
    if (this.#observed?.record !== record) this.#observed = { record, at: Date.now() }
    if (!spec.holderIdentity) return true
    const since = kind === 'fabric8' ? Date.parse(spec.renewTime ?? '') : this.#observed.at
    return since + timing.leaseDurationMs <= Date.now()
  }

  #specOf(previous: LeaseSpec, isLeader: boolean): LeaseSpec {
    const { kind, id, timing } = this.#options
    const now = microTime()
    return {
      ...previous,
      holderIdentity: id,
      leaseDurationSeconds: timing.leaseDurationMs / 1000,
      acquireTime: isLeader ? (previous.acquireTime ?? now) : now,
      renewTime: now,
      ...(kind === 'fabric8' && { leaseTransitions: (previous.leaseTransitions ?? 0) + (isLeader ? 0 : 1) }),
    }
  }

  async #release(): Promise<void> {
    const lease = await this.#get()
    if (lease?.spec.holderIdentity !== this.#options.id) return
    const now = microTime()
    await this.#put(lease, {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
    })
  }

  /** Returns undefined when the API server refuses, for example because it does not know a new role yet. */
  async #get(): Promise<Lease | undefined> {
    const { status, body } = await this.#client.request(this.#path)
    return status === 200 ? (body as Lease) : undefined
  }

  /** Returns whether the write was acknowledged, which it is if the lease is as it was read. */
  async #put(lease: Lease, spec: LeaseSpec): Promise<boolean> {
    const { status } = await this.#client.request(this.#path, { method: 'PUT', body: { ...lease, spec } })
    return status === 200
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {})
  }
}

const FABRIC8_JITTER = 1.2

function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z')
}
