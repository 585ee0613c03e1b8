import { type Clock, type Logger, type PresentLease } from '@tenure/core'
import { assertKnownKeys, silentLogger, systemClock, systemRandom, type Random } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import { ApiTransport } from '../client/api-transport.ts'
import type { KubeConfigSource } from '../client/current-settings.ts'
import { withDeadline } from '../client/deadline.ts'
import { defaultUserAgent } from '../client/user-agent.ts'
import { epochAnnotation, eventTime, leaseEvent } from './event-object.ts'

/** How many events may wait to be written. Further ones are dropped, so that an unreachable API server costs no memory. */
const MAX_QUEUE = 16

/** How long an event waits, so that its write does not slow down the handover that it tells of, in milliseconds. */
const DELAY_MS = 100

/** Options of {@link LeaseEvents}. */
export interface LeaseEventsOptions {
  /** How to reach the API server: a kubeconfig, or what gets one when the first request is made. */
  readonly kubeConfig: KubeConfigSource
  /** Name of the Lease that the events are about. */
  readonly name: string
  /** Namespace of the Lease, and of the events. */
  readonly namespace: string
  /** The replica that the events are about. */
  readonly identity: string
  /** The reporting component: `source.component`. @default 'tenure' */
  readonly component?: string
  /** The `User-Agent` header of every request. @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /** Connections that several instances share. Not closed with this one. @default its own connections */
  readonly transport?: ApiTransport
  /** Timeout of each request, and of the remaining events in `close()`, in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /** Stamps the Events. @default the clock of this machine */
  readonly clock?: Clock
  /** Makes the names of the Events unique. @default the random source of this process */
  readonly random?: Random
  /** Hears of Events that could not be written. @default a logger that drops every line */
  readonly logger?: Logger
}

/** The last Event written for a message. A repetition increments its count. */
interface WrittenEvent {
  readonly name: string
  readonly count: number
}

const OPTION_NAMES = [
  'kubeConfig',
  'name',
  'namespace',
  'identity',
  'component',
  'userAgent',
  'transport',
  'timeoutMs',
  'clock',
  'random',
  'logger',
] as const satisfies (keyof LeaseEventsOptions)[]

/**
 * Writes Events on the Lease when this replica becomes or stops being the leader, with the texts of client-go.
 *
 * Best effort: the calls return at once and never throw. An Event is written 100 ms later, so that its write does not compete with
 * that of the successor. An Event that cannot be written is dropped. Each kind of failure is logged once until a write succeeds again.
 * Events are written one after the other, over connections separate from those of the lease. A repeated message increments the count
 * of its first Event while the API server keeps it.
 */
export class LeaseEvents {
  readonly #options: Required<Omit<LeaseEventsOptions, 'transport'>>
  readonly #transport: ApiTransport
  readonly #ownsTransport: boolean
  readonly #stopping = new AbortController()
  readonly #written = new Map<string, WrittenEvent>()
  readonly #loggedFailures = new Set<ApiRequestError['failure'] | undefined>()
  #queue: Promise<void> = Promise.resolve()
  #queued = 0
  /** Ends the wait before the next event. */
  #hurry: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** Does no I/O. */
  constructor(given: LeaseEventsOptions) {
    assertKnownKeys('the options of LeaseEvents', given, OPTION_NAMES)
    const { transport, ...options } = given
    this.#options = {
      component: 'tenure',
      userAgent: defaultUserAgent(),
      timeoutMs: 5000,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      ...options,
    }
    const { kubeConfig, userAgent, clock } = this.#options
    this.#transport = transport ?? new ApiTransport({ kubeConfig, userAgent, clock })
    this.#ownsTransport = transport === undefined
  }

  /** Records `<identity> became leader`, on the given lease object if there is one, with the epoch of the term if it is known. */
  becameLeader(lease?: PresentLease, epoch?: bigint): void {
    this.#enqueue('became leader', lease, epoch)
  }

  /** Records `<identity> stopped leading`, on the given lease object if there is one. */
  stoppedLeading(lease?: PresentLease): void {
    this.#enqueue('stopped leading', lease)
  }

  /** Waits for the queued events, at most `timeoutMs`, and closes its own connections. Later events are dropped. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { clock, timeoutMs } = this.#options
    const timer = clock.setTimer(timeoutMs, () => this.#stopping.abort(new Error('The events are closed')))
    this.#hurry?.()
    await this.#queue
    timer.cancel()
    if (this.#ownsTransport) await this.#transport.close()
  }

  #enqueue(what: string, lease: PresentLease | undefined, epoch?: bigint): void {
    if (this.#closing !== undefined || this.#queued >= MAX_QUEUE) return
    const { clock, identity } = this.#options
    const wallTime = clock.wallTime()
    const dueAt = clock.now() + DELAY_MS
    this.#queued++
    this.#queue = this.#queue
      .then(() => this.#handedOver(dueAt))
      .then(() => this.#record({ message: `${identity} ${what}`, lease, wallTime, epoch }))
  }

  async #record(event: RecordedEvent): Promise<void> {
    try {
      await this.#write(event)
      this.#loggedFailures.clear()
    } catch (error) {
      this.#logOnce(error)
    } finally {
      this.#queued--
    }
  }

  /** Fulfils when the handover of which an event tells is probably over, and at once when the events are closed. */
  async #handedOver(dueAt: number): Promise<void> {
    const { clock } = this.#options
    const waitMs = dueAt - clock.now()
    if (waitMs <= 0 || this.#closing !== undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = clock.setTimer(waitMs, resolve)
    this.#hurry = resolve
    await promise
    timer.cancel()
    this.#hurry = undefined
  }

  async #write(event: RecordedEvent): Promise<void> {
    const known = this.#written.get(event.message)
    if (known !== undefined && (await this.#tryRepeat(known, event))) return
    const { name, namespace, component, random } = this.#options
    const body = leaseEvent({ leaseName: name, namespace, component, ...event, random: random() })
    await this.#send({ method: 'POST', path: this.#path(), body, ...this.#target('create', body.metadata.name) })
    this.#written.set(event.message, { name: body.metadata.name, count: 1 })
  }

  /** Increments the count of the stored Event. Returns false when the API server no longer has it. */
  async #tryRepeat(known: WrittenEvent, event: RecordedEvent): Promise<boolean> {
    const count = known.count + 1
    const body = { count, lastTimestamp: eventTime(event.wallTime), ...epochAnnotation(event.epoch) }
    const path = `${this.#path()}/${known.name}`
    const contentType = 'application/merge-patch+json'
    try {
      await this.#send({ method: 'PATCH', path, body, contentType, ...this.#target('patch', known.name) })
    } catch (error) {
      if (error instanceof ApiRequestError && error.failure === 'not-found') return false
      throw error
    }
    this.#written.set(event.message, { ...known, count })
    return true
  }

  async #send(request: Omit<ApiRequest, 'signal'>): Promise<void> {
    const { clock, timeoutMs } = this.#options
    await withDeadline({ clock, timeoutMs, signal: this.#stopping.signal }, (signal) =>
      this.#transport.send({ ...request, signal }),
    )
  }

  #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/events`
  }

  #target(verb: string, name: string): Pick<ApiRequest, 'target'> {
    return { target: { verb, group: '', resource: 'events', namespace: this.#options.namespace, name } }
  }

  #logOnce(error: unknown): void {
    const failure = error instanceof ApiRequestError ? error.failure : undefined
    if (this.#loggedFailures.has(failure)) return
    this.#loggedFailures.add(failure)
    const { logger, name, namespace } = this.#options
    logger.warn({ err: error, lease: `${namespace}/${name}` }, 'Could not record an Event on the lease')
  }
}

interface RecordedEvent {
  readonly message: string
  readonly lease: PresentLease | undefined
  readonly wallTime: number
  readonly epoch: bigint | undefined
}
