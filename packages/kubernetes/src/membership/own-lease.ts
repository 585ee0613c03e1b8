import type { Clock, Logger } from '@tenure/core'
import { jittered, onAbort, type Random, textOf } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import type { Connection } from '../client/connection.ts'
import { withDeadline } from '../client/deadline.ts'
import { parseVersion } from '../client/object-metadata.ts'
import { createObject, deleteObject, getObject, updateObject } from '../client/object-requests.ts'
import type { ObjectReference } from '../client/resource.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import type { Sighting } from '../reflector/observed-object.ts'
import { type MemberFacts, type MemberLeaseSource, memberLeaseBody, memberLeaseName } from './member-lease.ts'
import { Wakeup } from './wakeup.ts'

/** The pause after a failed write. Short, because the other members count from the last good one. */
const RETRY_MS = 1000

/** A renewal that is later than so many intervals is overdue. */
const OVERDUE = 1.5

/** The share of the renew interval that a request may take, and the most that one may take while the process stops. */
const REQUEST_SHARE = 0.6
const LAST_REQUEST_MS = 2000

/** Options of {@link OwnLease}. */
export interface OwnLeaseOptions {
  readonly connection: Connection
  readonly source: MemberLeaseSource
  readonly renewIntervalMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What the Lease says at the moment of a write. */
  readonly facts: () => MemberFacts
  /** A write that was sent then has succeeded, with this version. */
  readonly onWritten: (sentAt: number, version: bigint) => void
  readonly onFailed: (error: Error) => void
}

/**
 * The identity Lease of this replica: creates it, renews it, and deletes it on a stop.
 *
 * 1. One write at a time. A write that is overdue is not repeated before the deadline of the last one.
 * 2. A Lease that somebody deletes or edits is written again at once.
 * 3. After {@link withdraw} nothing writes it any more.
 */
export class OwnLease {
  readonly #options: OwnLeaseOptions
  readonly #reference: ObjectReference
  readonly #wakeup: Wakeup
  #stored: JsonObject | undefined
  #isStopping = false
  #writing: Promise<unknown> | undefined
  /** Called after each attempt. */
  readonly #waiters = new Set<() => void>()
  /** Counts what the Lease must say, and what it says. */
  #wanted = 1
  #written = 0
  /** When the last write was sent that has succeeded. */
  #renewedAt = Number.NEGATIVE_INFINITY
  #problem: Error | undefined
  #published = Promise.withResolvers<void>()

  constructor(options: OwnLeaseOptions) {
    const { source, clock } = options
    this.#options = options
    this.#reference = {
      ...LEASES,
      namespace: source.namespace,
      name: memberLeaseName(source.group, source.identity),
    }
    this.#wakeup = new Wakeup(clock)
    // A caller may ignore it.
    this.#published.promise.catch(() => {})
  }

  /** The name of the Lease. */
  get name(): string {
    return this.#reference.name
  }

  /** The error of the last write, until one succeeds. */
  get problem(): Error | undefined {
    return this.#problem
  }

  /** Whether the Lease was written, and was not withdrawn. */
  get isPublished(): boolean {
    return this.#written > 0 && !this.#isStopping
  }

  /** Writes the Lease for the first time. @throws ApiRequestError if that fails; {@link run} tries again */
  async publish(): Promise<void> {
    await this.#tryWrite()
    if (this.#problem !== undefined) throw this.#problem
  }

  /** Keeps the Lease renewed until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isStopping) {
      await this.#wakeup.wait(this.#pauseMs(), signal)
      if (!signal.aborted && !this.#isStopping) await this.#tryWrite()
    }
  }

  /** Writes what the facts say now. Resolves when the Lease holds it. */
  async update(): Promise<void> {
    const wanted = ++this.#wanted
    this.#wakeup.wake()
    while (this.#written < wanted && !this.#isStopping) await this.#published.promise
  }

  /** Renews the Lease if that is overdue, while it {@link run}s. @throws ApiRequestError if that fails */
  async renew(signal: AbortSignal): Promise<void> {
    const { clock, renewIntervalMs } = this.#options
    if (this.#isStopping || clock.now() - this.#renewedAt <= OVERDUE * renewIntervalMs) return
    if (this.#writing === undefined) this.#wakeup.wake()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.add(resolve)
    const forget = onAbort(signal, resolve)
    await promise
    forget()
    this.#waiters.delete(resolve)
    signal.throwIfAborted()
    if (this.#problem !== undefined) throw this.#problem
  }

  /** The Lease was seen. If it is not as this replica left it, it is written again at once. */
  seen({ kind, version }: Sighting): void {
    const isOwn = version <= (parseVersion(this.#stored) ?? 0n)
    if (isOwn || this.#isStopping || this.#writing !== undefined || this.#written === 0) return
    if (kind === 'absent') this.#stored = undefined
    this.#wakeup.wake()
  }

  /** Deletes the Lease. Never rejects: a Lease that is left expires. */
  async withdraw(): Promise<void> {
    this.#isStopping = true
    this.#published.resolve()
    for (const resolve of this.#waiters) resolve()
    this.#wakeup.wake()
    // An update after the deletion fails; a creation would leave the Lease behind.
    if (this.#stored === undefined) await this.#writing
    if (this.#stored === undefined) return
    const uid = stringAt(objectAt(this.#stored, 'metadata'), 'uid')
    try {
      await this.#send((bounded) => deleteObject(this.#reference, { uid }, bounded))
    } catch (error) {
      if (error instanceof ApiRequestError && ['not-found', 'conflict'].includes(error.failure)) return
      this.#warn('member-left-behind', error, 'could not delete the identity Lease of this replica, so it expires')
    }
  }

  #pauseMs(): number {
    const { random, renewIntervalMs } = this.#options
    // Others notice late renewals, not early ones.
    if (this.#problem === undefined) return renewIntervalMs * (1 - 0.04 * random())
    const asked = this.#problem instanceof ApiRequestError ? (this.#problem.retryAfterMs ?? 0) : 0
    // An API server that starts refuses requests for a moment, before it knows the roles.
    const pauseMs = isRefusal(this.#problem) ? renewIntervalMs : Math.min(RETRY_MS, renewIntervalMs)
    return Math.max(asked, jittered(pauseMs, random()))
  }

  async #tryWrite(): Promise<void> {
    const { clock, onFailed, onWritten } = this.#options
    const sentAt = clock.now()
    const wanted = this.#wanted
    const writing = this.#write()
    this.#writing = writing
    try {
      const version = await writing
      this.#problem = undefined
      this.#renewedAt = sentAt
      this.#written = Math.max(this.#written, wanted)
      onWritten(sentAt, version)
      this.#published.resolve()
      this.#published = Promise.withResolvers()
      this.#published.promise.catch(() => {})
    } catch (error) {
      const problem = error instanceof Error ? error : new Error(textOf(error))
      if (this.#problem?.message !== problem.message && !this.#isStopping) {
        this.#warn('member-not-renewed', problem, 'could not write the identity Lease of this replica')
      }
      this.#problem = problem
      onFailed(problem)
    } finally {
      this.#writing = undefined
      for (const resolve of this.#waiters) resolve()
    }
  }

  async #write(): Promise<bigint> {
    for (;;) {
      const isCreation = this.#stored === undefined
      try {
        const answer = await this.#send((bounded) => this.#request(bounded))
        return this.#accept(answer)
      } catch (error) {
        const failure = error instanceof ApiRequestError && !this.#isStopping ? error.failure : undefined
        if (failure === 'conflict') this.#stored = await this.#read()
        else if (failure === 'not-found' && !isCreation) this.#stored = undefined
        else throw error
      }
    }
  }

  #request(signal: AbortSignal): ApiRequest {
    const { clock, facts, source } = this.#options
    const body = memberLeaseBody(source, facts(), { stored: this.#stored, now: clock.wallTime() })
    if (this.#stored === undefined) return createObject(this.#reference, body, signal)
    return updateObject(this.#reference, body, signal)
  }

  async #read(): Promise<JsonObject | undefined> {
    try {
      const object = await this.#send((bounded) => getObject(this.#reference, bounded))
      return isJsonObject(object) ? object : undefined
    } catch (error) {
      if (error instanceof ApiRequestError && error.failure === 'not-found') return undefined
      throw error
    }
  }

  #accept(answer: unknown): bigint {
    if (isJsonObject(answer)) this.#stored = answer
    return parseVersion(answer) ?? 0n
  }

  #send(request: (signal: AbortSignal) => ApiRequest): Promise<unknown> {
    const { clock, connection, renewIntervalMs } = this.#options
    const timeoutMs = Math.min(renewIntervalMs * REQUEST_SHARE, this.#isStopping ? LAST_REQUEST_MS : Infinity)
    const { signal } = new AbortController()
    return withDeadline({ clock, timeoutMs, signal }, (bounded) => connection.send(request(bounded)))
  }

  #warn(event: string, err: unknown, what: string): void {
    const { namespace } = this.#reference
    this.#options.logger.warn({ event, namespace, lease: this.name, err }, `${what}: ${textOf(err)}`)
  }
}

/** Whether another attempt would be refused too, unless somebody changes something in the cluster. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiRequestError && ['forbidden', 'rejected', 'not-found'].includes(error.failure)
}
