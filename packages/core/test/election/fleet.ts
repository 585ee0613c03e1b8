import type { ElectorConfig, TransitionContext } from '../../src/election/machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../../src/election/machine/effect.ts'
import type { ElectorEvent, TermKey, WriteResult } from '../../src/election/machine/event.ts'
import type { ElectorState, Step } from '../../src/election/machine/state.ts'
import { readProcessRef } from '../../src/election/rules/transfer-notes.ts'
import { INITIAL_STATE, nextWakeAt, transition } from '../../src/election/machine/transition.ts'
import { termOf } from '../../src/election/rules/term-key.ts'
import { formatMicroTime, type LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import type { ResolvedTimingOptions } from '../../src/election/timing-options.ts'
import { failed } from './pure-elector.ts'

/** What a {@link Fleet} is made of. */
export interface FleetOptions {
  readonly seed: number
  readonly replicas: number
  readonly config: Omit<ElectorConfig, 'identity'>
  /** Whether replicas may be suspended: then tasks run past the end of a lease, and only what is asked of the clock counts. */
  readonly stalls: boolean
  /** Whether a process starts again under the identity of the one before. @default false */
  readonly reusesIdentities?: boolean
  /** What is run in place of the machine, to plant a defect. @default the machine */
  readonly machine?: FleetMachine
  /** Whether every task ends within the grace, so that only a term that was never renewed needs to be cut off. */
  readonly obedient?: boolean
  /** Whether the run goes on when a rule is broken, for its trace. @default false */
  readonly isOnlyTraced?: boolean
  /** How requests fail. @default {@link NETWORK} */
  readonly network?: Partial<FleetNetwork>
  /** What another client does to the lease in two of five disturbances. @default nothing */
  readonly edits?: readonly [FleetEdit, ...FleetEdit[]]
  /** The timing of the processes, in turn, where it is not that of the configuration. */
  readonly timings?: readonly ResolvedTimingOptions[]
}

/** How the requests of a fleet fail, as shares of all requests. */
export interface FleetNetwork {
  /** They are never sent. */
  readonly lost: number
  /** They are answered with an error. */
  readonly refused: number
  /** They take effect up to nine seconds late. */
  readonly late: number
  /** Of those that take effect, these are not answered. */
  readonly unanswered: number
  /** Of those that take effect, these break their connection: it is known at once that there will be no answer. */
  readonly broken: number
  /** Of those that take effect, these are the last before nothing gets through to the replica for a while. */
  readonly last: number
  /** Of the reports of the watch, these come again up to six seconds later, like from a server that lags. */
  readonly repeated: number
}

/** How requests fail by default. */
const NETWORK: FleetNetwork = {
  lost: 0.04,
  refused: 0.04,
  late: 0.08,
  unanswered: 0.05,
  broken: 0,
  last: 0,
  repeated: 0,
}

/**
 * What another client does to a lease: it sets the duration to one second; clears the holder and deletes the lease soon; names a replica, like the
 * election controller of Kubernetes; or has the replicas decide themselves who leads, or that controller again.
 */
export type FleetEdit = 'shorten' | 'clear' | 'name' | 'switch'

/** A machine as the fleet runs it; the replica is for planted machines that know more than production. */
export type FleetMachine = (
  replica: FleetReplica,
  state: ElectorState,
  event: ElectorEvent,
  context: TransitionContext,
) => Step

/**
 * Replicas of the pure machine around one stored lease, in a world of delayed, lost and refused requests, late watches, partitions,
 * crashes, restarts, stuck tasks, deletions, late proofs of death and clocks that differ in rate. Throws when a rule of terms is
 * broken: one term at work at a time, nothing freed over a live task or by anybody but its holder, epochs that grow and are
 * versions at which the replica held the lease.
 */
export class Fleet {
  readonly random: () => number
  readonly options: FleetOptions
  readonly network: FleetNetwork
  readonly replicas: FleetReplica[] = []
  now = 0
  terms = 0
  /** How many terms began with a transfer alone, without a write of the successor. */
  inheritances = 0
  /** How many leases were taken from a holder that was proved dead. */
  succeededDead = 0
  /** How many leases were created directly after the deletion of a held lease, where that counts. */
  createdAfterHeld = 0
  /** Once set, every request gets through, and soon. */
  isCalm = false
  /** Who decides which replica leads. */
  coordination: ElectorConfig['coordination']
  #lastEpoch = 0n
  #order = 0
  #version = 0n
  /** Who became the holder at which version. */
  readonly #grants = new Map<bigint, string>()
  #record: LeaseRecord | undefined
  /** The record that was deleted last. */
  #deleted: LeaseRecord | undefined
  readonly #pending: { readonly at: number; readonly order: number; readonly run: () => void }[] = []

  constructor(options: FleetOptions) {
    this.options = options
    this.network = { ...NETWORK, ...options.network }
    this.random = mulberry32(options.seed)
    this.coordination = options.config.coordination
    for (let index = 0; index < options.replicas; index++) this.replicas.push(new FleetReplica(this, index))
  }

  /** Lets disturbances happen for `ms`, then heals everything and lets the fleet settle for `restMs`. */
  run(ms: number, restMs: number): void {
    for (const replica of this.replicas) this.after(this.random() * 3000, () => replica.boot())
    for (let at = 0; at < ms; at += 200 + this.random() * 8000) this.after(at, () => this.#disturb())
    this.after(ms, () => {
      this.isCalm = true
      for (const replica of this.replicas) replica.heal()
    })
    this.#passTo(ms + restMs)
  }

  after(ms: number, run: () => void): void {
    const event = { at: this.now + Math.max(0, ms), order: this.#order++, run }
    let index = this.#pending.length
    while (index > 0 && isLater(this.#pending[index - 1], event)) index--
    this.#pending.splice(index, 0, event)
  }

  read(): LockSnapshot {
    if (this.#record === undefined) return { kind: 'absent', version: this.#version }
    return { kind: 'present', version: this.#version, record: this.#record, deleting: false }
  }

  write({ base, record, purpose }: LeaseWrite, writer: string): WriteResult {
    if (base?.record === record) return this.#check(record)
    const refusal = this.#refusalOf(base)
    if (refusal !== undefined) return failed(refusal)
    const replaced = this.#record
    if ((purpose === 'release' || purpose === 'transfer') && replaced?.holderIdentity !== writer) {
      this.broken(`${writer} freed a lease of ${replaced?.holderIdentity}`)
    }
    this.#store(record)
    if (record.holderIdentity !== replaced?.holderIdentity || record.acquireTime !== replaced.acquireTime) {
      this.#grants.set(this.#version, record.holderIdentity)
    }
    const lease = { kind: 'present', version: this.#version, record, deleting: false } as const
    if (replaced !== undefined || this.#deleted === undefined || this.options.config.heldForLife !== true) {
      return { kind: 'written', lease }
    }
    if (this.#deleted.holderIdentity !== '') this.createdAfterHeld += 1
    return { kind: 'written', lease: { ...lease, replaced: this.#deleted } }
  }

  /** Answers a renewal of a lease that is held for life: by a read, with no write. */
  #check(record: LeaseRecord): WriteResult {
    const stored = this.read()
    if (stored.kind === 'absent') return failed('not-found')
    return isTermOf(stored.record, termOf(record)) ? { kind: 'written', lease: stored } : failed('conflict')
  }

  #refusalOf(base: LeaseWrite['base']): 'conflict' | 'not-found' | undefined {
    const stored = this.read()
    if (base === undefined) return stored.kind === 'present' ? 'conflict' : undefined
    if (stored.kind === 'absent') return 'not-found'
    return base.version === stored.version ? undefined : 'conflict'
  }

  began(replica: FleetReplica, epoch: bigint): void {
    this.terms += 1
    if (this.#holderAt(epoch) !== replica.identity) this.broken(`epoch ${epoch} is of another holder`)
    if (epoch <= this.#lastEpoch) this.broken(`epoch ${epoch} came after ${this.#lastEpoch}`)
    this.#lastEpoch = epoch
    for (const other of this.replicas) {
      if (other === replica || !other.hasTasks) continue
      if (this.options.stalls && !other.isHeld) continue
      this.broken(`${replica.identity} began a term while tasks of ${other.identity} live`)
    }
  }

  /** Who held the lease at this version. */
  #holderAt(version: bigint): string | undefined {
    return [...this.#grants].findLast(([since]) => since <= version)?.[1]
  }

  /** Tells the others, soon or late, that the holder is dead, if it is the process that has just ended. */
  died(identity: string): void {
    const record = this.#record
    if (this.options.config.heldForLife === true) this.#collect(identity)
    if (record?.holderIdentity !== identity || readProcessRef(record) === undefined || this.random() < 0.3) return
    const { acquireTime } = record
    for (const replica of this.replicas) {
      const ms = this.random() < 0.7 ? this.random() * 1500 : this.random() * 30_000
      this.after(ms, () => replica.hearOfDeath({ identity, acquireTime }))
    }
  }

  /** Deletes a lease that this process has kept for life, as the garbage collector does when its Pod is gone. */
  #collect(identity: string): void {
    this.after(this.random() * 30_000, () => {
      if (this.#record?.holderIdentity === identity) this.#store(undefined)
    })
  }

  /** A rule of terms is broken. @throws Error, unless something else judges the run */
  broken(what: string): void {
    if (this.options.isOnlyTraced === true) return
    throw new Error(`seed ${this.options.seed}, at ${Math.round(this.now)} ms: ${what}`)
  }

  #disturb(): void {
    const replica = this.replicas[Math.floor(this.random() * this.replicas.length)]
    if (replica === undefined) return
    const { stalls, config, edits } = this.options
    if (edits !== undefined && this.random() < 0.4) return this.#edit(pick(this.random(), edits))
    const disturbances: readonly (readonly [upTo: number, isPossible: boolean, disturb: () => void])[] = [
      [0.35, true, () => this.#stepDown()],
      [0.42, true, () => replica.send({ kind: 'stop' })],
      [0.52, true, () => replica.crash()],
      [0.57, true, () => replica.send({ kind: 'lost', reason: 'stalled' })],
      [0.7, true, () => replica.partition(this.random() * 25_000)],
      [0.8, this.#record !== undefined, () => this.#store(this.#record)],
      [0.9, config.missingLease === 'wait', () => this.#store(undefined)],
      [1, stalls, () => replica.stall(this.random() * 25_000)],
    ]
    const dice = this.random()
    const chosen = disturbances.find(([upTo, isPossible]) => dice < upTo && isPossible)
    chosen?.[2]()
  }

  /** The leader steps down, at times in favour of another replica. */
  #stepDown(): void {
    const [to] = this.replicas.filter(({ state }) => state.kind === 'following').map(({ identity }) => identity)
    const named =
      to !== undefined && to !== '' && this.random() < 0.3 ? { to, answerTimeoutMs: this.random() * 4000 } : {}
    const order = { reason: 'step-down', cooldownMs: this.random() * 3000, ...named } as const
    for (const replica of this.replicas) replica.send({ kind: 'step-down', ...order })
  }

  /** Does to the lease what another client does. */
  #edit(edit: FleetEdit): void {
    if (edit === 'name') this.#name()
    else if (edit === 'switch') this.coordination = this.coordination === 'server' ? 'peers' : 'server'
    else this.#editSoon(edit)
  }

  /** Edits the lease soon. At times some replicas do not see it for a while, or what the holder has written before. */
  #editSoon(edit: 'shorten' | 'clear'): void {
    // Before the first renewal, nobody can tell an edit from what the holder wrote. Only a lease for life shows that it was not released.
    const mayTell = edit === 'clear' && this.options.config.heldForLife === true
    for (const replica of this.replicas) if (this.random() < 0.4) replica.partition(this.random() * 25_000)
    this.after(this.random() * 10_000, () => {
      const record = this.#record
      if (record === undefined || (record.acquireTime === record.renewTime && !mayTell)) return
      this.#store({ ...record, ...(edit === 'shorten' ? { leaseDurationSeconds: 1 } : { holderIdentity: '' }) })
      if (edit === 'clear') this.after(this.random() * 5000, () => this.#deleteCleared())
    })
  }

  #deleteCleared(): void {
    if (this.#record?.holderIdentity === '') this.#store(undefined)
  }

  /** Names a replica, with a duration that is shorter than that of the replicas, and without a time at which it acquired the lease. */
  #name(): void {
    const named = this.replicas[Math.floor(this.random() * this.replicas.length)]
    if (named === undefined || named.identity === '' || this.coordination !== 'server') return
    const holder = this.replicas.find(({ identity }) => identity === this.#record?.holderIdentity)
    if (this.random() < 0.5) holder?.partition(this.random() * 25_000)
    if (this.random() < 0.3) this.after(this.random() * 3000, () => this.#losesNamed(named))
    this.#store({
      leaseTransitions: undefined,
      annotations: {},
      ...this.#record,
      holderIdentity: named.identity,
      leaseDurationSeconds: 5,
      acquireTime: undefined,
      renewTime: formatMicroTime(Date.UTC(2026, 0, 1) + this.now),
    })
  }

  /** A replica that was named crashes, and from then on the replicas decide. */
  #losesNamed(named: FleetReplica): void {
    this.coordination = 'peers'
    named.crash()
  }

  #store(record: LeaseRecord | undefined): void {
    if (record === undefined && this.#record === undefined) return
    this.#version += 1n
    if (record === undefined) this.#deleted = this.#record
    this.#record = record
    for (const replica of this.replicas) replica.notify()
  }

  #passTo(end: number): void {
    for (let next = this.#pending[0]; next !== undefined && next.at <= end; next = this.#pending[0]) {
      this.#pending.shift()
      this.now = next.at
      next.run()
    }
    this.now = end
  }
}

type Fate = 'quick' | 'slow' | 'stuck'

type EffectOf<K extends ElectorEffect['kind']> = Extract<ElectorEffect, { kind: K }>

/** One machine of the fleet, restarted under a new identity after every crash and stop. */
export class FleetReplica {
  identity = ''
  hasTasks = false
  state: ElectorState = INITIAL_STATE
  readonly #fleet: Fleet
  readonly #rate: number
  readonly #index: number
  #life = 0
  #validUntil = 0
  #fate: Fate = 'quick'
  /** Whether the term rests on a transfer alone, which leaves less time than the grace may need. */
  #isUnrenewed = false
  #cutOffUntil = 0
  #stalledUntil = 0
  #nextReportAt = 0
  #restarts = 0
  #wakeAt: number | undefined

  constructor(fleet: Fleet, index: number) {
    this.#fleet = fleet
    this.#index = index
    this.#rate = 1 - fleet.random() * fleet.options.config.timing.clockRateTolerance
  }

  /** Whether the replica may act, asked of its own clock. */
  get isHeld(): boolean {
    return this.#clock < this.#validUntil
  }

  boot(): void {
    this.#life += 1
    const { reusesIdentities = false } = this.#fleet.options
    this.identity = `replica-${this.#index}${reusesIdentities ? '' : `-${this.#life}`}`
    this.state = INITIAL_STATE
    this.#wakeAt = undefined
    this.send({ kind: 'start' })
    this.#resumeWatch()
  }

  crash(): void {
    if (this.identity === '') return
    this.#fleet.died(this.identity)
    this.#life += 1
    this.identity = ''
    this.hasTasks = false
    this.#fleet.after(this.#fleet.random() * 10_000, () => this.boot())
  }

  /** Nothing gets through for `ms`. */
  partition(ms: number): void {
    this.#cutOffUntil = Math.max(this.#cutOffUntil, this.#fleet.now + ms)
    if (this.#fleet.random() < 0.5) this.#later(this.#fleet.random() * ms, () => this.send({ kind: 'watch-down' }))
    this.#later(ms, () => this.#restartWatch())
  }

  hearOfDeath(holder: TermKey): void {
    if (this.#isCutOff || holder.identity === this.identity) return
    this.send({ kind: 'holder-dead', holder })
  }

  /** The process is suspended for `ms`; what it missed is handled afterwards. */
  stall(ms: number): void {
    this.#stalledUntil = this.#fleet.now + ms
  }

  heal(): void {
    this.#cutOffUntil = 0
    this.#stalledUntil = 0
    if (this.identity !== '') this.#restartWatch()
  }

  notify(): void {
    const fleet = this.#fleet
    if (this.identity === '' || this.#isCutOff) return
    this.#nextReportAt = Math.max(this.#nextReportAt, fleet.now + this.#latency())
    const snapshot = fleet.read()
    const report = () => {
      if (!this.#isCutOff) this.send({ kind: 'observed', snapshot })
    }
    const reportsInMs = this.#nextReportAt - fleet.now
    this.#later(reportsInMs, report)
    if (fleet.isCalm || fleet.network.repeated === 0 || fleet.random() >= fleet.network.repeated) return
    this.#later(reportsInMs + fleet.random() * 6000, report)
  }

  send(event: ElectorEvent): void {
    const fleet = this.#fleet
    if (this.identity === '') return
    if (fleet.now < this.#stalledUntil) {
      this.#later(this.#stalledUntil - fleet.now, () => this.send(event))
      return
    }
    const at = { now: this.#clock, wallTime: Date.UTC(2026, 0, 1) + this.#clock, random: fleet.random() }
    const { machine = (_, ...input) => transition(...input) } = fleet.options
    const { state, effects } = machine(this, this.state, event, { at, config: this.#config })
    if (this.state.kind === 'following' && effects.some(({ kind }) => kind === 'begin-term')) this.#inherited()
    this.state = state
    for (const effect of effects) this.#carryOut(effect)
    this.#setWake()
  }

  #carryOut(effect: ElectorEffect): void {
    switch (effect.kind) {
      case 'read':
        this.#read(effect)
        break
      case 'write':
        this.#write(effect)
        break
      case 'begin-term':
        this.#beginTerm(effect)
        break
      case 'extend-validity':
        this.#validUntil = effect.validUntil
        this.#isUnrenewed = false
        break
      case 'end-term':
      case 'hard-abort':
        this.#endTasks(effect.kind)
        break
      case 'wedged':
      case 'identity-taken':
      case 'stopped':
        this.#endProcess(effect.kind)
        break
      default:
    }
  }

  #read({ request }: EffectOf<'read'>): void {
    this.#request(
      () => ({ kind: 'read', snapshot: this.#fleet.read() }) as const,
      (result) => this.send({ kind: 'read-answer', request, result }),
    )
  }

  #write({ request, write }: EffectOf<'write'>): void {
    const fleet = this.#fleet
    const writer = this.identity
    if (write.purpose !== 'renew' && this.hasTasks) fleet.broken(`${write.purpose} over live tasks`)
    if (isTermOf(write.base?.record, this.state.memory.deadHolder)) fleet.succeededDead += 1
    this.#request(
      () => fleet.write(write, writer),
      (result) => this.send({ kind: 'write-answer', request, result }),
    )
  }

  #beginTerm({ epoch, validUntil }: EffectOf<'begin-term'>): void {
    const fleet = this.#fleet
    fleet.began(this, epoch)
    this.hasTasks = true
    this.#validUntil = validUntil
    this.#fate = pick(fleet.random(), ['quick', 'quick', 'slow', fleet.options.obedient ? 'slow' : 'stuck'])
  }

  #endTasks(kind: 'end-term' | 'hard-abort'): void {
    const { random } = this.#fleet
    if (this.#fate === 'stuck') return
    const drainMs = this.#fate === 'quick' ? 900 : 25_000
    const maxMs = kind === 'end-term' ? drainMs : this.#config.timing.abortGraceMs / this.#rate
    this.#drainIn(random() * maxMs)
  }

  #endProcess(kind: 'wedged' | 'identity-taken' | 'stopped'): void {
    const { options } = this.#fleet
    if (kind === 'wedged' && options.obedient === true && !this.#isUnrenewed) return
    if (kind === 'identity-taken' && options.reusesIdentities !== true) {
      this.#fleet.broken(`${this.identity} was taken for two processes`)
    }
    this.crash()
  }

  /** Some successors lose the term again before they have renewed the lease. */
  #inherited(): void {
    const { random } = this.#fleet
    this.#fleet.inheritances += 1
    this.#isUnrenewed = true
    if (random() < 0.3) this.#later(random() * 600, () => this.send({ kind: 'lost', reason: 'stalled' }))
  }

  #drainIn(ms: number): void {
    this.#later(ms, () => {
      if (!this.hasTasks) return
      this.hasTasks = false
      this.send({ kind: 'drained' })
    })
  }

  /** A request that takes effect soon, late or never, and is answered soon, late or never. */
  #request<T>(perform: () => T, answer: (result: T | ReturnType<typeof failed>) => void): void {
    const fleet = this.#fleet
    const isLost = this.#isCutOff
    const life = this.#life
    const dice = fleet.random()
    let isAnswered = false
    const once = (result: T | ReturnType<typeof failed>) => {
      if (isAnswered || life !== this.#life) return
      isAnswered = true
      answer(result)
    }
    this.#later(this.#config.timing.requestTimeoutMs / this.#rate, () => once(failed('unknown-outcome')))
    const { lost, refused, late, unanswered } = fleet.network
    if (isLost || (!fleet.isCalm && dice < lost)) return
    if (!fleet.isCalm && dice < lost + refused) {
      this.#later(this.#latency(), () => once(failed('forbidden')))
      return
    }
    fleet.after(!fleet.isCalm && dice < lost + refused + late ? fleet.random() * 9000 : this.#latency(), () => {
      const result = perform()
      if (life === this.#life && this.#isDisconnected(() => once(failed('unknown-outcome')))) return
      if (fleet.isCalm || fleet.random() > unanswered)
        this.#later(this.#latency(), () => this.#isCutOff || once(result))
    })
  }

  /** Whether a request that has just taken effect breaks its connection, or is the last one for a while. */
  #isDisconnected(breakOff: () => void): boolean {
    const { random, isCalm, network } = this.#fleet
    const { broken, last } = network
    if (isCalm || broken + last === 0) return false
    const dice = random()
    if (dice < broken) this.#later(this.#latency(), breakOff)
    else if (dice < broken + last) this.partition(random() * 25_000)
    return dice < broken + last
  }

  /** Changes were missed: a lock says so before it reports again. */
  #restartWatch(): void {
    if (this.#isCutOff) return
    this.send({ kind: 'watch-down' })
    this.#resumeWatch()
  }

  #resumeWatch(): void {
    if (this.#isCutOff) return
    const restarts = (this.#restarts += 1)
    this.#later(this.#latency(), () => {
      this.notify()
      this.#later(Math.max(200, this.#nextReportAt - this.#fleet.now), () => {
        if (!this.#isCutOff && restarts === this.#restarts) this.send({ kind: 'watch-up' })
      })
    })
  }

  get #config(): ElectorConfig {
    const { config, timings } = this.#fleet.options
    const timing = timings?.[Math.floor(this.#life / 2) % timings.length] ?? config.timing
    const { coordination } = this.#fleet
    return {
      ...config,
      ...(coordination && { coordination }),
      timing,
      identity: this.identity,
      processRef: `process of ${this.identity}`,
    }
  }

  #setWake(): void {
    const wakeAt = nextWakeAt(this.state, this.#config)
    if (wakeAt === undefined || wakeAt === this.#wakeAt) return
    this.#wakeAt = wakeAt
    this.#later((wakeAt - this.#clock) / this.#rate + 0.001, () => {
      this.#wakeAt = undefined
      this.send({ kind: 'wake' })
    })
  }

  /** Calls `run` unless the process has ended by then. */
  #later(ms: number, run: () => void): void {
    const life = this.#life
    this.#fleet.after(ms, () => {
      if (life === this.#life) run()
    })
  }

  #latency(): number {
    const { random, isCalm } = this.#fleet
    return isCalm || random() < 0.9 ? 1 + random() * 30 : random() * 1500
  }

  get #isCutOff(): boolean {
    return this.#fleet.now < this.#cutOffUntil
  }

  get #clock(): number {
    return this.#fleet.now * this.#rate
  }
}

function isTermOf(record: LeaseRecord | undefined, term: TermKey | undefined): boolean {
  return term !== undefined && record?.holderIdentity === term.identity && record.acquireTime === term.acquireTime
}

function isLater(a: { readonly at: number; readonly order: number } | undefined, b: { readonly at: number }): boolean {
  return a !== undefined && a.at > b.at
}

function pick<T>(random: number, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random * values.length)] ?? values[0]
}

/** A small seeded generator, so that a failing run can be repeated. */
export function mulberry32(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
