import { setMaxListeners } from 'node:events'
import type { EndReason } from '../election/leadership-ended-error.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import { TermEndedError } from '../term-ended-error.ts'

/** An act was attempted that only the holder of the lease may do, outside of the time for which it is held. */
export class NotHeldError extends TermEndedError {
  override readonly code = 'NOT_HELD'
}

/** What a {@link Leadership} begins with. */
export interface LeadershipOptions {
  readonly epoch: bigint
  readonly lease: string
  readonly validUntil: number
  readonly clock: Clock
  /** Called when somebody asks after the time is up, before he is answered: no timer may have had a chance to say so. */
  readonly onExpired?: () => void
}

/**
 * For how long this replica may act, asked of the clock and never of a timer.
 *
 * Owns the write gate and the one timer that closes it for requests in flight.
 */
export class Leadership {
  readonly epoch: bigint
  readonly lease: string
  readonly #clock: Clock
  readonly #onExpired: (() => void) | undefined
  readonly #gate = new AbortController()
  readonly #forgetSuspension: (() => void) | undefined
  #validUntil: number
  #timer: Timer | undefined

  constructor({ epoch, lease, validUntil, clock, onExpired }: LeadershipOptions) {
    this.#onExpired = onExpired
    this.epoch = epoch
    this.lease = lease
    this.#clock = clock
    this.#validUntil = validUntil
    setMaxListeners(0, this.gateSignal)
    this.#watchExpiry()
    // The timer was paused, too.
    this.#forgetSuspension = clock.watchSuspension?.(() => void this.isHeld())
  }

  /** Aborts when no write may be sent any more. */
  get gateSignal(): AbortSignal {
    return this.#gate.signal
  }

  /** Whether this replica may act now. */
  isHeld(): boolean {
    if (this.#gate.signal.aborted) return false
    if (this.#clock.now() < this.#validUntil) return true
    this.closeGate('renew-deadline')
    this.#onExpired?.()
    return false
  }

  /** Milliseconds for which this replica may still act. */
  remainingMs(): number {
    return this.isHeld() ? this.#validUntil - this.#clock.now() : 0
  }

  /** Prolongs the leadership after a renewal. */
  extend(validUntil: number): void {
    this.#validUntil = validUntil
  }

  /** Brings the end forward, as when somebody shortened the lease. */
  shorten(validUntil: number): void {
    this.#validUntil = validUntil
    this.#timer?.cancel()
    if (!this.#gate.signal.aborted) this.#watchExpiry()
  }

  /** Lets no write pass any more. */
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
