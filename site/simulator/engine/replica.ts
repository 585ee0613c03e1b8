import type { Clock, MemoryLeaseStore } from '@tenure/core'
import type { Random, ResolvedTimingOptions } from '@tenure/core/internal'
import type { VirtualClock } from '@tenure/testing/virtual-clock'
import { Elector, type TermEffect } from '../../../packages/core/src/election/elector.ts'
import { Leadership } from '../../../packages/core/src/term/leadership.ts'
import { NetworkLock, LEASE } from './network-lock.ts'
import { isPlanted } from './planted.ts'
import { ReplicaProcess } from './replica-process.ts'
import { endPause, type TermLife } from './term-life.ts'
import { Work } from './work.ts'

/** How far `skew` moves the wall clock of a replica. */
const SKEW_MS = 30_000

/** The wall clocks show this time at the beginning. */
const WALL_START = Date.UTC(2026, 0, 1)

export interface ReplicaOptions {
  readonly name: string
  /** How fast its clock runs. 1.02 is two per cent fast. */
  readonly rate: number
  readonly store: MemoryLeaseStore
  /** The true time. */
  readonly world: VirtualClock
  readonly random: Random
  readonly timing: ResolvedTimingOptions
  readonly say: (what: string) => void
  readonly onBegin: (term: TermLife) => void
  readonly onAct: (term: TermLife) => void
}

/** The term of a running process. */
interface PresentTerm {
  readonly life: TermLife
  readonly leadership: Leadership
  readonly work: Work
}

/** What runs while a replica is alive. */
interface Run {
  readonly process: ReplicaProcess
  readonly lock: NetworkLock
  readonly elector: Elector
}

/**
 * One of the replicas: a process with the elector of production, and the connection to its lease. It does with a term what the candidacy of
 * production does, and instead of controllers it runs one task.
 */
export class Replica {
  readonly name: string
  readonly rate: number
  isPaused = false
  isCut = false
  isSkewed = false
  readonly #options: ReplicaOptions
  #starts = 0
  #run: Run | undefined
  #term: PresentTerm | undefined
  /** The terms of which something is left. */
  readonly #lives = new Set<TermLife>()

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.name = options.name
    this.rate = options.rate
  }

  /** How it is. */
  get state(): string {
    if (this.#run === undefined) return 'killed'
    return this.isPaused ? 'paused' : this.#run.elector.state.kind
  }

  get isAlive(): boolean {
    return this.#run !== undefined
  }

  get isLeading(): boolean {
    return this.#run?.elector.state.kind === 'leading'
  }

  start(): void {
    const { rate, store, world, random, timing } = this.#options
    const wallTime = WALL_START + world.now() + (this.isSkewed ? SKEW_MS : 0)
    const process = new ReplicaProcess(world.createPeer({ now: random() * 1e6, wallTime, rate }))
    const lock = new NetworkLock({ store, world, random, process, isCut: () => this.isCut })
    this.#starts += 1
    const elector = new Elector({
      lease: LEASE,
      lock,
      config: { identity: `${this.name}_${this.#starts}`, timing, releaseOnExit: true, missingLease: 'create' },
      clock: process,
      random,
      onEffect: (effect) => this.#carryOut(effect),
      onState: () => {},
      onDied: (error) => {
        throw error
      },
    })
    this.#run = { process, lock, elector }
    elector.start()
  }

  kill(why: string): void {
    for (const life of this.#lives) this.#ended(life)
    this.#over(why)
    void this.#run?.lock.close()
    this.#run?.process.kill()
    this.#run = undefined
    this.isPaused = false
  }

  pause(): void {
    this.isPaused = true
    this.#run?.process.pause()
    for (const life of this.#lives) life.pausedFrom ??= this.#options.world.now()
  }

  resume(): void {
    this.isPaused = false
    for (const life of this.#lives) endPause(life, this.#options.world.now())
    this.#run?.process.resume()
  }

  cut(): void {
    this.isCut = true
    this.#run?.lock.cut()
  }

  /** Its watch connects again by itself. */
  reconnect(): void {
    this.isCut = false
  }

  /** Moves its wall clock forwards, or back to where it was. */
  skew(isSkewed: boolean): void {
    this.isSkewed = isSkewed
    this.#run?.process.stepWallTime(isSkewed ? SKEW_MS : -SKEW_MS)
  }

  stepDown(): void {
    const { retryPeriodMs } = this.#options.timing
    this.#run?.process.receive(() =>
      this.#run?.elector.stepDown({ reason: 'step-down', cooldownMs: 2 * retryPeriodMs }),
    )
  }

  #carryOut(effect: TermEffect): void {
    const term = this.#term
    switch (effect.kind) {
      case 'begin-term':
        this.#begin(effect)
        break
      case 'extend-validity':
      case 'shorten-validity':
        term?.leadership[effect.kind === 'extend-validity' ? 'extend' : 'shorten'](effect.validUntil)
        if (term !== undefined) term.life.expiresAt = this.#trueTimeOf(effect.validUntil)
        break
      case 'end-term':
        this.#end(effect)
        break
      case 'close-gate':
        term?.leadership.closeGate('superseded')
        break
      case 'hard-abort':
        term?.work.hardAbort()
        break
      case 'exit':
        this.#options.say('exits, because its task does not end in time')
        this.kill('exited')
        break
      case 'term-over':
        this.#over(effect.outcome)
        break
      default:
    }
  }

  #begin({ epoch, validUntil, legacy }: Extract<TermEffect, { kind: 'begin-term' }>): void {
    const { name, random, timing, world, onAct, onBegin } = this.#options
    const { process, elector } = this.#running()
    const onExpired = (): void => elector.lose('stalled')
    const leadership = new Leadership({ epoch, lease: LEASE, validUntil, clock: process, legacy, onExpired })
    const life: TermLife = {
      holder: name,
      epoch,
      from: world.now(),
      expiresAt: this.#trueTimeOf(validUntil),
      endingFrom: undefined,
      to: undefined,
      outcome: undefined,
      actedAt: world.now(),
      pausedFrom: undefined,
      isExcused: false,
    }
    const act = (): void => {
      life.actedAt = world.now()
      onAct(life)
    }
    const onEmpty = (): void => {
      this.#ended(life)
      this.#drained(leadership)
    }
    const work = new Work({ process, world, random, timing, leadership, onAct: act, onEmpty })
    this.#term = { life, leadership, work }
    this.#lives.add(life)
    onBegin(life)
    work.start()
  }

  #end({ reason, voluntary }: Extract<TermEffect, { kind: 'end-term' }>): void {
    const { say, world } = this.#options
    if (this.#term === undefined) return
    const { leadership, life, work } = this.#term
    say(`ends term ${life.epoch}${voluntary ? '' : ' involuntarily'}: ${reason}`)
    life.endingFrom ??= world.now()
    work.end()
    if (isPlanted('O3')) this.#drained(leadership)
  }

  /** The gate closes before the release is sent. */
  #drained(leadership: Leadership): void {
    if (this.#term?.leadership !== leadership) return
    leadership.closeGate('step-down')
    this.#running().elector.drained(leadership.bequests.leave(leadership.epoch))
  }

  #over(outcome: string): void {
    if (this.#term === undefined) return
    const { life, leadership } = this.#term
    leadership.closeGate('step-down')
    this.#term = undefined
    life.outcome = outcome
    this.#options.say(`has given up term ${life.epoch}: ${outcome}`)
  }

  /** Nothing of the term is left. */
  #ended(life: TermLife): void {
    const { world } = this.#options
    life.to = world.now()
    endPause(life, world.now())
    this.#lives.delete(life)
  }

  #running(): { readonly process: ReplicaProcess & Clock; readonly elector: Elector } {
    if (this.#run === undefined) throw new Error(`${this.name} does not run`)
    return this.#run
  }

  #trueTimeOf(localTime: number): number {
    const { world } = this.#options
    return world.now() + (localTime - this.#running().process.now()) / this.rate
  }
}
