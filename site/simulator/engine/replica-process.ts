import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import type { VirtualClock } from '@tenure/testing/virtual-clock'

/** How a call reaches a process. */
type Source = 'network' | 'timer'

/**
 * One start of a replica, and its clock. Every call into the replica goes through it.
 *
 * 1. No call runs in a process that was killed.
 * 2. A call that is due while the process is paused runs afterwards. As in Node, received messages come before overdue timers.
 */
export class ReplicaProcess implements Clock {
  readonly #clock: VirtualClock
  readonly #missed: Readonly<Record<Source, (() => void)[]>> = { network: [], timer: [] }
  #isAlive = true
  #isPaused = false

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  now(): number {
    return this.#clock.now()
  }

  wallTime(): number {
    return this.#clock.wallTime()
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    let isCancelled = false
    const timer = this.#clock.setTimer(delayMs, () =>
      this.#call('timer', () => {
        if (!isCancelled) callback()
      }),
    )
    const cancel = (): void => {
      isCancelled = true
      timer.cancel()
    }
    return { cancel }
  }

  /** Delivers a message. */
  receive(callback: () => void): void {
    this.#call('network', callback)
  }

  /** Stops the process as SIGSTOP does: its clock goes on. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const source of ['network', 'timer'] as const)
      for (const callback of this.#missed[source].splice(0)) this.#clock.setTimer(0, () => this.#call(source, callback))
  }

  kill(): void {
    this.#isAlive = false
  }

  /** Moves the wall clock. */
  stepWallTime(ms: number): void {
    this.#clock.stepWallTime(ms)
  }

  #call(source: Source, callback: () => void): void {
    if (!this.#isAlive) return
    if (this.#isPaused) this.#missed[source].push(callback)
    else callback()
  }
}
