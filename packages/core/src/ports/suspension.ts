import { uptime } from 'node:os'

/** Where a {@link SuspensionMeter} reads the time, in milliseconds since any moments. */
export interface TimeSources {
  /** May stand still while the machine is suspended. */
  readonly monotonic: () => number
  /** Goes on while the machine is suspended, and nobody can set it. It may show less than the time, never more. Slow to read. */
  readonly boot: () => number
  /** Goes on while the machine is suspended, and can be set. Fast to read. */
  readonly wall: () => number
}

/** The boot clock is read at most this often, unless the wall clock says that something has happened. Its usual resolution. */
const REREAD_MS = 10

/** The wall clock has left the monotonic one behind, or was set, when the two differ by this much more or less than before. */
const WALL_SLACK_MS = 3

/** Calls that one millisecond of the wall clock may answer. Bounds the trust in a wall clock that stands still. */
const MAX_CALLS_PER_LOOK = 64

/** How often the machine is asked whether it was suspended, while somebody wants to know. */
export const SUSPENSION_CHECK_MS = 100

/** Growth beyond the resolution of a boot clock: the machine was suspended. */
const LEAST_SUSPENSION_MS = 50

/**
 * Knows for how long the machine was suspended.
 *
 * 1. Only the boot clock counts. The wall clock is a hint to read it: a step of the wall clock changes nothing.
 * 2. What it tells never shrinks, and is never more than the truth: it is short of it by the resolution of the boot clock at most.
 */
export class SuspensionMeter {
  readonly #sources: TimeSources
  #aheadMs = Number.NEGATIVE_INFINITY
  #readAt = Number.NEGATIVE_INFINITY
  #wallAheadMs = 0
  #wallAt = Number.NaN
  #callsLeft = 0

  constructor(sources: TimeSources) {
    this.#sources = sources
  }

  /** By how much the boot clock is ahead of the monotonic one: grows by every suspension, and by nothing else. */
  aheadMs(): number {
    const wallNow = this.#sources.wall()
    // No suspension fits into one millisecond of the wall clock.
    if (wallNow === this.#wallAt && this.#callsLeft-- > 0) return this.#aheadMs
    this.#look(wallNow)
    return this.#aheadMs
  }

  #look(wallNow: number): void {
    const now = this.#sources.monotonic()
    const drift = wallNow - now - this.#wallAheadMs
    if (now - this.#readAt >= REREAD_MS || drift > WALL_SLACK_MS || drift < -WALL_SLACK_MS) this.#read()
    this.#wallAt = wallNow
    this.#callsLeft = MAX_CALLS_PER_LOOK
  }

  /** Blocks the thread for 20 ms, in which a boot clock of the usual resolution goes on: from then on what the meter tells is exact. */
  settle(): void {
    const { monotonic } = this.#sources
    for (const until = monotonic() + 2 * REREAD_MS; monotonic() < until;) this.#read()
  }

  #read(): void {
    const { monotonic, boot, wall } = this.#sources
    const bootTime = boot()
    // After the boot clock: what passes in between makes the difference smaller, never greater.
    const now = monotonic()
    this.#aheadMs = Math.max(this.#aheadMs, bootTime - now)
    this.#wallAheadMs = wall() - now
    this.#readAt = now
  }
}

/** Calls listeners when the machine was suspended. Looks at the meter now and then, as long as there is a listener. */
export class SuspensionWatch {
  readonly #meter: SuspensionMeter
  readonly #listeners = new Set<() => void>()
  #interval: NodeJS.Timeout | undefined
  #seenMs = 0

  constructor(meter: SuspensionMeter) {
    this.#meter = meter
  }

  /** Calls `listener` after every suspension, at most {@link SUSPENSION_CHECK_MS} late, until the returned function is called. */
  add(listener: () => void): () => void {
    // An own function for every call: one listener may be added twice.
    const own = (): void => listener()
    this.#listeners.add(own)
    if (this.#interval === undefined) {
      this.#seenMs = this.#meter.aheadMs()
      this.#interval = setInterval(() => this.#look(), SUSPENSION_CHECK_MS).unref()
    }
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size > 0) return
      clearInterval(this.#interval)
      this.#interval = undefined
    }
  }

  #look(): void {
    const aheadMs = this.#meter.aheadMs()
    if (aheadMs - this.#seenMs < LEAST_SUSPENSION_MS) return
    this.#seenMs = aheadMs
    for (const listener of this.#listeners) listener()
  }
}

// Taken now: what a test puts in their place later stands for time, not for a suspended machine.
const { hrtime } = process
const wallTime = Date.now

/**
 * The suspensions of this machine; undefined where the monotonic clock of Node counts them, or nothing does.
 *
 * Linux alone has both a monotonic clock that stands still and a boot clock that Node can read. On macOS and Windows the monotonic
 * clock of Node goes on while the machine sleeps, and `os.uptime()` of macOS follows the wall clock.
 */
export const machineSuspension: SuspensionMeter | undefined = hasBootClock() ? systemMeter() : undefined

/** One timeline for all threads of the process. */
function systemMeter(): SuspensionMeter {
  return new SuspensionMeter({
    monotonic: () => Number(hrtime.bigint()) / 1e6,
    boot: bootTime,
    wall: () => wallTime(),
  })
}

function hasBootClock(): boolean {
  return (process.platform === 'linux' || process.platform === 'android') && bootTime() > 0
}

/** Less than any time where the system does not say it. */
function bootTime(): number {
  try {
    return uptime() * 1000
  } catch {
    return Number.NEGATIVE_INFINITY
  }
}
