import type { Legacy } from '../election/rules/bequest.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import { allowListeners } from '../ports/node-modules.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { Bequests } from './bequests.ts'

/** An act that needs the lease was attempted while this replica does not hold it. */
export class NotHeldError extends TermEndedError {
  override readonly code = 'NOT_HELD'
}

/** Options of a {@link Leadership}. */
export interface LeadershipOptions {
  readonly epoch: bigint
  readonly lease: string
  readonly validUntil: number
  readonly clock: Clock
  /** Called when `isHeld()` finds that the time is up, before it returns. No timer may have fired by then. */
  readonly onExpired?: () => void
  /** What earlier terms left. @default nothing */
  readonly legacy?: Legacy
}

const NOTHING: Legacy = { values: new Map(), versions: undefined }

/**
 * The epoch of a term and the time until which this replica may act. Reads the clock and does not rely on a timer.
 *
 * Owns the write gate, and the timer that closes it for requests in flight.
 */
export class Leadership {
  readonly epoch: bigint
  readonly lease: string
  readonly bequests: Bequests
  readonly #clock: Clock
  readonly #onExpired: (() => void) | undefined
  readonly #gate = new AbortController()
  readonly #forgetSuspension: (() => void) | undefined
  #validUntil: number
  #timer: Timer | undefined

  constructor({ epoch, lease, validUntil, clock, onExpired, legacy = NOTHING }: LeadershipOptions) {
    this.#onExpired = onExpired
    this.epoch = epoch
    this.lease = lease
    this.bequests = new Bequests(legacy)
    this.#clock = clock
    this.#validUntil = validUntil
    allowListeners(this.gateSignal)
    this.#watchExpiry()
    // A suspension of the machine also paused the timer.
    this.#forgetSuspension = clock.watchSuspension?.(() => void this.isHeld())
  }

  /** Aborts when the write gate closes. */
  get gateSignal(): AbortSignal {
    return this.#gate.signal
  }

  /** Whether this replica may act now. Closes the gate if the time is up. */
  isHeld(): boolean {
    if (this.#gate.signal.aborted) return false
    if (this.#clock.now() < this.#validUntil) return true
    this.closeGate('renew-deadline')
    this.#onExpired?.()
    return false
  }

  /** Milliseconds for which this replica may act without a further renewal. */
  remainingMs(): number {
    return this.isHeld() ? this.#validUntil - this.#clock.now() : 0
  }

  /** Extends the validity after a renewal. */
  extend(validUntil: number): void {
    this.#validUntil = validUntil
  }

  /** Shortens the validity, for example after another client shortened the lease. */
  shorten(validUntil: number): void {
    this.#validUntil = validUntil
    this.#timer?.cancel()
    if (!this.#gate.signal.aborted) this.#watchExpiry()
  }

  /** Closes the write gate. No write passes after this. */
  closeGate(reason: EndReason): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#forgetSuspension?.()
    if (!this.#gate.signal.aborted) this.#gate.abort(new LeadershipEndedError(reason, this.epoch))
  }

  #watchExpiry(): void {
    this.#timer = this.#clock.setTimer(this.#validUntil - this.#clock.now(), () => {
      if (this.#clock.now() >= this.#validUntil) this.closeGate('renew-deadline')
      else this.#watchExpiry()
    })
  }
}
