import type { Clock } from '@tenure/core'
import type { Random, Timer } from '@tenure/core/internal'
import { type Actor, actors } from '../actors.ts'
import type { ProcessLife } from '../process-life.ts'
import type { Run } from '../run.ts'

/** An open watch of a process, as the faults use it. */
export interface ProcessWatch {
  /** Disconnects. The process notices within `noticeMs`. */
  break(cause: Error, noticeMs: number): void
  /** Reports nothing for a while, then disconnects. */
  goDeaf(ms: number): void
  /** Reports late until `ms` from now. */
  delay(ms: number): void
  /** Ends every fault. */
  heal(): void
}

/** A suspension of a process, on its own clock. */
interface Suspension {
  readonly from: number
  readonly to: number
}

/** Why a process is suspended: it is paused, its event loop is blocked, or its machine is suspended. Only the last also stops its timers. */
type StandstillKind = 'pause' | 'stall' | 'machine'

/** A call that was due while the process was suspended. */
interface Missed {
  readonly source: 'timer' | 'network'
  readonly happen: () => void
}

interface PendingTimer {
  /** On the clock of the process. */
  dueAt: number
  readonly jitterMs: number
  readonly fire: () => void
  timer: Timer | undefined
}

/** Which replica a process belongs to. */
interface ProcessOptions {
  readonly replica: number
  readonly identity: string
  /** How good a candidate it is. */
  readonly grade: number | undefined
}

/**
 * One start of one replica: its clock, suspensions and end. Every call into it goes through `post`.
 *
 * 1. No call runs in a process that has ended.
 * 2. A call that is due during a suspension runs after the suspension.
 * 3. Timers are as accurate as in Node: up to a millisecond early, and a little late.
 */
export class SimulatedProcess implements Clock, ProcessLife {
  readonly replica: number
  readonly identity: string
  readonly actor: Actor
  /** The open watches of the process. */
  readonly watches: Set<ProcessWatch> = new Set()
  readonly grade: number | undefined
  isAlive = true
  isStopping = false
  /** Until this time the process can neither send nor receive. */
  cutOffUntil = 0
  /** The nonces of its answers to offers, with the time when each was first sent. */
  readonly answers: Map<string, number> = new Map()
  readonly #run: Run
  readonly #missed: Missed[] = []
  readonly #timers = new Set<PendingTimer>()
  #rate: number
  #baseTrue: number
  #baseLocal: number
  #wallOffset: number
  #suspendedFrom: number | undefined
  #suspendedUntil = 0
  #standstill: StandstillKind = 'pause'
  readonly #suspensionListeners = new Set<() => void>()
  #excusedUntil = -1
  /** Until when, on its own clock, writes that took effect entitle it to act. */
  #entitledUntil = 0
  /** When it will end its term, by its own account. Earlier than `#entitledUntil` if it does not know of a write or does not count it. */
  #leadsUntil = 0

  constructor(run: Run, { replica, identity, grade }: ProcessOptions) {
    this.grade = grade
    this.#run = run
    this.replica = replica
    this.identity = identity
    this.actor = { term: undefined }
    const { random } = run
    this.#rate = randomRate(random, run.timing.clockRateTolerance)
    this.#baseTrue = run.now
    this.#baseLocal = random() * 1e6
    this.#wallOffset = Date.UTC(2026, 0, 1) + (random() - 0.5) * 60_000 - this.#baseLocal + run.now
  }

  now(): number {
    return this.#localAt(this.#run.now)
  }

  /** True time, which no process can read. */
  get trueTime(): number {
    return this.#run.now
  }

  wallTime(): number {
    return this.now() + this.#wallOffset
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const { random } = this.#run
    const jitterMs = random() < 0.05 ? -random() : random() * 0.5
    const pending: PendingTimer = {
      dueAt: this.now() + Math.max(0, delayMs),
      jitterMs,
      fire: () => {
        this.#timers.delete(pending)
        callback()
      },
      timer: undefined,
    }
    this.#timers.add(pending)
    this.#schedule(pending)
    return {
      cancel: () => {
        this.#timers.delete(pending)
        pending.timer?.cancel()
      },
    }
  }

  /** Whether the process can neither send nor receive now. */
  get isCutOff(): boolean {
    return this.#run.now < this.cutOffUntil
  }

  /** Calls `run` in the process at a moment of true time. */
  post(dueAt: number, run: () => void, source: 'timer' | 'network'): Timer {
    let call = this.#run.agenda.add(dueAt, () => turn())
    let isCancelled = false
    const turn = () => {
      if (!this.isAlive || isCancelled) return
      if (this.#suspendedFrom !== undefined) {
        this.#missed.push({
          source,
          happen: () => {
            call = this.#run.agenda.add(this.#run.now, turn)
          },
        })
        return
      }
      this.#run.trace.note(this.#run.now, this.replica, source === 'timer' ? 1 : 2)
      actors.run(this.actor, run)
    }
    return {
      cancel: () => {
        isCancelled = true
        call.isCancelled = true
      },
    }
  }

  watchSuspension(listener: () => void): () => void {
    const own = (): void => listener()
    this.#suspensionListeners.add(own)
    return () => void this.#suspensionListeners.delete(own)
  }

  /** Suspends the process for `ms`. After a stall, messages are handled before the timers that are due. */
  suspend(ms: number, kind: StandstillKind): void {
    const { now, agenda } = this.#run
    const until = Math.max(this.#suspendedUntil, now + ms)
    if (this.#suspendedFrom === undefined) this.#suspendedFrom = this.now()
    this.#standstill = kind
    this.#suspendedUntil = until
    agenda.add(until, () => this.#goOn(until))
  }

  /** Ends the suspension now. */
  resume(): void {
    if (this.#suspendedFrom === undefined) return
    this.#suspendedUntil = this.#run.now
    this.#goOn(this.#suspendedUntil)
  }

  /** Changes the rate of the clock. Timers follow the clock. */
  changeRate(): void {
    const local = this.now()
    this.#baseTrue = this.#run.now
    this.#baseLocal = local
    this.#rate = randomRate(this.#run.random, this.#run.timing.clockRateTolerance)
    for (const pending of this.#timers) {
      pending.timer?.cancel()
      this.#schedule(pending)
    }
  }

  stepWallTime(ms: number): void {
    this.#wallOffset += ms
  }

  /** Notes that a write that took effect entitles the process to act until then. */
  entitle(until: number): void {
    this.#entitledUntil = Math.max(this.#entitledUntil, until)
  }

  /** Notes that the process has given up its lease. */
  disentitle(): void {
    this.#entitledUntil = 0
  }

  /** Whether a write of its own, or a transfer that it has answered, entitles it to act. */
  get isEntitled(): boolean {
    return this.now() <= this.#entitledUntil
  }

  /** Notes that the process considers itself the leader for another `ms`, and then ends its term. */
  leadsFor(ms: number): void {
    this.#leadsUntil = this.now() + ms
  }

  /**
   * Whether work beyond the end of the lease is excused: the process was suspended when it should have been ending its work, and has not
   * had the time since. No process can stop itself while it is suspended.
   */
  get isExcused(): boolean {
    const now = this.now()
    const from = this.#suspendedFrom
    if (from === undefined) return now <= this.#graceUntil
    return this.#leadsUntil <= now && from <= Math.max(this.#entitledUntil, this.#graceUntil)
  }

  /** Until when, after a suspension, the process may still be ending work that should have ended during the suspension. */
  get #graceUntil(): number {
    return this.#excusedUntil + this.#run.timing.abortGraceMs
  }

  #goOn(until: number): void {
    if (this.#suspendedFrom === undefined || until < this.#suspendedUntil) return
    const suspension: Suspension = { from: this.#suspendedFrom, to: this.now() }
    this.#suspendedFrom = undefined
    const last = Math.max(this.#entitledUntil, this.#graceUntil)
    if (suspension.to >= this.#leadsUntil - this.#run.timing.abortGraceMs && suspension.from <= last) {
      this.#excusedUntil = suspension.to + REACTION_MS + (this.#standstill === 'machine' ? SUSPENSION_CHECK_MS : 0)
    }
    if (this.#standstill === 'machine') this.#postponeTimers(suspension.to - suspension.from)
    const missed = this.#missed.splice(0)
    const isTimer = ({ source }: Missed) => source === 'timer'
    const inOrder =
      this.#standstill === 'stall' ? [...missed.filter((one) => !isTimer(one)), ...missed.filter(isTimer)] : missed
    for (const { happen } of inOrder) happen()
  }

  /** Postpones the timers of the process, and tells its suspension listeners a little later. */
  #postponeTimers(ms: number): void {
    for (const pending of this.#timers) {
      pending.timer?.cancel()
      pending.dueAt += ms
      this.#schedule(pending)
    }
    const { now, random } = this.#run
    const tell = (): void => {
      for (const listener of this.#suspensionListeners) listener()
    }
    this.post(now + random() * SUSPENSION_CHECK_MS, tell, 'timer')
  }

  #schedule(pending: PendingTimer): void {
    const { now } = this.#run
    const dueAt = now + Math.max(0, (pending.dueAt - this.now()) / this.#rate + pending.jitterMs)
    pending.timer = this.post(dueAt, pending.fire, 'timer')
  }

  #localAt(trueTime: number): number {
    return this.#baseLocal + (trueTime - this.#baseTrue) * this.#rate
  }
}

/** The time to handle all pending events after a suspension. */
const REACTION_MS = 50

/** The maximum time until a process notices that its machine was suspended. */
const SUSPENSION_CHECK_MS = 100

/** A clock rate. The rates of two processes differ by less than the tolerance. */
function randomRate(random: Random, tolerance: number): number {
  return 1 + (random() - 0.5) * tolerance * 0.98
}
