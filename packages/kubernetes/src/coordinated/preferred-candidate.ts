import type { Clock } from '@tenure/core'
import type { PreferredHolder, Timer } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import { isJsonObject } from '../json-object.ts'
import {
  ANSWER_MS,
  type CandidateFacts,
  isBetter,
  isPinged,
  readCandidate,
  type StoredCandidate,
} from './candidate-object.ts'
import { isTied } from './ties.ts'

/** How soon to look again at a candidate that has not answered yet. */
const LOOK_AGAIN_MS = 250

/** Options of {@link PreferredCandidate}. */
interface PreferredCandidateOptions {
  readonly clock: Clock
  /** What the candidate of this replica says of itself. */
  readonly facts: CandidateFacts
  /** The candidate of this replica, if it is stored. */
  readonly own: () => StoredCandidate | undefined
  /** Reads a candidate. @throws ApiRequestError */
  readonly read: (identity: string) => Promise<unknown>
  readonly onChanged: () => void
  readonly onFailed: (identity: string, error: unknown) => void
}

/**
 * The candidate that the controller prefers to this replica, which holds the lease, and whether it lives.
 *
 * A worse candidate than this replica counts as gone. The controller has chosen it while it did not see the candidate of this replica, for
 * example just after its feature gate was switched on, and it does not take that back. It would ask the other one to make way at once. The
 * same is true of an equal one of the same second: the controller has no order for the two.
 */
export class PreferredCandidate {
  readonly #options: PreferredCandidateOptions
  #named: string | undefined
  #current: PreferredHolder | undefined
  #again: Timer | undefined
  /** The open ping of the candidate, and since when. */
  #ping: { readonly ping: string; readonly seenAt: number } | undefined

  constructor(options: PreferredCandidateOptions) {
    this.#options = options
  }

  /** Undefined while nobody is preferred, or it is not known yet whether the candidate lives. */
  get current(): PreferredHolder | undefined {
    return this.#current
  }

  /** Takes in whom the lease prefers, and looks at that candidate again: it may end while the term drains. */
  seen(identity: string | undefined): void {
    this.#named = identity
    this.#again?.cancel()
    if (identity === undefined) this.#set(undefined)
    else void this.#look(identity)
  }

  close(): void {
    this.#named = undefined
    this.#again?.cancel()
  }

  async #look(identity: string): Promise<void> {
    const { read, onFailed } = this.#options
    try {
      const object = await read(identity)
      const candidate = isJsonObject(object) ? readCandidate(object) : undefined
      if (this.#named !== identity) return
      if (candidate !== undefined && this.#mayAnswer(candidate)) this.#lookAgain(identity)
      else this.#set({ identity, isAlive: candidate !== undefined && this.#isToLead(candidate) })
    } catch (error) {
      if (this.#named !== identity) return
      if (error instanceof ApiRequestError && error.failure === 'not-found') this.#set({ identity, isAlive: false })
      else onFailed(identity, error)
    }
  }

  #isToLead(candidate: StoredCandidate): boolean {
    const { facts, own: ownOf } = this.#options
    const own = ownOf()
    return !isPinged(candidate) && !isBetter(facts, candidate) && (own === undefined || !isTied(own, candidate))
  }

  /** Whether a candidate has an open ping, and still has time to answer it. */
  #mayAnswer(candidate: StoredCandidate): boolean {
    if (!isPinged(candidate)) return false
    const now = this.#options.clock.now()
    const ping = `${candidate.uid} ${candidate.pingTime}`
    if (this.#ping?.ping !== ping) this.#ping = { ping, seenAt: now }
    return now - this.#ping.seenAt < ANSWER_MS
  }

  /** Until then counts what was seen of the same candidate before. */
  #lookAgain(identity: string): void {
    if (this.#current?.identity !== identity) this.#set(undefined)
    this.#again = this.#options.clock.setTimer(LOOK_AGAIN_MS, () => void this.#look(identity))
  }

  #set(preferred: PreferredHolder | undefined): void {
    const { identity, isAlive } = this.#current ?? {}
    if (preferred?.identity === identity && preferred?.isAlive === isAlive) return
    this.#current = preferred
    this.#options.onChanged()
  }
}
