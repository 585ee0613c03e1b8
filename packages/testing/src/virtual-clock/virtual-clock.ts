import { assertKnownKeys } from '@tenure/core/internal'
import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import { settleMicrotasks } from './settle-microtasks.ts'
import { Timeline } from './timeline.ts'

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** What `now()` shows at first, in milliseconds. @default 0 */
  readonly now?: number
  /** What `wallTime()` shows at first, in milliseconds since the Unix epoch. @default 2026-01-01T00:00:00Z */
  readonly wallTime?: number
  /** Milliseconds that the clock counts in one true millisecond: 1.05 is a clock that is five per cent fast. @default 1 */
  readonly rate?: number
}

/** How late the system clock may notice a suspension. */
const SUSPENSION_CHECK_MS = 100

const OPTION_NAMES = ['now', 'wallTime', 'rate'] as const satisfies (keyof VirtualClockOptions)[]

/**
 * A clock whose time passes only when a test says so.
 *
 * 1. Timers fire in the order in which they are due, equal ones in the order in which they were set.
 * 2. After each timer, every promise continuation that can run does run before the next timer fires.
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

  /** Lets `ms` of true time pass at once: no timer fires until the next `advance()`, as when the event loop is blocked. */
  stall(ms: number): void {
    this.#timeline.stall(ms)
  }

  /**
   * Lets `ms` of true time pass in which the machine is suspended: `now()` and the wall clock go on, timers do not, and what watches
   * for suspensions hears of it 100 ms later, as on Linux.
   */
  suspend(ms: number): void {
    this.#timeline.standStill(this, ms)
    this.setTimer(SUSPENSION_CHECK_MS, () => {
      for (const listener of this.#suspensionListeners) listener()
    })
  }

  /** Lets every promise continuation run that can run; no time passes and no timer fires. */
  runAllMicrotasks(): Promise<void> {
    return settleMicrotasks()
  }

  /** Moves the wall clock by `ms`, forwards or backwards, as an administrator or a time server does. `now()` does not move. */
  stepWallTime(ms: number): void {
    this.#wallTimeAtStart += ms
  }

  /** Another clock in the same true time, with its own rate and its own idea of what time it is. */
  createPeer(options: VirtualClockOptions = {}): VirtualClock {
    const peer = new VirtualClock(options)
    peer.#timeline = this.#timeline
    peer.#startedAt = this.#timeline.now
    return peer
  }

  get #elapsedMs(): number {
    return (this.#timeline.now - this.#startedAt) * this.#rate
  }

  /** The first true time at which `now()` shows `time`, or a hair later where numbers are too coarse: never earlier. */
  #trueTimeOf(time: number): number {
    const elapsedMs = time - this.#nowAtStart
    let trueTime = this.#startedAt + elapsedMs / this.#rate
    while (this.#nowAtStart + (trueTime - this.#startedAt) * this.#rate < time) {
      trueTime += Number.EPSILON * Math.max(1, Math.abs(trueTime))
    }
    return trueTime
  }
}
