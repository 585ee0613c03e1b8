import { type Clock, type Logger, type PresentLease } from '@tenure/core'
import { assertKnownKeys, silentLogger, systemClock, systemRandom, type Random } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import { ApiTransport } from '../client/api-transport.ts'
import type { KubeConfigSource } from '../client/current-settings.ts'
import { withDeadline } from '../client/deadline.ts'
import { defaultUserAgent } from '../client/user-agent.ts'
import { eventTime, leaseEvent } from './event-object.ts'

/** Events that wait to be written; more than this are dropped, so that a dead API server costs no memory. */
const MAX_QUEUE = 16

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
  /** What reports: `source.component`. @default 'tenure' */
  readonly component?: string
  /** The `User-Agent` header of every request. @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /** Connections that several of these share. Not closed with them. @default connections of its own */
  readonly transport?: ApiTransport
  /** Bound on each request, and on everything that is left to do when closing, in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /** Stamps the Events. @default the clock of this machine */
  readonly clock?: Clock
  /** Makes the names of the Events unique. @default the random source of this process */
  readonly random?: Random
  /** Hears of Events that could not be written. @default a logger that drops every line */
  readonly logger?: Logger
}

/** The event of a message that was written last: a repetition is counted on it. */
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
 * Writes Events on the Lease when this replica becomes or stops being the leader, in the words of client-go.
 *
 * Best effort: the calls return at once and never throw; what cannot be written is logged, once for each kind of failure
 * until an event can be written again, and forgotten. Events are written one after the other over connections apart from those of the lease. A repeated message is counted on its first
 * event, while the API server keeps that.
 */
export class LeaseEvents {
  readonly #options: Required<Omit<LeaseEventsOptions, 'transport'>>
  readonly #transport: ApiTransport
  readonly #ownsTransport: boolean
  readonly #stopping = new AbortController()
  readonly #written = new Map<string, WrittenEvent>()
  readonly #loggedFailures = new Set<string>()
  #queue: Promise<void> = Promise.resolve()
  #queued = 0
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

  /** Records `<identity> became leader`, on that very lease object where it is given. */
  becameLeader(lease?: PresentLease): void {
    this.#enqueue('became leader', lease)
  }

  /** Records `<identity> stopped leading`, on that very lease object where it is given. */
  stoppedLeading(lease?: PresentLease): void {
    this.#enqueue('stopped leading', lease)
  }

  /** Waits for the events under way, at most `timeoutMs`, and closes the connections. Later events are dropped. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { clock, timeoutMs } = this.#options
    const timer = clock.setTimer(timeoutMs, () => this.#stopping.abort(new Error('The events are closed')))
    await this.#queue
    timer.cancel()
    if (this.#ownsTransport) await this.#transport.close()
  }

  #enqueue(what: string, lease: PresentLease | undefined): void {
    if (this.#closing !== undefined || this.#queued >= MAX_QUEUE) return
    const { clock, identity } = this.#options
    const wallTime = clock.wallTime()
    this.#queued++
    this.#queue = this.#queue.then(() => this.#record({ message: `${identity} ${what}`, lease, wallTime }))
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

  async #write(event: RecordedEvent): Promise<void> {
    const known = this.#written.get(event.message)
    if (known !== undefined && (await this.#tryRepeat(known, event))) return
    const { name, namespace, component, random } = this.#options
    const body = leaseEvent({ leaseName: name, namespace, component, ...event, random: random() })
    await this.#send({ method: 'POST', path: this.#path(), body, ...this.#target('create', body.metadata.name) })
    this.#written.set(event.message, { name: body.metadata.name, count: 1 })
  }

  /** Counts the repetition on the event that is there. False when the API server does not keep it any more. */
  async #tryRepeat(known: WrittenEvent, event: RecordedEvent): Promise<boolean> {
    const count = known.count + 1
    const body = { count, lastTimestamp: eventTime(event.wallTime) }
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
    const failure = error instanceof ApiRequestError ? error.failure : 'unknown-outcome'
    if (this.#loggedFailures.has(failure)) return
    this.#loggedFailures.add(failure)
    const { logger, name, namespace } = this.#options
    logger.warn({ err: error, lease: `${namespace}/${name}` }, 'An event on the lease could not be recorded')
  }
}

interface RecordedEvent {
  readonly message: string
  readonly lease: PresentLease | undefined
  readonly wallTime: number
}
