import type { Timer } from '@tenure/core/internal'
import { settleMicrotasks } from './settle-microtasks.ts'

interface PendingCall {
  dueAt: number
  readonly order: number
  readonly owner: object
  readonly callback: () => void
}

/** A timer that sets itself again for the same moment would otherwise never let time pass. */
const MAX_CALLS_AT_ONE_MOMENT = 10_000

/** The true time that several clocks share, in milliseconds, with the calls that wait for it. */
export class Timeline {
  #now = 0
  #order = 0
  readonly #pending = new Set<PendingCall>()

  /** Milliseconds of true time since the timeline began. */
  get now(): number {
    return this.#now
  }

  /** How many calls of `owner` wait. */
  countOf(owner: object): number {
    return [...this.#pending].filter((call) => call.owner === owner).length
  }

  /** Calls `callback` when true time reaches `dueAt`, or at the next advance when that has passed. */
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

  /** Lets `ms` pass at once: nothing is called until the next advance, as when the event loop is blocked. */
  stall(ms: number): void {
    this.#now += ms
  }

  /** Lets `ms` pass at once, in which the calls of `owner` come no nearer. */
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
