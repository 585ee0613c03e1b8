import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { MemoryLeaseStore, type Lock, Manager, type Term } from '@tenure/core'
import { MultiLock } from '../../src/locks/legacy/multi-lock.ts'
import { FaultyLock } from './faulty-lock.ts'

/** What a replica takes for its lock. */
export type Generation = 'old' | 'multi' | 'new'

/** Replicas of a fleet that is moved from one lock to another, one by one, in a world of faults. */
export class MigratingFleet {
  readonly clock: VirtualClock = new VirtualClock()
  /** Where each lease is kept: in one store, or in two that count versions of their own. */
  readonly stores: Readonly<Record<'old' | 'new', MemoryLeaseStore>>
  readonly random: () => number
  readonly replicas: FleetReplica[] = []
  /** What went wrong. */
  readonly broken: string[] = []
  /** How many terms each generation had. */
  readonly terms: Record<Generation, number> = { old: 0, multi: 0, new: 0 }
  isCalm = false
  /** Whether somebody deletes one of the two leases now and then. */
  losesLeases = false
  #started = 0
  #lastEpoch = 0n

  constructor(seed: number) {
    this.random = mulberry32(seed)
    this.stores = storesOf(seed)
  }

  async start(count: number, generation: Generation): Promise<void> {
    for (let started = 0; started < count; started++) this.#add(generation)
    await this.live(20_000)
  }

  /** Lets time pass while things happen to the replicas. */
  async live(ms: number): Promise<void> {
    for (let passed = 0; passed < ms;) {
      const step = 500 + this.random() * 6000
      if (!this.isCalm) this.#disturb()
      await this.clock.advance(Math.min(step, ms - passed))
      passed += step
    }
  }

  /** Replaces every replica by one of the next generation, some stopped, some killed. */
  async roll(generation: Generation): Promise<void> {
    for (const replica of this.replicas.splice(0)) {
      if (this.random() < 0.5) replica.kill()
      else replica.stop()
      this.#add(generation)
      await this.live(5000 + this.random() * 25_000)
    }
    // The last one may still be on its way out.
    await this.live(60_000)
  }

  /** Heals everything, and gives the fleet time to settle. */
  async settle(): Promise<void> {
    this.isCalm = true
    for (const replica of this.replicas) replica.heal()
    await this.clock.advance(90_000)
  }

  get leaders(): readonly FleetReplica[] {
    return this.replicas.filter((replica) => replica.manager.state.kind === 'leading')
  }

  began(replica: FleetReplica, epoch: bigint): void {
    this.terms[replica.generation] += 1
    const others = this.#everyone.filter((other) => other !== replica && other.isAtWork)
    for (const other of others) this.broken.push(`${replica.identity} began while ${other.identity} was at work`)
    if (epoch <= this.#lastEpoch)
      this.broken.push(`epoch ${epoch} of ${replica.identity} came after ${this.#lastEpoch}`)
    this.#lastEpoch = epoch
  }

  readonly #everyone: FleetReplica[] = []

  #add(generation: Generation): void {
    const replica = new FleetReplica(this, `${generation}-${++this.#started}`, generation)
    this.replicas.push(replica)
    this.#everyone.push(replica)
    replica.start()
  }

  #disturb(): void {
    const replica = this.replicas[Math.floor(this.random() * this.replicas.length)]
    const dice = this.random()
    if (replica === undefined || dice < 0.5) return
    if (this.losesLeases && dice < 0.65) {
      const name = this.random() < 0.5 ? 'old' : 'new'
      this.stores[name].delete(name)
    } else if (dice < 0.75) replica.cut(this.random() * 25_000)
    else if (dice < 0.9) void replica.manager.stepDown({ cooldownMs: this.random() * 3000 })
    else if (this.replicas.length > 1) {
      replica.kill()
      this.replicas.splice(this.replicas.indexOf(replica), 1)
      this.#add(replica.generation)
    }
  }
}

/** One process of the fleet. */
export class FleetReplica {
  readonly identity: string
  readonly generation: Generation
  readonly manager: Manager
  isAtWork = false
  readonly #fleet: MigratingFleet
  readonly #clock: VirtualClock
  readonly #locks: FaultyLock[] = []
  #isDead = false
  #cutUntil = 0

  constructor(fleet: MigratingFleet, identity: string, generation: Generation) {
    this.#fleet = fleet
    this.identity = identity
    this.generation = generation
    this.#clock = fleet.clock.createPeer({ rate: 0.976 + fleet.random() * 0.048 })
    this.manager = new Manager({
      identity,
      lease: { name: 'janitor', missingLease: 'wait' },
      createLock: () => this.#createLock(),
      clock: this.#clock,
      random: fleet.random,
      terminate: () => this.kill(),
    })
    this.manager.register(() => ({ name: 'work', run: (term: Term) => this.#work(term) }))
  }

  start(): void {
    this.manager.start().catch(() => {})
  }

  stop(): void {
    void this.manager.stop()
  }

  /** The process is gone: nothing of it reaches a store any more, and its tasks are no more. */
  kill(): void {
    this.#isDead = true
    this.isAtWork = false
  }

  /** Nothing gets through for `ms`. */
  cut(ms: number): void {
    this.#cutUntil = this.#fleet.clock.now() + ms
    this.#fleet.clock.setTimer(ms, () => this.#reconnect())
  }

  heal(): void {
    this.#cutUntil = 0
    this.#reconnect()
  }

  #reconnect(): void {
    if (!this.#isDead) for (const lock of this.#locks) lock.reconnect()
  }

  #createLock(): Lock {
    const faulty = (name: 'old' | 'new'): Lock => {
      const { random } = this.#fleet
      const isCut = () => this.#isDead || this.#fleet.clock.now() < this.#cutUntil
      const isCalm = () => this.#fleet.isCalm
      const lock = new FaultyLock(this.#fleet.stores[name].lock(name), { clock: this.#clock, random, isCut, isCalm })
      this.#locks.push(lock)
      return lock
    }
    if (this.generation === 'old') return faulty('old')
    return this.generation === 'new' ? faulty('new') : new MultiLock(faulty('old'), faulty('new'))
  }

  async #work(term: Term): Promise<void> {
    if (this.#isDead) return
    this.#fleet.began(this, term.epoch)
    this.isAtWork = true
    try {
      await term.sleep(1e9).catch(() => {})
      if (this.#fleet.random() < 0.5) return
      // Some work continues until the hard abort.
      if (!term.hardSignal.aborted) {
        await new Promise((resolve) => {
          term.hardSignal.addEventListener('abort', resolve, { once: true })
          this.#clock.setTimer(this.#fleet.random() * 15_000, () => resolve(undefined))
        })
      }
    } finally {
      this.isAtWork = false
    }
  }
}

/** By the seed: one store for both, or two of which one counted far ahead. */
function storesOf(seed: number): Record<'old' | 'new', MemoryLeaseStore> {
  const stores = { old: new MemoryLeaseStore(), new: new MemoryLeaseStore() }
  if (seed % 3 === 0) return { old: stores.old, new: stores.old }
  const ahead = seed % 3 === 1 ? stores.old : stores.new
  const record = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: '', renewTime: '', leaseTransitions: 0 }
  let version: bigint | undefined
  for (let count = 0; count < 5000; count++)
    version = ahead.write('other', { ...record, annotations: {} }, version).version
  return stores
}

/** A small seeded generator, so that a failing run can be repeated. */
function mulberry32(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
