import type { LeaseHolder, Lock, LockSnapshot, LockWatch, PresentLease } from '../lock/lock.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import type { Bequest } from './rules/bequest.ts'
import type { InvoluntaryEndReason } from './leadership-ended-error.ts'
import type { ElectorConfig } from './machine/config.ts'
import type { ElectorEffect, LeaseWrite } from './machine/effect.ts'
import type { ElectorEvent, StepDown } from './machine/event.ts'
import { standingIn } from './candidate-standing.ts'
import { failureOf, invoke, timeoutError } from './request-failure.ts'
import { watchedHolder } from './phases/following.ts'
import type { ElectorState } from './machine/state.ts'
import { traceChannel, type TracedElector, type TraceStep } from './trace/trace-channel.ts'
import { INITIAL_STATE, nextWakeAt, transition } from './machine/transition.ts'

/** A timer that fires later than this shows a busy event loop. */
const LATE_MS = 10

/** Effects on the term. The driver passes them on; it carries out only effects on the lease. */
export type TermEffect = Exclude<ElectorEffect, { readonly kind: 'read' | 'write' }>

/** Options of an {@link Elector}. */
export interface ElectorOptions {
  /** The name of the lease, for messages. */
  readonly lease: string
  readonly lock: Lock
  readonly config: ElectorConfig
  /** Whether the readiness checks of this replica pass, as far as is known. Asked at every event. */
  readonly isReady?: () => boolean
  /** What this replica says of itself where replicas follow a strategy. Asked at every event. */
  readonly facts?: () => Pick<ElectorConfig, 'attributes' | 'isCold'>
  readonly clock: Clock
  readonly random: Random
  /** Called for every effect on the term, in order. Never re-entrant. */
  readonly onEffect: (effect: TermEffect) => void
  /** Called after every event, when its effects were carried out. */
  readonly onState: (state: ElectorState) => void
  /** Called when the driver itself has failed and has stopped. At most once. */
  readonly onDied: (error: Error) => void
}

/**
 * Drives the elector machine: feeds it events with the time at which they are handled, and carries out its effects on a lock.
 *
 * Owns the watches of the lease and of its holder, the requests in flight and one timer. Knows no controllers.
 * 1. Events are handled one at a time, in order of arrival.
 * 2. An answer that arrives after the request timeout counts as an unknown outcome. The clock decides, not a timer.
 * 3. A follower that wakes late first handles the events that arrived meanwhile: another replica may have been faster.
 * 4. After the machine has stopped, no watch, request or timer is left.
 */
export class Elector {
  readonly #options: ElectorOptions
  readonly #traced: TracedElector
  readonly #queue: ElectorEvent[] = []
  readonly #requests = new Set<AbortController>()
  #state: ElectorState = INITIAL_STATE
  #handling = false
  #death: Error | undefined
  /** Of the lease, of who decides, and of the departure. */
  #watches: readonly (LockWatch | undefined)[] = []
  #timer: Timer | undefined
  #timerAt = 0
  #wakeAt: number | undefined
  #closed: Promise<unknown> | undefined
  #holderWatch: HolderWatch | undefined
  #forgetSuspension: (() => void) | undefined
  readonly #closing = new Set<Promise<void>>()

  constructor(options: ElectorOptions) {
    this.#options = options
    this.#traced = { lock: options.lock.description, clock: options.clock }
  }

  /** The state of the machine. */
  get state(): ElectorState {
    return this.#state
  }

  /** Starts to compete for the lease. */
  start(): void {
    this.#forgetSuspension = this.#options.clock.watchSuspension?.(() => this.#resetTimer())
    this.#handle({ kind: 'start' })
    if (this.#state.kind === 'stopped') return
    const { lock } = this.#options
    const watch = lock.watch({
      changed: (snapshot) => this.#handle({ kind: 'observed', snapshot }),
      up: () => this.#handle({ kind: 'watch-up' }),
      down: () => this.#handle({ kind: 'watch-down' }),
    })
    const hints = [lock.coordinator, lock.departure].map((hint) => hint?.watch(() => this.#handle({ kind: 'wake' })))
    this.#watches = [watch, ...hints]
  }

  /** Stops in order. The effect `stopped` reports the end. */
  stop(): void {
    this.#handle({ kind: 'stop' })
  }

  /** Ends the present term voluntarily. Does nothing without a term, or if it is already ending. */
  stepDown(order: StepDown): void {
    this.#handle({ kind: 'step-down', ...order })
  }

  /** Ends the present term involuntarily, for a reason that the lease does not show. */
  lose(reason: InvoluntaryEndReason): void {
    this.#handle({ kind: 'lost', reason })
  }

  /** Reports that only cleanups are left of the ending term, or that further cleanups begin. */
  cleaning(): void {
    this.#handle({ kind: 'cleaning' })
  }

  /** Reports that the cleanups of a controller missed their timeout. */
  cleanupOverdue(): void {
    this.#handle({ kind: 'cleanup-overdue' })
  }

  /** Reports that the ending term is empty, and what it leaves. */
  drained(bequest?: Bequest): void {
    this.#handle({ kind: 'drained', bequest })
  }

  /** Reports that the facts of this replica have changed. */
  factsChanged(): void {
    this.#handle({ kind: 'wake' })
  }

  /** Why the driver itself failed; undefined while it works. */
  get death(): Error | undefined {
    return this.#death
  }

  /** @throws an error when the driver has failed, or is long overdue. */
  assertAlive(): void {
    if (this.#death !== undefined) throw this.#death
    const { clock, config } = this.#options
    const overdueMs = clock.now() - (this.#wakeAt ?? Number.POSITIVE_INFINITY)
    if (overdueMs > config.timing.retryPeriodMs) throw new Error(`the elector is ${Math.round(overdueMs)} ms overdue`)
  }

  /** Resolves when the watches of a stopped elector are closed. */
  async closed(): Promise<void> {
    await this.#closed
  }

  #handle(event: ElectorEvent): void {
    if (this.#death !== undefined) return
    if (this.#handling) return void this.#queue.push(event)
    this.#handling = true
    try {
      this.#noticeStall()
      this.#queue.push(event)
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#step(next)
    } catch (cause) {
      this.#death = new Error(`The elector of \`${this.#options.lease}\` died`, { cause })
      this.#state = { kind: 'stopped', memory: this.#state.memory }
      this.#tearDown()
      this.#options.onDied(this.#death)
    } finally {
      this.#handling = false
    }
  }

  /**
   * After a pause the event loop handles received events before overdue timers. The elector checks the time first, so that it does
   * nothing in a term that should have ended in between.
   */
  #noticeStall(): void {
    const state = this.#state
    if (state.kind !== 'leading' && state.kind !== 'draining') return
    const { clock, config } = this.#options
    const now = clock.now()
    const overdueMs = now - (this.#wakeAt ?? Number.POSITIVE_INFINITY)
    if (overdueMs <= config.timing.retryPeriodMs) return
    if (now >= state.hold.deadlineAt) this.#queue.push({ kind: 'lost', reason: 'stalled' })
  }

  #step(event: ElectorEvent): void {
    const { clock, random, onState } = this.#options
    const at = { now: clock.now(), wallTime: clock.wallTime(), random: random() }
    const config = this.#config()
    const { state, effects } = transition(this.#state, event, { at, config })
    this.#state = state
    if (traceChannel.hasSubscribers)
      traceChannel.publish({ elector: this.#traced, config, at, event, effects, state } satisfies TraceStep)
    for (const effect of effects) this.#carryOut(effect)
    this.#watchHolder(watchedHolder(state, this.#options.config))
    this.#stand()
    if (state.kind === 'stopped') this.#tearDown()
    this.#setTimer()
    onState(state)
  }

  #stand(): void {
    const { coordinator } = this.#options.lock
    if (coordinator === undefined) return
    const standing = standingIn(this.#state, this.#config())
    if (standing !== 'unchanged') coordinator.stand(standing.from)
  }

  /** The config with what is known now: the `processRef`, which the lock may learn late, readiness, facts, coordination and departure. */
  #config(): ElectorConfig {
    const { config, lock, isReady, facts } = this.#options
    const now = config.strategy === undefined ? undefined : facts?.()
    const { state: coordination, preferred } = lock.coordinator ?? {}
    const isUnready = isReady?.() === false
    const departure = lock.departure?.state
    return { ...config, ...now, processRef: lock.processRef, isUnready, departure, coordination, preferred }
  }

  /** Watches the process of the holder while this replica follows it, and no process otherwise. */
  #watchHolder(holder: LeaseHolder | undefined): void {
    const { lock, onEffect } = this.#options
    if (lock.watchHolder === undefined || isSameHolder(holder, this.#holderWatch?.holder)) return
    this.#closeHolderWatch()
    if (holder === undefined) return
    try {
      const watch = lock.watchHolder(holder, { dead: () => this.#handle({ kind: 'holder-dead', holder }) })
      this.#holderWatch = { holder, watch }
    } catch (cause) {
      this.#holderWatch = { holder, watch: undefined }
      onEffect({ kind: 'request-failed', purpose: 'read', error: failureOf(cause).error })
    }
  }

  #closeHolderWatch(): void {
    const watch = this.#holderWatch?.watch
    this.#holderWatch = undefined
    if (watch === undefined) return
    const closing: Promise<void> = watch.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #carryOut(effect: ElectorEffect): void {
    switch (effect.kind) {
      case 'read':
        this.#read(effect.request)
        break
      case 'write':
        this.#write(effect.request, effect.write)
        break
      default:
        this.#options.onEffect(effect)
    }
  }

  #read(request: number): void {
    this.#request((signal) => this.#options.lock.get({ signal })).then(
      (snapshot: LockSnapshot) => this.#handle({ kind: 'read-answer', request, result: { kind: 'read', snapshot } }),
      (cause: unknown) => this.#handle({ kind: 'read-answer', request, result: failureOf(cause) }),
    )
  }

  #write(request: number, { base, record }: LeaseWrite): void {
    const { lock } = this.#options
    const send = (signal: AbortSignal) =>
      base === undefined ? lock.create(record, { signal }) : lock.update(base, record, { signal })
    this.#request(send).then(
      (lease: PresentLease) => this.#handle({ kind: 'write-answer', request, result: { kind: 'written', lease } }),
      (cause: unknown) => this.#handle({ kind: 'write-answer', request, result: failureOf(cause) }),
    )
  }

  /** Sends a request and aborts it at the request timeout. */
  #request<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, config } = this.#options
    const { requestTimeoutMs } = config.timing
    const controller = new AbortController()
    const sentAt = clock.now()
    this.#requests.add(controller)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = clock.setTimer(requestTimeoutMs, () => {
      reject(timeoutError(requestTimeoutMs))
      controller.abort(timeoutError(requestTimeoutMs))
    })
    const answered = (settle: () => void) => {
      timer.cancel()
      this.#requests.delete(controller)
      settle()
    }
    invoke(send, controller.signal).then(
      (value) =>
        answered(() =>
          clock.now() - sentAt > requestTimeoutMs ? reject(timeoutError(requestTimeoutMs)) : resolve(value),
        ),
      (cause: unknown) => answered(() => reject(cause)),
    )
    return promise
  }

  /** Makes sure of a timer at the next wake. A timer that is set for an earlier time stays: that is cheaper than one for every event. */
  #setTimer(): void {
    const wakeAt = nextWakeAt(this.#state, this.#config())
    this.#wakeAt = wakeAt
    if (this.#timer !== undefined && wakeAt !== undefined && this.#timerAt <= wakeAt) return
    this.#timer?.cancel()
    this.#timer = undefined
    if (wakeAt !== undefined) this.#startTimer(wakeAt)
  }

  #startTimer(at: number): void {
    const { clock } = this.#options
    this.#timerAt = at
    this.#timer = clock.setTimer(at - clock.now(), () => this.#fired())
  }

  #fired(): void {
    const { clock } = this.#options
    const lateMs = clock.now() - (this.#wakeAt ?? Number.POSITIVE_INFINITY)
    if (lateMs < 0) {
      this.#timer = undefined
      this.#setTimer()
    } else if (this.#state.kind === 'following' && lateMs > LATE_MS) {
      this.#timer = clock.setTimer(0, () => this.#wake())
    } else this.#wake()
  }

  /** Sets the timer again: timers pause while the machine is suspended. */
  #resetTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#setTimer()
  }

  #wake(): void {
    this.#timer = undefined
    this.#handle({ kind: 'wake' })
  }

  #tearDown(): void {
    this.#forgetSuspension?.()
    this.#timer?.cancel()
    this.#timer = undefined
    this.#wakeAt = undefined
    for (const controller of this.#requests) controller.abort(new Error('The elector has stopped'))
    this.#closeHolderWatch()
    this.#closed ??= Promise.all([...this.#watches.map((watch) => watch?.close()), ...this.#closing])
  }
}

interface HolderWatch {
  readonly holder: LeaseHolder
  /** Undefined when it could not be opened. */
  readonly watch: LockWatch | undefined
}

function isSameHolder(a: LeaseHolder | undefined, b: LeaseHolder | undefined): boolean {
  return a?.identity === b?.identity && a?.acquireTime === b?.acquireTime && a?.processRef === b?.processRef
}
