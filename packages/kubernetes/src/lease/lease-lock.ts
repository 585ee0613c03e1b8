import {
  LockRequestError,
  type LeaseRecord,
  type Lock,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import { ApiRequestError } from '../transport/api-request-error.ts'
import { ApiTransport } from '../transport/api-transport.ts'
import { LeaseWatch } from '../watch/lease-watch.ts'
import { resolveLeaseLockOptions, type LeaseLockOptions, type ResolvedLeaseLockOptions } from './lease-lock-options.ts'
import { newLease, parseLease, updatedLease } from './lease-object.ts'
import { createLease, getLease, updateLease } from './lease-requests.ts'

/**
 * Stores the lease as a `coordination.k8s.io/v1` Lease.
 *
 * Requests go over connections of their own, and so does every watch. Writes are conditional on the resource version. Labels,
 * annotations, owner references and spec fields that other clients put on the Lease survive every write.
 *
 * @example
 * ```ts
 * const lock = new LeaseLock({ kubeConfig: await loadKubeConfig(), name: 'janitor', namespace: 'ops' })
 * const lease = await lock.get({ signal: AbortSignal.timeout(2500) })
 * ```
 */
export class LeaseLock implements Lock {
  readonly description: string
  readonly #options: ResolvedLeaseLockOptions
  readonly #transport: ApiTransport
  readonly #watches = new Set<LeaseWatch>()
  #closed = false

  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: LeaseLockOptions) {
    this.#options = resolveLeaseLockOptions(options)
    this.#transport = new ApiTransport(this.#options)
    this.description = `lease ${options.namespace}/${options.name}`
  }

  async get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    try {
      return this.#readAnswer(await this.#transport.send(getLease(this.#options, signal)))
    } catch (error) {
      if (error instanceof ApiRequestError && error.failure === 'not-found') return { kind: 'absent' }
      throw error
    }
  }

  async create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const body = newLease(this.#options, record)
    return this.#writeAnswer(await this.#transport.send(createLease(this.#options, body, signal)))
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const body = updatedLease(base, this.#options, record)
    if (body === undefined) {
      throw new LockRequestError(
        'rejected',
        `Could not update ${this.description}: its base was not read from such a lock`,
      )
    }
    return this.#writeAnswer(await this.#transport.send(updateLease(this.#options, body, signal)))
  }

  watch(observer: LockObserver): LockWatch {
    if (this.#closed)
      throw new LockRequestError('unreachable', `Could not watch ${this.description}: the lock is closed`)
    const watch = LeaseWatch.start({ ...this.#options, observer, onClosed: () => this.#watches.delete(watch) })
    this.#watches.add(watch)
    return watch
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#transport.close(), ...[...this.#watches].map((watch) => watch.close())])
  }

  #readAnswer(answer: unknown): PresentLease {
    return parseLease(answer) ?? this.#failUnordered('rejected')
  }

  /** The server has accepted the write, whatever its answer looks like. */
  #writeAnswer(answer: unknown): PresentLease {
    return parseLease(answer) ?? this.#failUnordered('unknown-outcome')
  }

  #failUnordered(failure: 'rejected' | 'unknown-outcome'): never {
    throw new LockRequestError(
      failure,
      `Could not read ${this.description}: its resource version is not a decimal number`,
    )
  }
}
