import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Extension } from '../../src/manager/extension.ts'
import type { Term } from '../../src/term/term.ts'
import { BreakableLock } from '../support/breakable-lock.ts'
import { HOSTILE_VALUES } from '../support/hostile-values.ts'

/** Where code of a user runs, and throws. */
const PLACES = [
  'task',
  'late task',
  'run',
  'cleanup',
  'listener of the manager',
  'listener of the extension',
  'logger',
  'extension at the start',
  'extension at the end',
  'name',
  'factory',
  'warm-up',
  'health check',
  'thenable',
  'then of a promise',
  'stop of the extension',
] as const
type Place = (typeof PLACES)[number]

/** What ends the term. */
const ENDS = ['step-down', 'stop', 'superseded', 'nothing'] as const

/** One replica on virtual time, where whatever is in `places` throws `value`. A task that nothing ends is the witness. */
class HostileReplica {
  readonly clock = new VirtualClock()
  readonly store = new MemoryLeaseStore()
  readonly lock = new BreakableLock(this.store.lock('lease'))
  readonly events: CandidacyEvent[] = []
  readonly manager: Manager
  readonly #gate = Promise.withResolvers<void>()
  readonly #places: ReadonlySet<Place>
  readonly #make: () => unknown
  /** How many witnesses live; the most that ever did. */
  alive = 0
  mostAlive = 0
  isHostile = true

  constructor(places: readonly Place[], make: () => unknown) {
    this.#places = new Set(places)
    this.#make = make
    this.manager = new Manager({
      identity: 'me',
      lease: { name: 'lease' },
      clock: this.clock,
      random: () => 0,
      createLock: () => this.lock,
      logger: this.#logger(),
      terminate: () => {},
    })
    this.manager.use(this.#extension())
    this.manager.on(() => this.throwAt('listener of the manager'))
    this.manager.on((event) => this.events.push(event))
    this.manager.register(() => this.#controller(), { warmUp: 'following' })
  }

  throwAt(place: Place): void {
    if (this.isHostile && this.#places.has(place)) throw this.#make()
  }

  /** Lets the witness end. */
  letGo(): void {
    this.isHostile = false
    this.#gate.resolve()
  }

  /** Whether a term is over, or the lease was given away. */
  get hasGivenUp(): boolean {
    return (
      this.events.some(({ kind }) => kind === 'term-over') ||
      this.lock.writes.some((write) => write.holderIdentity === '')
    )
  }

  #controller(): Controller {
    this.throwAt('factory')
    let reads = 0
    const name = (): string => {
      if (++reads > 1) this.throwAt('name')
      return 'janitor'
    }
    const controller = {
      name: '',
      warmUp: async () => this.throwAt('warm-up'),
      run: (term: Term) => this.#run(term),
    }
    return Object.defineProperty(controller, 'name', { get: name })
  }

  async #run(term: Term): Promise<void> {
    void term.spawn('witness', () => this.#witness())
    term.health.register('hostile', () => this.throwAt('health check'))
    term.defer(() => this.throwAt('cleanup'))
    term.spawn('task', async () => this.throwAt('task')).catch(() => {})
    term.timeout(200, () => this.throwAt('late task'))
    term.spawn('promise', () => this.#promise()).catch(() => {})
    this.throwAt('run')
    await term.sleep(1e12)
  }

  async #witness(): Promise<void> {
    this.mostAlive = Math.max(this.mostAlive, ++this.alive)
    await this.#gate.promise
    this.alive--
  }

  #promise(): Promise<void> {
    const value = this.#places.has('thenable') ? {} : Promise.resolve()
    const then = this.#places.has('thenable') ? 'thenable' : 'then of a promise'
    // oxlint-disable-next-line unicorn/no-thenable -- that is the point
    if (this.#places.has(then)) Reflect.defineProperty(value, 'then', { value: () => this.throwAt(then) })
    return value as Promise<void>
  }

  #extension(): Extension {
    return {
      name: 'hostile',
      stop: () => this.throwAt('stop of the extension'),
      onEvent: () => this.throwAt('listener of the extension'),
      onTerm: () => {
        this.throwAt('extension at the start')
        return () => this.throwAt('extension at the end')
      },
    }
  }

  #logger(): Logger {
    const write = (): void => this.throwAt('logger')
    return { debug: write, info: write, warn: write, error: write, child: () => this.#logger() }
  }
}

const hostility = fc.record({
  places: fc.uniqueArray(fc.constantFrom(...PLACES), { minLength: 1, maxLength: 4 }),
  value: fc.constantFrom(...Object.keys(HOSTILE_VALUES)),
  end: fc.constantFrom(...ENDS),
})

/** Brings the term to its end, as far as that goes while the witness lives. */
async function endTerm(replica: HostileReplica, end: (typeof ENDS)[number]): Promise<void> {
  if (end === 'step-down') void replica.manager.stepDown()
  if (end === 'stop') void replica.manager.stop()
  if (end === 'superseded') replica.store.delete('lease')
  await replica.clock.advance(2000)
}

// A logger that fails is a warning of the process.
beforeEach(() => void vi.spyOn(process, 'emitWarning').mockImplementation(() => {}))
afterEach(() => void vi.restoreAllMocks())

describe('whatever is thrown, wherever', () => {
  it('no term is over and no lease is given away while a task lives; after it, both are done', async () => {
    const property = fc.asyncProperty(hostility, async ({ places, value, end }) => {
      const replica = new HostileReplica(places, HOSTILE_VALUES[value] ?? (() => undefined))
      const running = replica.manager.start().catch(() => {})
      await replica.clock.advance(1000)
      const hasBegun = replica.alive > 0
      await replica.manager.livez.run()
      await endTerm(replica, end)
      if (replica.alive > 0) expect(replica.hasGivenUp).toBe(false)
      replica.letGo()
      void replica.manager.stop()
      await replica.clock.advance(60_000)
      await running
      expect(replica.alive).toBe(0)
      expect(replica.mostAlive).toBeLessThanOrEqual(1)
      if (hasBegun) expect(replica.events.some(({ kind }) => kind === 'term-over')).toBe(true)
    })
    await fc.assert(property, { numRuns: 150 })
  })
})
