import { type CandidacyEvent, type LeaseOptions, Manager, type StepDownOptions } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'
import type { ResolvedSimulationOptions } from '../simulation-options.ts'
import { TermLife } from '../term-life.ts'
import { observeTerms } from '../observe-terms.ts'
import { SimulatedDeparture } from './simulated-departure.ts'
import { SimulatedLock } from './simulated-lock.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { gradeOf, minorOf, strategyOptions } from './simulated-strategy.ts'
import { SimulatedWorld } from '../simulated-world.ts'

/** The maximum time until a process is restarted, as by a kubelet. */
const MAX_RESTART_DELAY_MS = 10_000

/** The place of a replica in its fleet. */
interface ReplicaOptions {
  readonly index: number
  readonly place: number
  readonly revision: string | undefined
  /** Whether it only follows. */
  readonly neverLeads: boolean
}

/** One replica: a process that runs a manager, and its next process after each end. */
export class SimulatedReplica {
  readonly index: number
  /** The ordinal of a StatefulSet's replica. Names sort by it. */
  readonly place: number
  /** What it runs; undefined if the fleet is never rolled out. */
  readonly revision: string | undefined
  process: SimulatedProcess | undefined
  readonly #neverLeads: boolean
  readonly #cluster: Cluster
  readonly #options: ResolvedSimulationOptions
  #manager: Manager | undefined
  #starts = 0
  #isReturning = false
  /** Whether its Pod is being deleted, and whether its node takes no new Pods. */
  #isLeaving = false
  #isCordoned = false
  #departure: SimulatedDeparture | undefined
  /** Called when the replica has stopped for good; undefined while it is to run. */
  #stopped: (() => void) | undefined

  constructor(
    cluster: Cluster,
    options: ResolvedSimulationOptions,
    { index, place, revision, neverLeads }: ReplicaOptions,
  ) {
    this.#cluster = cluster
    this.#options = options
    this.index = index
    this.place = place
    this.revision = revision
    this.#neverLeads = neverLeads
  }

  get name(): string {
    return this.revision === undefined ? `replica-${this.index}` : `replica-${this.place}-${this.index}`
  }

  /** The state of the replica, or `down` if it has no process. */
  get state(): string {
    return this.#manager?.state.kind ?? 'down'
  }

  /** Starts a process with a new identity. */
  boot(): void {
    const cluster = this.#cluster
    this.#isReturning = false
    if (this.#stopped !== undefined) return
    this.#starts += 1
    const process = new SimulatedProcess(cluster, {
      replica: this.index,
      identity: `${this.name}-${this.#starts}`,
      grade: this.#neverLeads ? undefined : gradeOf(this.#options.strategy, this.#minor),
    })
    this.process = process
    this.#departure = new SimulatedDeparture(cluster, process)
    this.#place()
    cluster.tell({ kind: 'process-started', process })
    cluster.say(process.identity, 'starts')
    process.post(cluster.now, () => this.#startManager(process), 'network')
  }

  /** Ends the process immediately. Another process starts after a while. */
  crash(why: string): void {
    const { process } = this
    if (process === undefined) return
    this.#cluster.say(process.identity, why)
    process.isAlive = false
    this.process = undefined
    this.#manager = undefined
    this.#cluster.tell({ kind: 'process-ended', process })
    this.#cluster.deaths.ended(process)
    this.#cluster.collector?.look()
    this.#returnIn(this.#cluster.random() * MAX_RESTART_DELAY_MS)
  }

  /** Stops the replica in order. Another process starts after a while. */
  restart(): void {
    const { process } = this
    const manager = this.#manager
    if (process !== undefined) {
      process.isStopping = true
      this.#cluster.tell({ kind: 'process-stopping', process })
    }
    this.#post(() => void manager?.stop())
  }

  /** Its Pod is being deleted. Nothing else changes before it is stopped. */
  leave(): void {
    this.#isLeaving = true
    this.#place()
  }

  /** Its node takes no new Pods, or takes them again. */
  cordon(isCordoned: boolean): void {
    this.#isCordoned = isCordoned
    this.#place()
  }

  /** Evicts its Pod: after a while it stops in order, and another Pod takes its place. */
  evict(preStopMs: number): void {
    if (this.#isLeaving) return
    this.leave()
    const { agenda, now } = this.#cluster
    agenda.add(now + preStopMs, () => {
      if (this.#stopped !== undefined) return
      this.#isLeaving = false
      this.restart()
    })
  }

  /** Stops the replica for good, in order if it stops within `graceMs`. Resolves when its process has ended. */
  stop(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { process } = this
    this.#stopped = resolve
    if (process === undefined) resolve()
    this.restart()
    const { agenda, now } = this.#cluster
    agenda.add(now + graceMs, () => this.#ended(process, 'is killed'))
    return promise
  }

  /** Whether every readiness check passes. */
  async isReady(): Promise<boolean> {
    const results = await this.#manager?.readyz.run()
    return results?.every(({ failure }) => failure === undefined) === true
  }

  stepDown(options: StepDownOptions): void {
    const manager = this.#manager
    this.#post(() => void manager?.stepDown(options))
  }

  /** Ends all faults of the process. */
  heal(): void {
    const { process } = this
    this.cordon(false)
    if (process === undefined) return
    process.cutOffUntil = 0
    process.resume()
    for (const watch of process.watches) watch.heal()
  }

  #place(): void {
    this.#departure?.become(this.#isLeaving ? 'stopping' : this.#isCordoned ? 'draining' : undefined)
  }

  /** The minor version that it runs. */
  get #minor(): number {
    return minorOf(this.revision, this.place)
  }

  get #strategy(): Partial<LeaseOptions> {
    const { strategy } = this.#options
    return strategy === undefined ? {} : strategyOptions(strategy, this.#minor, this.index)
  }

  #post(run: () => void): void {
    this.process?.post(this.#cluster.now, run, 'network')
  }

  #returnIn(ms: number): void {
    this.#stopped?.()
    if (this.#isReturning || this.#stopped !== undefined) return
    this.#isReturning = true
    const { agenda, now } = this.#cluster
    agenda.add(now + ms, () => this.boot())
  }

  #startManager(process: SimulatedProcess): void {
    const cluster = this.#cluster
    const options = this.#options
    const lives = new Map<string, TermLife>()
    const departure = this.#departure
    const manager = new Manager({
      ...options.manager,
      identity: process.identity,
      ...(this.revision === undefined ? {} : { revision: this.revision }),
      ...(this.#neverLeads && { rollout: 'never-lead' }),
      lease: { ...options.lease, ...this.#strategy },
      createLock: ({ name }) => new SimulatedLock(cluster, process, name, departure),
      terminate: (error) => this.#ended(process, `is terminated: ${error.message}`),
      clock: process,
      random: cluster.random,
    })
    this.#manager = manager.use(observeTerms(cluster, lives))
    manager.on((event) => this.#heard(process, lives, event))
    const world = new SimulatedWorld(cluster, process)
    for (const factory of options.controllers) manager.register(() => factory(world))
    manager.start().then(
      () => this.#ended(process, 'has stopped'),
      (error: unknown) => this.#ended(process, `has failed: ${textOf(error)}`),
    )
  }

  #ended(process: SimulatedProcess | undefined, why: string): void {
    if (process !== undefined && this.process === process) this.crash(why)
  }

  #heard(process: SimulatedProcess, lives: Map<string, TermLife>, event: CandidacyEvent): void {
    const cluster = this.#cluster
    const line = describeEvent(event)
    if (line !== undefined) cluster.say(process.identity, line)
    switch (event.kind) {
      case 'term-began':
        this.#termBegan(process, lives, event)
        break
      case 'term-ending':
        this.#termEnding(lives, event)
        break
      case 'term-over':
        this.#termOver(lives, event)
        break
      case 'renewed':
        process.leadsFor(event.remainingMs)
        break
      case 'state':
        if (cluster.trace.isVerbose) cluster.trace.show(cluster.now, process.identity, `is ${event.to.kind}`)
        break
      default:
    }
  }

  #termBegan(process: SimulatedProcess, lives: Map<string, TermLife>, { lease, epoch }: TermKey): void {
    const term = new TermLife(process, lease, epoch)
    lives.set(lease, term)
    process.leadsFor(0)
    this.#cluster.tell({ kind: 'term-began', term })
  }

  #termEnding(lives: ReadonlyMap<string, TermLife>, { lease, epoch }: TermKey): void {
    const term = lives.get(lease)
    if (term?.epoch === epoch) term.isEnding = true
  }

  #termOver(lives: ReadonlyMap<string, TermLife>, { lease, epoch }: TermKey): void {
    const term = lives.get(lease)
    if (term?.epoch !== epoch) return
    term.isOver = true
    this.#cluster.tell({ kind: 'term-over', term })
  }
}

/** The term of an event. */
interface TermKey {
  readonly lease: string
  readonly epoch: bigint
}

/** The line of the trace for an event. Undefined for events that the trace omits. */
function describeEvent(event: CandidacyEvent): string | undefined {
  switch (event.kind) {
    case 'term-began':
      return `begins term ${event.epoch}`
    case 'term-ending':
      return `begins to end term ${event.epoch}: ${event.reason}`
    case 'term-over':
      return `term ${event.epoch} has ended: ${event.outcome}`
    case 'controller-failed':
      return `controller ${event.controller} failed: ${textOf(event.error)}`
    case 'wedged':
      return `is wedged: ${event.tasks.map((task) => task.name).join(', ')}`
    default:
      return undefined
  }
}
