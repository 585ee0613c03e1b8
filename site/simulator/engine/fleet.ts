import { MemoryLeaseStore } from '@tenure/core'
import { resolveTimingOptions } from '@tenure/core/internal'
import { VirtualClock } from '@tenure/testing/virtual-clock'
import { seededRandom } from '../../../packages/simulator/src/seed.ts'
import { plant } from './planted.ts'
import { Replica } from './replica.ts'
import type { LogLine } from './run.ts'
import { type Action, REPLICAS, type ScriptStep } from './script.ts'
import { isExcused, type Overlap, overlapsOf, type TermLife } from './term-life.ts'

/** A lease of four seconds: short enough to wait for, with the defaults of production for the rest. */
export const TIMING = resolveTimingOptions({ leaseDurationMs: 4000 })

/** The replicas start one after the other, so the first one leads first. */
const START_MS = 200

export interface FleetOptions {
  /** Decides the rates of the clocks, and the time that each message takes. */
  readonly seed: number
  /** The planted defect. */
  readonly defect?: string | undefined
}

/**
 * Three replicas on virtual time. The same seed, defect and actions give the same run. Two fleets must not run at the same time, because
 * a defect is planted in all.
 */
export class Fleet {
  readonly replicas: readonly Replica[]
  readonly terms: TermLife[] = []
  readonly log: LogLine[] = []
  readonly #world = new VirtualClock()
  readonly #known = new Set<string>()

  constructor({ seed, defect }: FleetOptions) {
    plant(defect)
    const random = seededRandom(seed)
    const store = new MemoryLeaseStore()
    this.replicas = Array.from({ length: REPLICAS }, (_, index) => {
      const name = `replica-${index + 1}`
      // The quotient of two rates is within the tolerance.
      const rate = 1 + (random() - 0.5) * TIMING.clockRateTolerance * 0.97
      return new Replica({
        name,
        rate,
        store,
        world: this.#world,
        random,
        timing: TIMING,
        say: (what) => this.#say(name, what),
        onBegin: (term) => this.#began(term),
        onAct: (term) => this.#acted(term),
      })
    })
    this.replicas.forEach((replica, index) => this.#world.setTimer(index * START_MS, () => replica.start()))
  }

  /** True time in milliseconds from the beginning. */
  get now(): number {
    return this.#world.now()
  }

  /** Every time in which two terms last. */
  get overlaps(): readonly Overlap[] {
    return overlapsOf(this.terms, this.now)
  }

  /** Lets time pass. */
  advance(ms: number): Promise<void> {
    return this.#world.advance(ms)
  }

  /** Does what a reader does. Does nothing where that makes no sense. */
  act(action: Action, number: number): void {
    const replica = this.replicas[number - 1]
    if (replica === undefined || !canDo(replica, action)) return
    this.#say(replica.name, DONE[action])
    DO[action](replica)
  }

  /** Runs a script to its end, and longer. */
  async play(steps: readonly ScriptStep[], untilMs: number): Promise<void> {
    for (const { at, action, replica } of steps) {
      await this.advance(Math.max(0, at - this.now))
      this.act(action, replica)
    }
    await this.advance(Math.max(0, untilMs - this.now))
  }

  #began(term: TermLife): void {
    this.#say(term.holder, `begins term ${term.epoch}`)
    for (const other of this.terms)
      if (other.to === undefined && !isExcused(other, this.now)) this.#overlap(other, term)
    this.terms.push(term)
  }

  #acted(term: TermLife): void {
    if (!term.isExcused) return
    for (const { terms } of this.overlaps) this.#overlap(...terms)
  }

  #overlap(earlier: TermLife, later: TermLife): void {
    const key = `${earlier.epoch} ${later.epoch}`
    if (this.#known.has(key)) return
    this.#known.add(key)
    const what = `Terms ${earlier.epoch} of ${earlier.holder} and ${later.epoch} of ${later.holder} overlap`
    this.log.push({ at: this.now, who: '', what, isProblem: true })
  }

  #say(who: string, what: string): void {
    this.log.push({ at: this.now, who, what, isProblem: false })
  }
}

const DONE: Readonly<Record<Action, string>> = {
  pause: 'is paused',
  resume: 'continues',
  cut: 'is cut off from the lease',
  reconnect: 'is connected again',
  kill: 'is killed',
  start: 'starts again',
  skew: 'has a wall clock that is 30 s fast',
  'set-clock': 'has its wall clock set right',
  'step-down': 'is asked to step down',
}

const DO: Readonly<Record<Action, (replica: Replica) => void>> = {
  pause: (replica) => replica.pause(),
  resume: (replica) => replica.resume(),
  cut: (replica) => replica.cut(),
  reconnect: (replica) => replica.reconnect(),
  kill: (replica) => replica.kill('killed'),
  start: (replica) => replica.start(),
  skew: (replica) => replica.skew(true),
  'set-clock': (replica) => replica.skew(false),
  'step-down': (replica) => replica.stepDown(),
}

const POSSIBLE: Readonly<Record<Action, (replica: Replica) => boolean>> = {
  pause: ({ isAlive, isPaused }) => isAlive && !isPaused,
  resume: ({ isPaused }) => isPaused,
  cut: ({ isCut }) => !isCut,
  reconnect: ({ isCut }) => isCut,
  kill: ({ isAlive }) => isAlive,
  start: ({ isAlive }) => !isAlive,
  skew: ({ isSkewed }) => !isSkewed,
  'set-clock': ({ isSkewed }) => isSkewed,
  'step-down': ({ isLeading }) => isLeading,
}

/** Whether an action changes anything now. */
export function canDo(replica: Replica, action: Action): boolean {
  return POSSIBLE[action](replica)
}
