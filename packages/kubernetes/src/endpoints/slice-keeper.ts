import type { Clock, Logger } from '@tenure/core'
import { errorOf, onAbort, type Random, textOf } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { Connection } from '../client/connection.ts'
import { withDeadline } from '../client/deadline.ts'
import { parseVersion } from '../client/object-metadata.ts'
import { createObject, updateObject } from '../client/object-requests.ts'
import type { ObjectReference } from '../client/resource.ts'
import { isJsonObject } from '../json-object.ts'
import { LabelledCounter } from '../membership/metrics-view.ts'
import { isRefusal } from '../membership/own-lease.ts'
import { Wakeup } from '../membership/wakeup.ts'
import { CollectionWatch } from '../reflector/collection-watch.ts'
import type { ObservedObject } from '../reflector/observed-object.ts'
import { ReconnectBackoff } from '../reflector/reconnect-backoff.ts'
import { decide, type Decision, type Situation, URGENCIES, type Urgency } from './decide.ts'
import { EndpointsRefusedError } from './endpoints-refused-error.ts'
import { checkService } from './service-check.ts'
import { areSameEndpoints, type SliceEndpoint } from './slice-endpoint.ts'
import { hasPorts, isAttributed, readSlice, sliceBody, type SliceSource, SLICES, type StoredSlice } from './slice-object.ts'

/** How long a replica leaves a difference to those that come before it in the slice. */
const PATIENCE: Readonly<Record<Urgency, { readonly firstMs: number; readonly stepMs: number }>> = {
  own: { firstMs: 0, stepMs: 0 },
  gone: { firstMs: 250, stepMs: 50 },
  repair: { firstMs: 1000, stepMs: 50 },
}

/** Replicas beyond this rank are as patient as that of this rank. */
const MAX_RANK = 20

const REQUEST_TIMEOUT_MS = 3000
const REFUSED_RETRY_MS = 5000

/** What the keeper knows of the group. */
export type GroupView = Pick<Situation, 'others' | 'gone' | 'isCurrent'>

/** Options of {@link SliceKeeper}. */
export interface SliceKeeperOptions {
  readonly source: SliceSource
  readonly mode: Situation['mode']
  readonly address: string
  readonly count: number
  readonly connection: Connection
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** The group as it is now. */
  readonly group: () => GroupView
}

/**
 * Keeps one EndpointSlice as {@link decide} says.
 *
 * Owns the watch of the slice. Does not own the connection.
 * 1. One write at a time, only on a difference, and only of the version that the decision was made of.
 * 2. A slice of somebody else is never written. It is created only for a Service that may have it.
 * 3. After an error the published entries stay, and the difference is looked at again.
 */
export class SliceKeeper {
  readonly #options: SliceKeeperOptions
  readonly #watch: CollectionWatch
  readonly #wakeup: Wakeup
  readonly #backoff: ReconnectBackoff
  readonly #reference: ObjectReference
  readonly #closing = new AbortController()
  readonly #waiters = new Set<() => void>()
  /** Since when each kind of difference is as it is. */
  readonly #noticed = new Map<Urgency, { readonly at: number; readonly what: string }>()
  readonly writes = new LabelledCounter<'ok' | 'conflict' | 'failed'>()
  #own: SliceEndpoint | undefined
  #isSeen = false
  /** Whether the slice could be watched. */
  #isUp = false
  #slice: StoredSlice | undefined
  #version = 0n
  #serviceUid: string | undefined
  #refusal: Error | undefined
  #problem: Error | undefined
  /** No write before this time, after one that failed. */
  #notBefore = 0
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: SliceKeeperOptions) {
    const { clock, random, connection, source } = options
    this.#options = options
    this.#wakeup = new Wakeup(clock)
    this.#backoff = new ReconnectBackoff(random)
    this.#reference = { ...SLICES, namespace: source.namespace, name: source.name }
    this.#watch = new CollectionWatch({
      ...{ connection, clock, random, selection: this.#reference, silenceMs: REQUEST_TIMEOUT_MS },
      observer: {
        listed: (objects, version) => this.#see(objects.get(source.name) ?? { kind: 'absent', version }, 'list'),
        changed: (name, seen) => (name === source.name ? this.#see(seen, 'event') : undefined),
        up: () => {
          this.#isUp = true
          this.#wakeup.wake()
        },
        down: (cause) => {
          this.#failed(cause, 'the EndpointSlice cannot be watched')
          this.#wakeup.wake()
        },
      },
    })
  }

  /** The entries in the slice as last seen. */
  get entries(): readonly SliceEndpoint[] {
    return this.#slice?.entries ?? []
  }

  /** What this replica wants to be in the slice. */
  get own(): SliceEndpoint | undefined {
    return this.#own
  }

  /** Why this replica may not be in the slice. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** The error of the last request, until one succeeds. */
  get problem(): Error | undefined {
    return this.#problem
  }

  /**
   * Starts. Resolves when the slice was seen and holds no earlier entry of this replica, or when the API server cannot be reached for now.
   * @throws EndpointsRefusedError, ApiRequestError if the Service or the slice cannot be kept, whatever the time
   */
  async start(): Promise<void> {
    const first = Promise.withResolvers<void>()
    this.#work = this.#run(first)
    await first.promise
  }

  /** Publishes this entry of this replica; undefined to be out. Happens at once. */
  want(own: SliceEndpoint | undefined): void {
    this.#own = own
    this.#notBefore = 0
    this.#wakeup.wake()
  }

  /** The group has changed. */
  groupChanged(): void {
    this.#wakeup.wake()
  }

  /** Resolves when the slice holds of this replica what it wants, or the signal aborts, or it is refused. */
  async settled(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.add(resolve)
    const forget = onAbort(signal, resolve)
    this.#wakeup.wake()
    await promise
    forget()
    this.#waiters.delete(resolve)
  }

  /** Stops writing. Resolves when no request is under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#work
    this.#settle()
  }

  async #run(first: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#closing
    while (this.#serviceUid === undefined && !signal.aborted) {
      try {
        this.#serviceUid = await this.#checkService()
        this.#refusal = undefined
      } catch (error) {
        if (isFinal(error)) first.reject(error)
        first.resolve()
        this.#failed(errorOf(error), 'the Service cannot be read')
        await this.#wakeup.wait(this.#retryMs(error), signal)
      }
    }
    await Promise.all([this.#watch.run(signal), this.#follow(first)])
  }

  async #follow(first: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const pauseMs = await this.#step()
      const stuck = this.#refusal ?? (isFinal(this.#problem) ? this.#problem : undefined)
      if (stuck !== undefined) first.reject(stuck)
      else if ((this.#isSettled && this.#isUp) || this.#problem !== undefined) first.resolve()
      if (this.#isSettled || this.#refusal !== undefined) this.#settle()
      await this.#wakeup.wait(pauseMs, signal)
    }
    first.resolve()
  }

  /** Settles the first difference that is due. Returns how long to wait for the next one; undefined if there is none. */
  async #step(): Promise<number | undefined> {
    if (!this.#isSeen || this.#isForeign()) return undefined
    const now = this.#options.clock.now()
    this.#note(decide(this.#situation(), 'own').refusal)
    let nextAt = Infinity
    for (const urgency of URGENCIES) {
      const decision = decide(this.#situation(), urgency)
      const dueAt = Math.max(this.#dueAt(decision, urgency, now), this.#notBefore)
      if (dueAt <= now) return this.#write(decision)
      nextAt = Math.min(nextAt, dueAt)
    }
    return nextAt === Infinity ? undefined : nextAt - now
  }

  /** When to settle the difference. Another difference begins to wait again. */
  #dueAt(decision: Decision, urgency: Urgency, now: number): number {
    if (!this.#differs(decision, urgency)) {
      this.#noticed.delete(urgency)
      return Infinity
    }
    const what = JSON.stringify([this.entries, decision.entries])
    const noticed = this.#noticed.get(urgency)
    const at = noticed?.what === what ? noticed.at : now
    this.#noticed.set(urgency, { at, what })
    return at + this.#patienceMs(urgency)
  }

  get #isSettled(): boolean {
    return this.#isSeen && !this.#differs(decide(this.#situation(), 'own'), 'own')
  }

  #situation(): Situation {
    const { mode, address, count, group } = this.#options
    const situation = { mode, count, selfAddress: address, self: this.#own, slice: this.entries, ...group() }
    return this.#hasOtherPorts(situation) ? { ...situation, self: undefined } : situation
  }

  /** Replicas that listen on other ports are in the slice: this one would make them unreachable. */
  #hasOtherPorts({ mode, others, slice, selfAddress, self }: Situation): boolean {
    if (mode === 'leader' || self === undefined || this.#slice === undefined) return false
    if (hasPorts(this.#slice, this.#options.source)) return false
    const isThere = (address: string) => others.some((other) => other.address === address)
    return slice.some(({ address }) => address !== selfAddress && isThere(address))
  }

  #differs({ entries }: Decision, urgency: Urgency): boolean {
    const slice = this.#slice
    if (slice === undefined) return entries.length > 0
    if (!areSameEndpoints(entries, slice.entries)) return true
    if (urgency !== 'repair') return false
    const { source } = this.#options
    const isRight = slice.isTidy && isAttributed(slice, source, this.#serviceUid ?? '')
    return !isRight || (this.#situation().self !== undefined && !hasPorts(slice, source))
  }

  /** Returns how long to wait before looking again. */
  async #write({ entries }: Decision): Promise<number> {
    const { clock, logger, source } = this.#options
    const isCreation = this.#slice === undefined
    try {
      // A Service that was deleted and created again has another uid, and took the slice with it.
      if (isCreation) this.#serviceUid = await this.#checkService()
      const answer = await this.#send(entries)
      this.writes.inc('ok')
      this.#problem = undefined
      this.#backoff.reset()
      this.#see(observed(answer), 'event')
      this.#watch.expect(this.#version)
      const listed = entries.map(({ address, ready }) => (ready ? address : `${address} (not ready)`))
      logger.info({ event: 'endpoints-written', service: source.service, endpoints: listed }, 'EndpointSlice written')
      return 0
    } catch (error) {
      const failure = error instanceof ApiRequestError ? error.failure : undefined
      const isConflict = failure === 'conflict' || (failure === 'not-found' && !isCreation)
      this.writes.inc(isConflict ? 'conflict' : 'failed')
      if (!isConflict) this.#failed(errorOf(error), 'the EndpointSlice cannot be written')
      await this.#readAgain()
      const pauseMs = isConflict ? 0 : this.#retryMs(error)
      this.#notBefore = clock.now() + pauseMs
      return pauseMs
    }
  }

  async #send(entries: readonly SliceEndpoint[]): Promise<unknown> {
    const { clock, connection, source } = this.#options
    const keepsPorts = this.#situation().self === undefined
    const change = { stored: this.#slice, entries, serviceUid: this.#serviceUid ?? '', keepsPorts }
    const body = sliceBody(source, change)
    const request = this.#slice === undefined ? createObject : updateObject
    const bounds = { clock, timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#closing.signal }
    return withDeadline(bounds, (bounded) => connection.send(request(this.#reference, body, bounded)))
  }

  /** After a conflict, or an answer that was lost, the watch may be late. */
  async #readAgain(): Promise<void> {
    try {
      const listing = await this.#watch.read(this.#closing.signal)
      const seen = listing.only(() => true).get(this.#reference.name) ?? { kind: 'absent' as const, version: listing.version }
      this.#see(seen, 'event')
    } catch (error) {
      this.#failed(errorOf(error), 'the EndpointSlice cannot be read')
    }
  }

  #checkService(): Promise<string> {
    const { clock, connection, source } = this.#options
    const bounds = { clock, timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#closing.signal }
    return withDeadline(bounds, (bounded) => checkService(connection, source, bounded))
  }

  /** A list is right even if it is older: the store was restored then. */
  #see(seen: ObservedObject, by: 'list' | 'event'): void {
    if (by === 'event' && this.#isSeen && seen.version <= this.#version) return
    this.#isSeen = true
    this.#version = seen.version
    this.#slice = seen.kind === 'present' ? readSlice(seen.object, this.#options.source) : undefined
    if (by === 'list') this.#problem = undefined
    this.#wakeup.wake()
  }

  #isForeign(): boolean {
    const foreign = this.#slice?.foreign
    if (foreign === undefined) return false
    const { namespace, name } = this.#reference
    this.#note(
      `Could not keep the EndpointSlice ${namespace}/${name}: ${foreign}. It is somebody else's. Choose another name with \`slice\`, or delete it`,
    )
    return true
  }

  /** Why this replica is kept out. Logged when it begins. */
  #note(refusal: string | undefined): void {
    const { logger, source } = this.#options
    const why = refusal ?? this.#whyPorts()
    if (this.#refusal?.message === why) return
    this.#refusal = why === undefined ? undefined : new EndpointsRefusedError(why)
    if (why !== undefined) logger.error({ event: 'endpoints-refused', service: source.service }, why)
  }

  #whyPorts(): string | undefined {
    if (this.#own === undefined || this.#situation().self !== undefined) return undefined
    const { namespace, name } = this.#reference
    return `The EndpointSlice ${namespace}/${name} has other ports than \`ports\`, and replicas that listen there. All replicas need the same ports`
  }

  #failed(error: Error, what: string): void {
    if (this.#closing.signal.aborted) return
    const { logger, source } = this.#options
    if (this.#problem?.message !== error.message) {
      logger.warn({ event: 'endpoints-failed', service: source.service, err: error }, `${what}: ${textOf(error)}`)
    }
    this.#problem = error
  }

  #retryMs(error: unknown): number {
    const asked = error instanceof ApiRequestError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(asked, isFinal(error) ? REFUSED_RETRY_MS : Math.max(this.#backoff.next(), 50))
  }

  /** The replicas in the slice share the work by the order of their addresses. One that is not in it comes last. */
  #patienceMs(urgency: Urgency): number {
    const { address } = this.#options
    const { others, self } = this.#situation()
    const before = self === undefined ? others : others.filter((other) => other.address < address)
    const { firstMs, stepMs } = PATIENCE[urgency]
    return firstMs + stepMs * Math.min(before.length, MAX_RANK)
  }

  #settle(): void {
    for (const resolve of this.#waiters) resolve()
  }
}

/** Whether another attempt would fail too, unless somebody changes something in the cluster. */
function isFinal(error: unknown): boolean {
  return error instanceof EndpointsRefusedError || isRefusal(error)
}

function observed(answer: unknown): ObservedObject {
  const version = parseVersion(answer)
  if (version !== undefined && isJsonObject(answer)) return { kind: 'present', version, object: answer }
  return { kind: 'absent', version: 0n }
}
