import type { Clock, Logger } from '@tenure/core'
import { errorOf, onAbort, type Random, textOf } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { Connection } from '../client/connection.ts'
import { LabelledCounter } from '../membership/metrics-view.ts'
import { isRefusal } from '../membership/own-lease.ts'
import { Patience } from './patience.ts'
import { Absences } from './absences.ts'
import { Wakeup } from '../membership/wakeup.ts'
import { ReconnectBackoff } from '../reflector/reconnect-backoff.ts'
import { decide, type Decision, type Situation, URGENCIES, type Urgency } from './decide.ts'
import type { WantedEndpoint } from './endpoint-note.ts'
import { EndpointsRefusedError } from './endpoints-refused-error.ts'
import { describeForeign, describeOtherPorts, isOfOtherPorts } from './slice-refusals.ts'
import { areSameEndpoints, type SliceEndpoint } from './slice-endpoint.ts'
import { hasPorts, isAttributed, type SliceSource } from './slice-object.ts'
import { isConflict, SliceStore } from './slice-store.ts'

/** How often to look whether the view of the group is current again, and whether a member without an entry has renewed its Lease. */
const DOUBT_MS = 1000

const REFUSED_RETRY_MS = 5000
const LEAST_RETRY_MS = 50

/** How long the last read of the group is enough for the own entry. Many replicas may enter at once, and each conflict is another attempt. */
const FRESH_MS = 1000

/** What the keeper knows of the group. */
export interface GroupView extends Pick<Situation, 'gone' | 'isCurrent'> {
  readonly wanted: readonly WantedEndpoint[]
}

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
  /** Renews the own Lease if that is overdue, and reads the group with a consistent read. */
  readonly refresh: (signal: AbortSignal) => Promise<void>
}

/**
 * Keeps one EndpointSlice as {@link decide} says.
 *
 * 1. One write at a time, only on a difference, and only of the version that the decision was made of.
 * 2. A slice of somebody else is never written. It is created only for a Service that may have it.
 * 3. After an error the published entries stay, and the difference is looked at again.
 * 4. A replica enters only with a renewed Lease, and changes entries of others only if a read of the group that began after it saw this
 *    version of the slice agrees. So nobody drops a replica that has entered, however late its view of the group is.
 */
export class SliceKeeper {
  /** The writes, by outcome. */
  readonly writes: LabelledCounter<'ok' | 'conflict' | 'failed'> = new LabelledCounter()
  readonly #options: SliceKeeperOptions
  readonly #store: SliceStore
  readonly #wakeup: Wakeup
  readonly #backoff: ReconnectBackoff
  readonly #waiters = new Set<() => void>()
  readonly #patience = new Patience()
  readonly #absences = new Absences()
  #own: SliceEndpoint | undefined
  /** Whether the slice could be watched. */
  #isUp = false
  #refusal: Error | undefined
  #problem: Error | undefined
  /** No write before this time, after a failed one. */
  #notBefore = 0
  #refreshedAt = Number.NEGATIVE_INFINITY
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: SliceKeeperOptions) {
    this.#options = options
    this.#wakeup = new Wakeup(options.clock)
    this.#backoff = new ReconnectBackoff(options.random)
    this.#store = new SliceStore({
      ...options,
      onSeen: () => this.#wakeup.wake(),
      onUp: () => {
        this.#isUp = true
        this.#problem = undefined
        this.#wakeup.wake()
      },
      onDown: (cause) => {
        this.#failed(cause, 'the EndpointSlice cannot be watched')
        this.#wakeup.wake()
      },
    })
  }

  /** The entries in the slice as last seen. */
  get entries(): readonly SliceEndpoint[] {
    return this.#store.slice?.entries ?? []
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
   * @throws EndpointsRefusedError, ApiRequestError if the Service or the slice cannot be kept, however often it is tried
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

  /** Resolves when the slice holds of this replica what it wants, or this is refused, or the signal aborts. */
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
    this.#store.close()
    await this.#work
    this.#settle()
  }

  async #run(first: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#store
    while (this.#store.serviceUid === undefined && !signal.aborted) {
      try {
        await this.#store.checkService()
        this.#problem = undefined
      } catch (error) {
        if (isFinal(error)) first.reject(error)
        first.resolve()
        this.#failed(errorOf(error), 'the Service cannot be read')
        await this.#wakeup.wait(this.#retryMs(error), signal)
      }
    }
    await Promise.all([this.#store.watch(), this.#follow(first)])
  }

  async #follow(first: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#store
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
    if (!this.#store.isSeen || this.#isForeign()) return undefined
    const now = this.#options.clock.now()
    this.#note(decide(this.#situation(), 'own').refusal ?? this.#whyPorts())
    let nextAt = Infinity
    for (const urgency of URGENCIES) {
      const decision = decide(this.#situation(), urgency)
      const dueAt = Math.max(this.#dueAt(decision, urgency, now), this.#notBefore)
      if (dueAt <= now) return this.#act(decision, urgency)
      nextAt = Math.min(nextAt, dueAt)
    }
    const { doubtful, isCurrent } = this.#situation()
    if (doubtful.size > 0 || !isCurrent) nextAt = Math.min(nextAt, now + DOUBT_MS)
    return nextAt === Infinity ? undefined : nextAt - now
  }

  /** When to settle the difference. The replicas in the slice share the work by the order of their addresses; others come last. */
  #dueAt(decision: Decision, urgency: Urgency, now: number): number {
    const what = this.#differs(decision, urgency) ? JSON.stringify([this.entries, decision.entries]) : undefined
    const { address } = this.#options
    const { others, self } = this.#situation()
    const before = self === undefined ? others : others.filter((other) => other.address < address)
    return this.#patience.dueAt(urgency, what, { now, rank: before.length })
  }

  get #isSettled(): boolean {
    return this.#store.isSeen && !this.#differs(decide(this.#situation(), 'own'), 'own')
  }

  #situation(): Situation {
    const { mode, address, count, clock, group } = this.#options
    const { wanted, gone, isCurrent } = group()
    const others = wanted.map(({ endpoint }) => endpoint)
    const doubtful = this.#absences.doubtful(wanted, this.entries, clock.now())
    const situation = {
      mode,
      count,
      selfAddress: address,
      self: this.#own,
      slice: this.entries,
      others,
      doubtful,
      gone,
      isCurrent,
    }
    const { slice } = this.#store
    const isRefused = slice !== undefined && isOfOtherPorts(situation, slice, this.#options.source)
    return isRefused ? { ...situation, self: undefined } : situation
  }

  #differs({ entries }: Decision, urgency: Urgency): boolean {
    const { slice, serviceUid = '' } = this.#store
    if (slice === undefined) return entries.length > 0
    if (!areSameEndpoints(entries, slice.entries)) return true
    if (urgency !== 'repair') return false
    const { source } = this.#options
    const isRight = slice.isTidy && isAttributed(slice, source, serviceUid)
    return !isRight || (this.#situation().self !== undefined && !hasPorts(slice, source))
  }

  /** Writes, if the group still says so. Returns how long to wait before looking again. */
  async #act(decision: Decision, urgency: Urgency): Promise<number> {
    const { slice, signal } = this.#store
    if (this.#needsRefresh(decision, urgency)) {
      try {
        await this.#options.refresh(signal)
      } catch (error) {
        return this.#postponed(error, 'the group cannot be read')
      }
      this.#refreshedAt = this.#options.clock.now()
      this.#absences.confirm(this.#refreshedAt)
      const again = decide(this.#situation(), urgency)
      if (this.#store.slice !== slice || !areSameEndpoints(again.entries, decision.entries)) {
        this.#problem = undefined
        return 0
      }
    }
    return this.#write(decision)
  }

  /** The own entry is this replica's own business, unless it has none yet. */
  #needsRefresh({ entries }: Decision, urgency: Urgency): boolean {
    if (urgency !== 'own') return true
    const { address, clock } = this.#options
    const isOthers = (entry: SliceEndpoint): boolean => entry.address !== address
    if (this.#situation().self === undefined) return false
    if (!areSameEndpoints(entries.filter(isOthers), this.entries.filter(isOthers))) return true
    return this.entries.every(isOthers) && clock.now() - this.#refreshedAt > FRESH_MS
  }

  #postponed(error: unknown, what: string): number {
    this.#failed(errorOf(error), what)
    const pauseMs = this.#retryMs(error)
    this.#notBefore = this.#options.clock.now() + pauseMs
    return pauseMs
  }

  /** Returns how long to wait before looking again. */
  async #write({ entries }: Decision): Promise<number> {
    const { logger, source } = this.#options
    const isCreation = this.#store.slice === undefined
    try {
      await this.#store.write({ entries, keepsPorts: this.#situation().self === undefined })
      this.writes.inc('ok')
      this.#problem = undefined
      this.#backoff.reset()
      const listed = entries.map(({ address, ready }) => (ready ? address : `${address} (not ready)`))
      logger.info({ event: 'endpoints-written', service: source.service, endpoints: listed }, 'EndpointSlice written')
      return 0
    } catch (error) {
      const hasLost = isConflict(error, isCreation)
      this.writes.inc(hasLost ? 'conflict' : 'failed')
      const pauseMs = hasLost ? 0 : this.#postponed(error, 'the EndpointSlice cannot be written')
      const unread = (cause: unknown) => this.#failed(errorOf(cause), 'the EndpointSlice cannot be read')
      await this.#store.readAgain().catch(unread)
      return pauseMs
    }
  }

  #isForeign(): boolean {
    const foreign = this.#store.slice?.foreign
    if (foreign === undefined) return false
    this.#note(describeForeign(this.#options.source, foreign))
    return true
  }

  /** Why this replica is kept out. Logged when it begins. */
  #note(why: string | undefined): void {
    const { logger, source } = this.#options
    if (this.#refusal?.message === why) return
    this.#refusal = why === undefined ? undefined : new EndpointsRefusedError(why)
    if (why !== undefined) logger.error({ event: 'endpoints-refused', service: source.service }, why)
  }

  #whyPorts(): string | undefined {
    const isKeptOut = this.#own !== undefined && this.#situation().self === undefined
    return isKeptOut ? describeOtherPorts(this.#options.source) : undefined
  }

  #failed(error: Error, what: string): void {
    if (this.#store.signal.aborted) return
    const { logger, source } = this.#options
    if (this.#problem?.message !== error.message) {
      logger.warn({ event: 'endpoints-failed', service: source.service, err: error }, `${what}: ${textOf(error)}`)
    }
    this.#problem = error
  }

  #retryMs(error: unknown): number {
    const asked = error instanceof ApiRequestError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(asked, isFinal(error) ? REFUSED_RETRY_MS : Math.max(this.#backoff.next(), LEAST_RETRY_MS))
  }

  #settle(): void {
    for (const resolve of this.#waiters) resolve()
  }
}

/** Whether another attempt would fail too, unless somebody changes something in the cluster. */
function isFinal(error: unknown): boolean {
  return error instanceof EndpointsRefusedError || isRefusal(error)
}
