import { Elector, type TermEffect } from '../../packages/core/src/election/elector.ts'
import type { MemoryLeaseStore } from '../../packages/core/src/lock/memory-lock.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import { HandClock, type HandTimer } from './hand-clock.ts'
import { HeldLock, type HeldRequest } from './held-lock.ts'
import type { ModelRecord, Name } from './model-state.ts'
import { SLACK_MS, timingWith } from './timing.ts'
import type { ResolvedTimingOptions } from '../../packages/core/src/election/timing-options.ts'

/** A write that was sent, and what is known of it outside of its sender. */
export interface SentWrite {
  readonly request: HeldRequest
  readonly base: number
  readonly rec: ModelRecord
  readonly inc: number
  /** When the time for which it entitles its sender to act is over, on the clock of the sender. */
  readonly until: number
  done: boolean
  /** What the store answered. */
  answer: LockSnapshot | undefined
}

/** How the replicas of a walk are configured. */
export interface Variant {
  readonly name: string
  readonly releaseOnExit: boolean
  readonly requestTimeoutMs: number
}

/** So small that a follower holds back for less than any step, and still waits for its timer. */
const LEAST_RANDOM = 1e-9

/** One process: the elector of production, with its clock, its lock and its tasks. */
export class CodeReplica {
  readonly name: Name
  readonly inc: number
  readonly timing: ResolvedTimingOptions
  readonly clock: HandClock
  readonly lock: HeldLock
  readonly elector: Elector
  readonly effects: TermEffect[] = []
  read: HeldRequest | undefined
  /** The last write that was sent. */
  write: SentWrite | undefined
  tasks = false
  view = 1
  epoch = 0
  death: Error | undefined

  constructor(
    { name, inc, clock, store }: { name: Name; inc: number; clock: HandClock; store: MemoryLeaseStore },
    variant: Variant,
    wrote: (request: HeldRequest) => void,
  ) {
    this.name = name
    this.inc = inc
    this.clock = clock
    this.timing = timingWith(variant.requestTimeoutMs)
    this.lock = new HeldLock(
      store.lock('lease'),
      () => clock.now(),
      (request) => (request.write === undefined ? (this.read = request) : wrote(request)),
    )
    this.elector = new Elector({
      lease: 'lease',
      lock: this.lock,
      config: {
        identity: identityOf(name, inc),
        timing: this.timing,
        releaseOnExit: variant.releaseOnExit,
        missingLease: 'wait',
        announceAfterMs: Infinity,
      },
      isReady: () => false,
      clock,
      random: () => LEAST_RANDOM,
      onEffect: (effect) => this.#carryOut(effect),
      onState: () => {},
      onDied: (error) => (this.death = error),
    })
  }

  /** Starts the process: it reads the lease. */
  start(snapshot: LockSnapshot, view: number): void {
    this.elector.start()
    this.view = view
    this.lock.observer?.changed(snapshot)
    this.lock.observer?.up()
  }

  /** When the timer of the elector is due; undefined if it has none. */
  get wakeAt(): number | undefined {
    return this.clock.nextAt(this.#isOwnTimer)
  }

  /** Whether the process may do something by itself now. */
  get isDue(): boolean {
    const at = this.wakeAt
    return at !== undefined && at <= this.clock.now() + SLACK_MS
  }

  /** Fires the timer of the elector. A timer may be too early, and a follower that wakes late sets another one first. */
  fire(): void {
    const { state } = this.elector
    for (let times = 0; times < 3 && this.isDue && this.elector.state === state; times++)
      this.clock.fire(this.#isOwnTimer)
  }

  /** Whether the elector says that it is long overdue. */
  get isOverdue(): boolean {
    try {
      this.elector.assertAlive()
      return false
    } catch {
      return true
    }
  }

  /** Fires the timer of this request. */
  timeOut(request: HeldRequest): void {
    this.clock.fire((timer) => !this.#isOwnTimer(timer) && timer.at === request.sentAt + timer.delayMs)
  }

  readonly #isOwnTimer = ({ delayMs }: HandTimer): boolean => delayMs !== this.timing.requestTimeoutMs

  #carryOut(effect: TermEffect): void {
    this.effects.push(effect)
    if (effect.kind !== 'begin-term') return
    if (this.tasks) throw new Error(`${this.name} begins a term while tasks of the last one run`)
    this.tasks = true
    this.epoch = Number(effect.epoch)
  }
}

/** The identity of a process. */
function identityOf(name: Name, inc: number): string {
  return `${name}.${inc}`
}
