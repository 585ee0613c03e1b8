import type { Timer } from '@tenure/core/internal'
import { settleMicrotasks } from './settle-microtasks.ts'

interface PendingCall {
  dueAt: number
  readonly order: number
  readonly owner: object
  readonly callback: () => void
}

/** Detects a timer that sets itself again for the same moment, which would stop time. */
const MAX_CALLS_AT_ONE_MOMENT = 10_000

/** The true time that several clocks share, in milliseconds, with the pending calls. */
export class Timeline {
  #now = 0
  #order = 0
  readonly #pending = new Set<PendingCall>()

  /** Milliseconds of true time since the timeline began. */
  get now(): number {
    return this.#now
  }

  /** The number of pending calls of `owner`. */
  countOf(owner: object): number {
    return [...this.#pending].filter((call) => call.owner === owner).length
  }

  /** Calls `callback` when true time reaches `dueAt`, or at the next advance if that time has passed. */
  schedule(owner: object, dueAt: number, callback: () => void): Timer {
    const call: PendingCall = { dueAt: Math.max(dueAt, this.#now), order: this.#order++, owner, callback }
    this.#pending.add(call)
    return { cancel: () => this.#pending.delete(call) }
  }

  /** Lets `ms` pass: makes the calls in the order in which they are due, and lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms
    let callsNow = 0
    await settleMicrotasks()
    for (let call = this.#nextUntil(target); call !== undefined; call = this.#nextUntil(target)) {
      callsNow = call.dueAt > this.#now ? 0 : callsNow + 1
      if (callsNow > MAX_CALLS_AT_ONE_MOMENT) throw new Error(`Timers keep firing at ${this.#now} ms; time cannot pass`)
      this.#now = Math.max(this.#now, call.dueAt)
      this.#pending.delete(call)
      call.callback()
      await settleMicrotasks()
    }
    this.#now = target
  }

  /** Lets `ms` pass in one step, like a blocked event loop. No call is made until the next advance. */
  stall(ms: number): void {
    this.#now += ms
  }

  /** Lets `ms` pass in one step and delays the calls of `owner` by `ms`. */
  standStill(owner: object, ms: number): void {
    for (const call of this.#pending) if (call.owner === owner) call.dueAt += ms
    this.#now += ms
  }

  #nextUntil(target: number): PendingCall | undefined {
    let next: PendingCall | undefined
    for (const call of this.#pending) {
      if (call.dueAt > target) continue
      if (next === undefined || call.dueAt < next.dueAt || (call.dueAt === next.dueAt && call.order < next.order)) {
        next = call
      }
    }
    return next
  }
}
