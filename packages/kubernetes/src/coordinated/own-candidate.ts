import type { Clock, Logger } from '@tenure/core'
import {
  type CandidatePings,
  type CandidateVersions,
  formatMicroTime,
  jittered,
  type Random,
  textOf,
  type Timer,
} from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import { isJsonObject } from '../json-object.ts'
import { parseVersion } from '../client/object-metadata.ts'
import { createObject, target } from '../client/object-requests.ts'
import { objectPath, type ObjectReference } from '../client/resource.ts'
import { withDeadline } from '../client/deadline.ts'
import type { LeaseClient } from '../locks/lease/lease-client.ts'
import type { ApiRequest } from '../client/api-request.ts'
import type { ObservedObject } from '../reflector/observed-object.ts'
import type { ObjectSubscription } from '../reflector/namespace-watches.ts'
import {
  ANSWER_MS,
  CANDIDATES,
  type CandidateFacts,
  candidateBody,
  isEdited,
  isPinged,
  laterOf,
  OLDEST_EMULATION_VERSION,
  type OwnerPod,
  readCandidate,
  type StoredCandidate,
} from './candidate-object.ts'
import { OtherCandidates } from './other-candidates.ts'
import { Ties } from './ties.ts'

/** How often a candidate renews by itself, as client-go does. */
const RENEW_MS = 5 * 60 * 1000

/** Creation times are whole seconds. A candidate that is created again later than this has another one. */
const NEXT_SECOND_MS = 1100

/** The controller names a holder meanwhile. What follows the creation waits, so that it does not slow down the holder. */
const NAMING_MS = 100

const REQUEST_TIMEOUT_MS = 2500
const RETRY_MS = 1000
/** A candidate that the API server refuses, for its name or for missing rights, is tried again after this time. */
const REFUSED_RETRY_MS = 15_000
const MERGE_PATCH = 'application/merge-patch+json'

/** Options of {@link OwnCandidate}. */
export interface OwnCandidateOptions {
  readonly client: LeaseClient
  /** The name of the candidate: the identity of the replica. */
  readonly name: string
  readonly namespace: string
  readonly leaseName: string
  readonly facts: CandidateFacts
  readonly pod: OwnerPod | undefined
  readonly silenceMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Who holds the lease; empty or undefined if nobody does. */
  readonly holder: () => string | undefined
  /** Called when the API server does not serve LeaseCandidates. */
  readonly onMissingApi: () => void
}

/**
 * The LeaseCandidate of this replica.
 *
 * 1. It exists while the replica stands for election, and is deleted before the replica releases its lease or stops: the controller
 *    would name a candidate that has gone, or wait for its answer.
 * 2. It answers a ping by one merge patch without a version, which cannot conflict with the writes of the controller.
 * 3. If somebody deletes or edits it, it is created or repaired.
 * 4. Of two candidates with equal versions that were created within the same second, that with the greater name is created again: the
 *    controller has no order for them and would move the leader with every election.
 * 5. After a ping it looks for others that do not answer theirs.
 * 6. One request at a time.
 */
export class OwnCandidate {
  readonly #options: OwnCandidateOptions
  readonly #reference: ObjectReference
  readonly #others: OtherCandidates
  #wantedFrom: number | undefined
  #isClosed = false
  #stored: StoredCandidate | undefined
  /** The newest version that was seen, also of the absence. */
  #version = 0n
  #subscription: ObjectSubscription | undefined
  #running: Promise<void> | undefined
  #timer: Timer | undefined
  #renewAt = 0
  #notBefore = 0
  /** When nobody can be created any more in the second in which this candidate was. */
  #secondIsOver = 0
  /** When to look for a tie next, and to begin to watch the candidate; undefined: not any more. */
  #tieCheckAt: number | undefined
  readonly #ties = new Ties()
  /** When the last ping was seen. */
  #pingedAt = 0
  #pings: CandidatePings = { answered: 0, late: 0 }
  #problem: string | undefined

  constructor(options: OwnCandidateOptions) {
    const { name, namespace } = options
    this.#options = options
    this.#reference = { ...CANDIDATES, namespace, name }
    this.#others = new OtherCandidates(options)
  }

  /** The candidate as it is stored, as far as this replica knows. */
  get stored(): StoredCandidate | undefined {
    return this.#stored
  }

  /** How often the controller asked, by how long the answer took. */
  get pings(): CandidatePings {
    return this.#pings
  }

  /** What a candidate of this lease said of itself when the candidates were listed last. */
  versionsOf(name: string): CandidateVersions | undefined {
    return this.#others.versionsOf(name)
  }

  /** Stands from this moment on, in monotonic milliseconds; undefined: no longer. */
  stand(from: number | undefined): void {
    if (this.#isClosed || from === this.#wantedFrom) return
    this.#wantedFrom = from
    this.#work()
  }

  /** Deletes the candidate now, and does not create it before `stand` is called with another time. Never rejects. */
  async withdraw(signal: AbortSignal): Promise<void> {
    this.#wantedFrom = undefined
    await this.#running
    if (this.#stored === undefined) return
    try {
      await this.#delete(signal)
    } catch (error) {
      this.#warn('candidate-left', error, 'could not delete the LeaseCandidate of this replica')
    }
  }

  /** Deletes the candidate and stops. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#bounded((signal) => this.withdraw(signal))
    await this.#subscription?.close()
  }

  /** Does what is due, one request after the other. */
  #work(): void {
    this.#running ??= this.#sync()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#running = undefined
        this.#plan()
      })
  }

  async #sync(): Promise<void> {
    const now = this.#options.clock.now()
    if (this.#wantedFrom === undefined) {
      if (this.#stored !== undefined) await this.#bounded((signal) => this.#delete(signal))
      return
    }
    if (now < Math.max(this.#wantedFrom, this.#notBefore)) return
    if (this.#stored === undefined) await this.#bounded((signal) => this.#create(signal))
    else if (isEdited(this.#stored, this.#options))
      await this.#bounded((signal) => this.#repair(this.#stored?.leaseName, signal))
    else if (isPinged(this.#stored)) await this.#answer()
    else if (now >= this.#renewAt) await this.#bounded((signal) => this.#patch({}, signal))
    else if (this.#tieCheckAt !== undefined && now >= this.#tieCheckAt) {
      await this.#bounded((signal) => this.#breakTie(now, signal))
    }
    this.#problem = undefined
  }

  /** Continues while something is due, and wakes up when the next thing is. */
  #plan(): void {
    this.#timer?.cancel()
    if (this.#isClosed) return
    const dueAt = this.#dueAt()
    if (dueAt === undefined) return
    this.#timer = this.#options.clock.setTimer(dueAt - this.#options.clock.now(), () => this.#work())
  }

  #dueAt(): number | undefined {
    const isWanted = this.#wantedFrom !== undefined
    if (!isWanted) return this.#stored === undefined ? undefined : this.#notBefore
    const from = Math.max(this.#wantedFrom ?? 0, this.#notBefore)
    if (this.#stored === undefined || isEdited(this.#stored, this.#options) || isPinged(this.#stored)) return from
    return Math.max(from, Math.min(this.#renewAt, this.#tieCheckAt ?? this.#renewAt))
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { client, facts, leaseName, name, pod } = this.#options
    const body = candidateBody({ name, leaseName, facts }, this.#now(), pod)
    try {
      this.#take(await client.transport.send(createObject(this.#reference, body, signal)))
    } catch (error) {
      // An earlier attempt, whose answer was lost.
      if (!(error instanceof ApiRequestError) || error.reason !== 'AlreadyExists') throw error
      this.#take(await client.transport.send(this.#request('GET', 'get', signal)))
    }
    const now = this.#options.clock.now()
    this.#secondIsOver = now + NEXT_SECOND_MS
    this.#tieCheckAt = now + NAMING_MS
  }

  async #answer(): Promise<void> {
    const seenAt = this.#pingedAt
    await this.#bounded((signal) => this.#patch({}, signal))
    const isLate = this.#options.clock.now() - seenAt > ANSWER_MS
    const { answered, late } = this.#pings
    this.#pings = isLate ? { answered, late: late + 1 } : { answered: answered + 1, late }
    try {
      await this.#bounded((signal) => this.#others.look(signal))
    } catch (error) {
      this.#warn('candidates-unseen', error, 'could not look for candidates that do not answer')
    }
  }

  /** Writes fields of the spec, and the time of the renewal. */
  async #patch(spec: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    const renewTime = laterOf(this.#now(), this.#stored?.pingTime)
    const request = this.#request('PATCH', 'patch', signal)
    const body = { spec: { ...spec, renewTime } }
    try {
      this.#take(await this.#options.client.transport.send({ ...request, body, contentType: MERGE_PATCH }))
    } catch (error) {
      if (error instanceof ApiRequestError && error.failure === 'not-found') this.#stored = undefined
      throw error
    }
  }

  async #delete(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.transport.send(this.#request('DELETE', 'delete', signal))
    } catch (error) {
      if (!(error instanceof ApiRequestError) || error.failure !== 'not-found') throw error
    }
    this.#stored = undefined
  }

  /**
   * Makes way for an equal candidate that was created in the same second, if this candidate has to. It looks twice: others may be
   * created until the second is over.
   */
  async #breakTie(now: number, signal: AbortSignal): Promise<void> {
    this.#subscribe()
    const others = await this.#others.list(signal)
    const own = this.#stored
    if (own === undefined) return
    const tie = this.#ties.look(own, others, this.#options.holder())
    const nextAt = tie === 'none' ? undefined : now + NEXT_SECOND_MS
    this.#tieCheckAt = now < this.#secondIsOver ? this.#secondIsOver : nextAt
    if (tie !== 'makes-way') return
    await this.#delete(signal)
    this.#notBefore = this.#options.clock.now() + NEXT_SECOND_MS
  }

  #subscribe(): void {
    const { client, silenceMs } = this.#options
    this.#subscription ??= client.watch(this.#reference, {
      silenceMs,
      observer: { changed: (seen) => this.#observed(seen), up: () => {}, down: () => {} },
    })
  }

  #observed(seen: ObservedObject): void {
    if (this.#isClosed || seen.version <= this.#version) return
    this.#version = seen.version
    this.#store(seen.kind === 'absent' ? undefined : readCandidate(seen.object))
    this.#plan()
  }

  #take(object: unknown): void {
    const version = parseVersion(object) ?? 0n
    // The watch may have been faster than the answer.
    if (version > this.#version && isJsonObject(object)) {
      this.#version = version
      this.#store(readCandidate(object))
    }
    this.#renewAt = this.#options.clock.now() + RENEW_MS
  }

  #store(candidate: StoredCandidate | undefined): void {
    const isAsked = candidate !== undefined && isPinged(candidate)
    if (isAsked && candidate.pingTime !== this.#stored?.pingTime) this.#pingedAt = this.#options.clock.now()
    this.#stored = candidate
  }

  /** The API refuses another `leaseName`: such a candidate is deleted, and created again. */
  async #repair(storedLease: string | undefined, signal: AbortSignal): Promise<void> {
    const { facts, leaseName: lease, logger } = this.#options
    const message = 'somebody edited the LeaseCandidate of this replica: restored'
    logger.warn({ event: 'candidate-edited', lease }, message)
    if (storedLease !== lease) return this.#delete(signal)
    await this.#patch({ ...facts, strategy: OLDEST_EMULATION_VERSION }, signal)
  }

  #failed(error: unknown): void {
    const { clock, random, onMissingApi } = this.#options
    this.#notBefore = clock.now() + jittered(isRefusal(error) ? REFUSED_RETRY_MS : RETRY_MS, random())
    this.#warn('candidate-failed', error, 'could not write the LeaseCandidate of this replica')
    if (error instanceof ApiRequestError && error.failure === 'not-found') onMissingApi()
  }

  /** Logs a problem when it begins and when it changes. */
  #warn(event: string, err: unknown, what: string): void {
    const { logger, leaseName: lease } = this.#options
    const message = `${what}: ${textOf(err)}`
    if (this.#problem !== message) logger.warn({ event, lease, err }, message)
    this.#problem = message
  }

  #request(method: ApiRequest['method'], verb: string, signal: AbortSignal): ApiRequest {
    return { method, path: objectPath(this.#reference), target: target(verb, this.#reference), signal }
  }

  #bounded<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#options
    return withDeadline({ clock, timeoutMs: REQUEST_TIMEOUT_MS, signal: new AbortController().signal }, send)
  }

  #now(): string {
    return formatMicroTime(this.#options.clock.wallTime())
  }
}

/** Whether the API server understood a request and does not accept it. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiRequestError && (error.failure === 'forbidden' || error.statusCode === 422)
}
