import { type Clock } from '@tenure/core'
import { type Timer, errorOf } from '@tenure/core/internal'

/** The maximum time between two polls of a lease that does not change. */
const MAX_INTERVAL_MS = 30_000

/** The share of `silenceMs` that passes before a poll. The poll may take the rest. */
const QUIET_SHARE = 5 / 8

/** What a {@link SilenceGuard} needs. */
export interface SilenceGuardOptions {
  readonly clock: Clock
  /** The time within which a dead watch of a renewed lease must be detected, in milliseconds. */
  readonly silenceMs: number
  /** Reads the lease over another connection within the given time. Resolves with whether the watch has missed a change. */
  readonly poll: (timeoutMs: number) => Promise<'in-step' | 'behind'>
  /** Whether the watch still lacks a change that the last poll saw. */
  readonly isBehind: () => boolean
  /** The watch is dead. Called at most once. */
  readonly lost: (cause: Error | 'behind') => void
}

/**
 * Distinguishes a quiet watch from a dead one.
 *
 * A lease with a live holder changes every few seconds. After some silence the guard reads the lease over another connection. If that
 * fails, or shows a change that the watch does not report in a moment, the watch is dead. Otherwise the lease is idle, and the guard
 * waits longer before the next poll.
 */
export class SilenceGuard {
  readonly #options: SilenceGuardOptions
  readonly #quietMs: number
  readonly #pollMs: number
  #intervalMs: number
  #timer: Timer | undefined
  #timerAt = 0
  #dueAt = 0
  #state: 'listening' | 'polling' | 'stopped' = 'stopped'

  constructor(options: SilenceGuardOptions) {
    this.#options = options
    this.#quietMs = options.silenceMs * QUIET_SHARE
    this.#pollMs = options.silenceMs - this.#quietMs
    this.#intervalMs = this.#quietMs
  }

  start(): void {
    this.#state = 'listening'
    this.#timer?.cancel()
    this.#timer = undefined
    this.#listenUntil(this.#options.clock.now() + this.#intervalMs)
  }

  /** Starts with a poll: the watch may have missed earlier changes. */
  startWithPoll(): void {
    void this.#look()
  }

  /** Data arrived on the watch. */
  heard(): void {
    this.#intervalMs = this.#quietMs
    if (this.#state === 'listening') this.#listenUntil(this.#options.clock.now() + this.#intervalMs)
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

  /** An event that was in flight during the poll has arrived by now. */
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

  /** A timer that is set for an earlier time stays: that is cheaper than one for everything that is heard. */
  #listenUntil(dueAt: number): void {
    this.#dueAt = dueAt
    if (this.#timer !== undefined && this.#timerAt <= dueAt) return
    this.#timerAt = dueAt
    this.#arm(dueAt - this.#options.clock.now(), () => this.#fired())
  }

  #fired(): void {
    this.#timer = undefined
    if (this.#options.clock.now() < this.#dueAt) this.#listenUntil(this.#dueAt)
    else void this.#look()
  }

  #arm(delayMs: number, callback: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimer(delayMs, callback)
  }
}
