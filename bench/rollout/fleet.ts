import { setTimeout as sleep } from 'node:timers/promises'
import { type LeaseHistory, LeaseJournal } from './lease-journal.ts'
import { type FleetPlace, type Program, type Replica, startReplica } from './replica.ts'

/** The options of a rollout. */
export interface RolloutOptions {
  /** `surge`: a Deployment with `maxSurge: 1` and `maxUnavailable: 0`. `ordered`: a StatefulSet. */
  readonly order: 'surge' | 'ordered'
  /** The time from the creation of a Pod until its process starts, in milliseconds. */
  readonly startAfterMs: number
  /** The time from the start of a process until its readiness is probed, in milliseconds. A replica that is not ready is waited for. */
  readonly probeAfterMs: number
}

/** The effect of one rollout on the lease. */
export interface Rollout extends LeaseHistory {
  /** Whether the leader at the end is a replica of the new revision. */
  readonly endsWithNew: boolean
}

/** The time limit for a new leader after a rollout. */
const MAX_SETTLE_MS = 30_000
/** The time for late changes after a rollout. */
const SETTLE_MS = 1500

/** Replicas of one program and one lease, which are replaced like Pods in a rollout. */
export class Fleet implements AsyncDisposable {
  readonly #program: Program
  readonly #place: FleetPlace
  readonly #random: () => number
  #replicas: readonly Replica[] = []
  #journal: LeaseJournal | undefined
  #revision = 0

  private constructor(program: Program, place: FleetPlace, random: () => number) {
    this.#program = program
    this.#place = place
    this.#random = random
  }

  /** Starts `size` replicas and waits until one of them leads. */
  static async start(program: Program, place: FleetPlace, setup: FleetSetup): Promise<Fleet> {
    const fleet = new Fleet(program, place, setup.random)
    await place.turns.take(() => fleet.#startAll(setup.size))
    return fleet
  }

  async #startAll(size: number): Promise<void> {
    const [first, ...others] = Array.from({ length: size }, (_, index) => index)
    this.#replicas = [await this.#create(first ?? 0)]
    this.#journal = await this.#openJournal()
    this.#replicas = [...this.#replicas, ...(await Promise.all(others.map((index) => this.#create(index))))]
    await this.#isLed()
    await Promise.all(this.#replicas.map(({ ready }) => ready))
  }

  /** Replaces every replica. */
  async rollOut(options: RolloutOptions): Promise<Rollout> {
    this.#revision++
    this.#opened.restart()
    const replaced = options.order === 'surge' ? await this.#surge(options) : await this.#inOrder(options)
    await Promise.all(replaced.map(({ ended }) => ended))
    await this.#isLed((holder) => !replaced.some(({ identity }) => identity === holder))
    await sleep(SETTLE_MS)
    const history = this.#opened.history()
    const endsWithNew = this.#replicas.some(({ identity }) => identity === this.#opened.holder)
    return { ...history, endsWithNew }
  }

  /** Adds replicas of any program and waits until they are ready. */
  async join(program: Program, count: number): Promise<void> {
    await this.#place.turns.take(async () => {
      const added = Array.from({ length: count }, (_, index) => this.#create(index + this.#replicas.length, program))
      const replicas = await Promise.all(added)
      this.#replicas = [...this.#replicas, ...replicas]
      await Promise.all(replicas.map(({ ready }) => ready))
    })
  }

  /** Stops the leader. Returns for how long nobody led. */
  async stopLeader(): Promise<number> {
    const leader = this.#replicas.find(({ identity }) => identity === this.#opened.holder)
    if (leader === undefined) throw new Error(`Expected a replica to hold the lease, got \`${this.#opened.holder}\``)
    this.#opened.restart()
    this.#forget(leader)
    await this.#place.turns.take(async () => {
      leader.stop()
      await leader.ended
      await this.#isLed((holder) => holder !== leader.identity)
    })
    return this.#opened.history().leaderlessMs
  }

  /** Ends the first standby, in order or by SIGKILL. Returns its identity. */
  async endStandby(how: 'stop' | 'kill'): Promise<string> {
    const [first] = this.#opened.standbys
    const standby = this.#replicas.find(({ identity }) => identity === first)
    if (standby === undefined) throw new Error(`Expected a standby, got \`${first}\``)
    this.#forget(standby)
    standby[how]()
    await standby.ended
    return standby.identity
  }

  /** The identities of the standbys. */
  get standbys(): readonly string[] {
    return this.#opened.standbys
  }

  #forget(replica: Replica): void {
    this.#replicas = this.#replicas.filter((other) => other !== replica)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#replicas) replica.stop()
    await Promise.all(this.#replicas.map(({ ended }) => ended))
    this.#journal?.[Symbol.dispose]()
  }

  /**
   * Creates one new Pod at a time. As soon as its replica is ready, stops an old replica and creates the next Pod. A Pod that starts at
   * once starts while the old replica stops.
   */
  async #surge(options: RolloutOptions): Promise<readonly Replica[]> {
    const { turns } = this.#place
    const isAtOnce = options.startAfterMs + options.probeAfterMs === 0
    const old = this.#shuffled(this.#replicas)
    const fresh: Replica[] = []
    const replaceAll = async () => {
      for (const [index, replica] of old.entries()) {
        fresh.push(await this.#createReady(index, options))
        if (isAtOnce) replica.stop()
        else await turns.take(() => endOf(replica))
      }
      await old.at(-1)?.ended
    }
    await (isAtOnce ? turns.take(replaceAll) : replaceAll())
    this.#replicas = fresh
    return old
  }

  /** From the last to the first: stops a replica, and creates its successor after its end. */
  async #inOrder(options: RolloutOptions): Promise<readonly Replica[]> {
    const old = this.#replicas
    const fresh: Replica[] = []
    for (const [index, replica] of [...old.entries()].toReversed()) {
      await this.#place.turns.take(() => endOf(replica))
      fresh.unshift(await this.#createReady(index, options))
    }
    this.#replicas = fresh
    return old
  }

  /** Creates a Pod. Fulfils when its replica is ready. */
  async #createReady(index: number, { startAfterMs, probeAfterMs }: RolloutOptions): Promise<Replica> {
    const start = async () => {
      const created = await this.#create(index)
      await created.ready
      return created
    }
    if (startAfterMs + probeAfterMs === 0) return await start()
    await sleep(startAfterMs)
    const [created] = await Promise.all([this.#place.turns.take(start), sleep(probeAfterMs)])
    return created
  }

  #create(index: number, program: Program = this.#program): Promise<Replica> {
    const revision = `r${this.#revision}`
    const identity = `${this.#place.lease}-${revision}-${index}`
    return startReplica(program, { identity, revision }, this.#place)
  }

  async #isLed(isIt: (holder: string) => boolean = () => true): Promise<void> {
    const deadline = performance.now() + MAX_SETTLE_MS
    while (this.#opened.holder === '' || !isIt(this.#opened.holder)) {
      if (performance.now() > deadline) throw new Error(`Nobody leads \`${this.#place.lease}\``)
      await sleep(20)
    }
  }

  /** The lease exists as soon as the first replica has acquired it. */
  async #openJournal(): Promise<LeaseJournal> {
    const { server, namespace, lease } = this.#place
    const access = server.access({ name: 'bench', groups: ['system:masters'] })
    const deadline = performance.now() + MAX_SETTLE_MS
    for (;;) {
      try {
        return await LeaseJournal.open(access, namespace, lease)
      } catch (error) {
        if (performance.now() > deadline) throw error
        await sleep(50)
      }
    }
  }

  get #opened(): LeaseJournal {
    if (this.#journal === undefined) throw new Error('The fleet has not started')
    return this.#journal
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => [this.#random(), item] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, item]) => item)
  }
}

/** The size of a fleet. */
export interface FleetSetup {
  readonly size: number
  /** Decides which old replica a rollout stops next. */
  readonly random: () => number
}

async function endOf(replica: Replica): Promise<void> {
  replica.stop()
  await replica.ended
}
