import { type Clock } from '@tenure/core'
import { type Timer, errorOf } from '@tenure/core/internal'

/** While a lease stays as it is, polls become rarer, up to one in this time. */
const MAX_INTERVAL_MS = 30_000

/** Of the time in which silence must be noticed, this share passes before the poll, which may take what is left. */
const QUIET_SHARE = 5 / 8

/** What a {@link SilenceGuard} needs. */
export interface SilenceGuardOptions {
  readonly clock: Clock
  /** The time in which a silent watch of a lease that is renewed must be noticed. */
  readonly silenceMs: number
  /** Reads the lease another way, in at most the given time, and tells whether the watch has missed something. */
  readonly poll: (timeoutMs: number) => Promise<'in-step' | 'behind'>
  /** Whether the watch is still behind what the last poll saw. */
  readonly isBehind: () => boolean
  /** The watch is dead. Called once at most. */
  readonly lost: (cause: Error | 'behind') => void
}

/**
 * Tells a quiet watch from a dead one.
 *
 * A lease with a live holder changes every few seconds, and nothing else can be asked of a stream. So when nothing was heard for
 * a while, the lease is read once over another connection: if that fails, or shows something that the watch does not come up
 * with in a moment, the watch is dead. If not, the lease is idle, and the next look is later.
 */
export class SilenceGuard {
  readonly #options: SilenceGuardOptions
  readonly #quietMs: number
  readonly #pollMs: number
  #intervalMs: number
  #timer: Timer | undefined
  #state: 'listening' | 'polling' | 'stopped' = 'stopped'

  constructor(options: SilenceGuardOptions) {
    this.#options = options
    this.#quietMs = options.silenceMs * QUIET_SHARE
    this.#pollMs = options.silenceMs - this.#quietMs
    this.#intervalMs = this.#quietMs
  }

  start(): void {
    this.#state = 'listening'
    this.#arm(this.#intervalMs, () => void this.#look())
  }

  /** Starts with a look at the lease: what happened before the watch may have been missed. */
  startWithPoll(): void {
    void this.#look()
  }

  /** Something arrived. */
  heard(): void {
    this.#intervalMs = this.#quietMs
    if (this.#state === 'listening') this.#arm(this.#intervalMs, () => void this.#look())
  }

  stop(): void {
    this.#state = 'stopped'
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    this.#state = 'polling'
    const seen = await this.#tryPoll()
    if (this.#isStopped()) return
    if (seen instanceof Error) this.#giveUp(seen)
    else if (seen === 'behind') this.#arm(this.#pollMs / 2, () => this.#decide())
    else this.#listenLonger()
  }

  async #tryPoll(): Promise<'in-step' | 'behind' | Error> {
    try {
      return await this.#options.poll(this.#pollMs)
    } catch (error) {
      return errorOf(error)
    }
  }

  /** An event that was under way while the poll was answered has arrived by now. */
  #decide(): void {
    if (this.#options.isBehind()) this.#giveUp('behind')
    else this.start()
  }

  #listenLonger(): void {
    this.#intervalMs = Math.min(this.#intervalMs * 2, Math.max(MAX_INTERVAL_MS, this.#quietMs))
    this.start()
  }

  #giveUp(cause: Error | 'behind'): void {
    this.stop()
    this.#options.lost(cause)
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #arm(delayMs: number, callback: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimer(delayMs, callback)
  }
}
