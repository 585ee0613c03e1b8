import type { Random, ResolvedTimingOptions } from '@tenure/core/internal'
import type { VirtualClock } from '@tenure/testing/virtual-clock'
import type { Leadership } from '../../../packages/core/src/term/leadership.ts'
import { latencyMs } from './network-lock.ts'
import type { ReplicaProcess } from './replica-process.ts'

/** How long the task takes to finish its present item when its term ends. */
const ITEM_MS = 2000

/** The share of the grace that the task takes to react to the hard abort. */
const ABORT_SHARE = 0.8

/** How often it looks again whether it may act. */
const CHECK_MS = 100

export interface WorkOptions {
  readonly process: ReplicaProcess
  readonly world: VirtualClock
  readonly random: Random
  readonly leadership: Leadership
  readonly timing: ResolvedTimingOptions
  /** The task writes to the database of the application. */
  readonly onAct: () => void
  /** The task has ended. */
  readonly onEmpty: () => void
}

/**
 * The task of a term: it writes to a database again and again, if its term is held. The database is elsewhere: a replica that is cut off
 * from the lease can still write to it. That is why the term has to end in time.
 */
export class Work {
  readonly #options: WorkOptions
  #isOver = false
  #finish: { readonly at: number; cancel(): void } | undefined

  constructor(options: WorkOptions) {
    this.#options = options
  }

  start(): void {
    const { leadership, process, onAct, random, world } = this.#options
    if (this.#isOver) return
    if (!leadership.isHeld()) {
      process.setTimer(CHECK_MS, () => this.start())
      return
    }
    onAct()
    const answeredIn = 2 * latencyMs(random)
    world.setTimer(answeredIn, () => process.receive(() => this.start()))
  }

  /** The term ends: the task finishes what it does. */
  end(): void {
    this.#finishIn(ITEM_MS)
  }

  /** The hard abort: the task drops what it does, which takes a while, too. */
  hardAbort(): void {
    this.#finishIn(this.#options.timing.abortGraceMs * ABORT_SHARE)
  }

  #finishIn(ms: number): void {
    const { process, onEmpty } = this.#options
    const at = process.now() + ms
    if (this.#isOver || (this.#finish !== undefined && this.#finish.at <= at)) return
    this.#finish?.cancel()
    const timer = process.setTimer(ms, () => {
      this.#isOver = true
      onEmpty()
    })
    this.#finish = { at, cancel: () => timer.cancel() }
  }
}
