import { assertKnownKeys } from '@tenure/core/internal'
import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import { settleMicrotasks } from './settle-microtasks.ts'
import { Timeline } from './timeline.ts'

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** The initial value of `now()`, in milliseconds. @default 0 */
  readonly now?: number
  /** The initial value of `wallTime()`, in milliseconds since the Unix epoch. @default 2026-01-01T00:00:00Z */
  readonly wallTime?: number
  /** The speed of the clock relative to true time. 1.05 is five per cent fast. @default 1 */
  readonly rate?: number
}

/** The delay after which the system clock detects a suspension, at most. */
const SUSPENSION_CHECK_MS = 100

const OPTION_NAMES = ['now', 'wallTime', 'rate'] as const satisfies (keyof VirtualClockOptions)[]

/**
 * A clock that moves only when a test advances it.
 *
 * 1. Timers fire in the order of their due times. Timers with equal due times fire in the order in which they were set.
 * 2. All pending promise continuations run after each timer and before the next one.
 * 3. No real time is involved: two runs of the same test do the same things in the same order.
 */
export class VirtualClock implements Clock {
  readonly #rate: number
  readonly #nowAtStart: number
  readonly #suspensionListeners = new Set<() => void>()
  #timeline = new Timeline()
  #startedAt = 0
  #wallTimeAtStart: number

  constructor(options: VirtualClockOptions = {}) {
    assertKnownKeys('the options of a VirtualClock', options, OPTION_NAMES)
    const { now = 0, wallTime = Date.UTC(2026, 0, 1), rate = 1 } = options
    if (!Number.isFinite(rate) || rate <= 0) throw new RangeError(`Expected \`rate\` to be above 0, got \`${rate}\``)
    this.#rate = rate
    this.#nowAtStart = now
    this.#wallTimeAtStart = wallTime
  }

  now(): number {
    return this.#nowAtStart + this.#elapsedMs
  }

  wallTime(): number {
    return this.#wallTimeAtStart + this.#elapsedMs
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#timeline.schedule(this, this.#trueTimeOf(this.now() + delayMs), callback)
  }

  watchSuspension(listener: () => void): () => void {
    const own = (): void => listener()
    this.#suspensionListeners.add(own)
    return () => void this.#suspensionListeners.delete(own)
  }

  /** How many timers of this clock wait to fire. */
  get pendingTimers(): number {
    return this.#timeline.countOf(this)
  }

  /** Lets `ms` of true time pass, timer by timer, on this clock and on all of its peers. */
  advance(ms: number): Promise<void> {
    return this.#timeline.advance(ms)
  }

  /** Lets `ms` of true time pass in one step, like a blocked event loop. No timer fires until the next `advance()`. */
  stall(ms: number): void {
    this.#timeline.stall(ms)
  }

  /**
   * Suspends the machine for `ms` of true time. `now()` and the wall clock continue, timers do not. Listeners of
   * `watchSuspension()` are called 100 ms later, as on Linux.
   */
  suspend(ms: number): void {
    this.#timeline.standStill(this, ms)
    this.setTimer(SUSPENSION_CHECK_MS, () => {
      for (const listener of this.#suspensionListeners) listener()
    })
  }

  /** Runs all pending promise continuations. No time passes and no timer fires. */
  runAllMicrotasks(): Promise<void> {
    return settleMicrotasks()
  }

  /** Moves the wall clock by `ms`, forwards or backwards, as an administrator or a time server does. `now()` does not move. */
  stepWallTime(ms: number): void {
    this.#wallTimeAtStart += ms
  }

  /** Creates another clock that shares the true time and has its own rate and its own readings. */
  createPeer(options: VirtualClockOptions = {}): VirtualClock {
    const peer = new VirtualClock(options)
    peer.#timeline = this.#timeline
    peer.#startedAt = this.#timeline.now
    return peer
  }

  get #elapsedMs(): number {
    return (this.#timeline.now - this.#startedAt) * this.#rate
  }

  /** The first true time at which `now()` returns at least `time`. Rounding errors make it later, never earlier. */
  #trueTimeOf(time: number): number {
    const elapsedMs = time - this.#nowAtStart
    let trueTime = this.#startedAt + elapsedMs / this.#rate
    while (this.#nowAtStart + (trueTime - this.#startedAt) * this.#rate < time) {
      trueTime += Number.EPSILON * Math.max(1, Math.abs(trueTime))
    }
    return trueTime
  }
}
