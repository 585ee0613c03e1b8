import { type Clock, Controller, type Term } from '@tenure/core'
import { onAbort } from '@tenure/core/internal'

/** What puts the leader into the slice, and takes it out. */
export interface LeaderPlace {
  /** Puts this replica into the slice. Resolves when it is ready for clients and in the slice, or the signal aborts. */
  enter(signal: AbortSignal): Promise<void>
  /** Shows that the term ends. */
  drain(): void
  /** Takes this replica out of the slice. Resolves when it is out, or the signal aborts. */
  leave(signal: AbortSignal): Promise<void>
  /** Resolves when no other controller of the term runs any more, or the signal aborts. */
  othersDone(signal: AbortSignal): Promise<void>
}

/** A drain that is quicker than this goes without the write that shows it. */
const QUICK_DRAIN_MS = 20

/**
 * Keeps the address of the leader in the slice for as long as it leads: a task of the term, so that the lease is released after it.
 */
export class LeaderEndpoint extends Controller {
  readonly name: string
  readonly #place: LeaderPlace
  readonly #clock: Clock

  constructor(name: string, place: LeaderPlace, clock: Clock) {
    super()
    this.name = name
    this.#place = place
    this.#clock = clock
  }

  async run(term: Term): Promise<void> {
    const { hardSignal, signal } = term
    await this.#place.enter(signal)
    await aborted(signal)
    const slow = this.#clock.setTimer(QUICK_DRAIN_MS, () => this.#place.drain())
    await this.#place.othersDone(hardSignal)
    slow.cancel()
    await this.#place.leave(hardSignal)
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  onAbort(signal, resolve)
  await promise
}
