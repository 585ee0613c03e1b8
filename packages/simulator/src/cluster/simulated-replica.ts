import { type CandidacyEvent, Manager, type StepDownOptions } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'
import type { ResolvedSimulationOptions } from '../simulation-options.ts'
import { TermLife } from '../term-life.ts'
import { observeTerms } from '../observe-terms.ts'
import { SimulatedLock } from './simulated-lock.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { SimulatedWorld } from '../simulated-world.ts'

/** How long a process takes to come back at most, as where a kubelet restarts it. */
const LONGEST_ABSENCE_MS = 10_000

/** One replica: a process that runs a manager, and the next one after its end. */
export class SimulatedReplica {
  readonly index: number
  process: SimulatedProcess | undefined
  readonly #cluster: Cluster
  readonly #options: ResolvedSimulationOptions
  #manager: Manager | undefined
  #starts = 0
  #isReturning = false

  constructor(cluster: Cluster, options: ResolvedSimulationOptions, index: number) {
    this.#cluster = cluster
    this.#options = options
    this.index = index
  }

  get name(): string {
    return `replica-${this.index}`
  }

  /** What the replica is doing, `down` where it has no process. */
  get state(): string {
    return this.#manager?.state.kind ?? 'down'
  }

  /** Starts a process, under an identity that was never used. */
  boot(): void {
    const cluster = this.#cluster
    this.#isReturning = false
    this.#starts += 1
    const process = new SimulatedProcess(cluster, {
      replica: this.index,
      identity: `${this.name}-${this.#starts}`,
    })
    this.process = process
    cluster.say(process.identity, 'starts')
    process.post(cluster.now, () => this.#startManager(process), 'network')
  }

  /** Ends the process as it is. Another one starts after a while. */
  crash(why: string): void {
    const { process } = this
    if (process === undefined) return
    this.#cluster.say(process.identity, why)
    process.isAlive = false
    this.process = undefined
    this.#manager = undefined
    this.#cluster.tell({ kind: 'process-ended', process })
    this.#cluster.deaths.ended(process)
    this.#returnIn(this.#cluster.random() * LONGEST_ABSENCE_MS)
  }

  /** Tells the replica to stop; it ends when it has, and starts again. */
  restart(): void {
    const manager = this.#manager
    this.#post(() => void manager?.stop())
  }

  stepDown(options: StepDownOptions): void {
    const manager = this.#manager
    this.#post(() => void manager?.stepDown(options))
  }

  /** Ends all faults of the process. A stopped process starts again soon. */
  heal(): void {
    const { process } = this
    if (process === undefined) return
    process.cutOffUntil = 0
    process.resume()
    for (const watch of process.watches) watch.heal()
  }

  #post(run: () => void): void {
    this.process?.post(this.#cluster.now, run, 'network')
  }

  #returnIn(ms: number): void {
    if (this.#isReturning) return
    this.#isReturning = true
    const { agenda, now } = this.#cluster
    agenda.add(now + ms, () => this.boot())
  }

  #startManager(process: SimulatedProcess): void {
    const cluster = this.#cluster
    const options = this.#options
    const lives = new Map<string, TermLife>()
    const manager = new Manager({
      ...options.manager,
      identity: process.identity,
      lease: options.lease,
      createLock: ({ name }) => new SimulatedLock(cluster, process, name),
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

  #ended(process: SimulatedProcess, why: string): void {
    if (this.process === process) this.crash(why)
  }

  #heard(process: SimulatedProcess, lives: Map<string, TermLife>, event: CandidacyEvent): void {
    const cluster = this.#cluster
    switch (event.kind) {
      case 'term-began': {
        const term = new TermLife(process, event.lease, event.epoch)
        lives.set(event.lease, term)
        process.leadsFor(0)
        cluster.say(process.identity, `begins term ${event.epoch}`)
        cluster.tell({ kind: 'term-began', term })
        break
      }
      case 'term-ending':
        cluster.say(process.identity, `ends term ${event.epoch}: ${event.reason}`)
        break
      case 'term-over': {
        const term = lives.get(event.lease)
        cluster.say(process.identity, `term ${event.epoch} is over: ${event.outcome}`)
        if (term === undefined || term.epoch !== event.epoch) break
        term.isOver = true
        cluster.tell({ kind: 'term-over', term })
        break
      }
      case 'state':
        if (cluster.trace.isVerbose) cluster.trace.show(cluster.now, process.identity, `is ${event.to.kind}`)
        break
      case 'controller-failed':
        cluster.say(process.identity, `controller ${event.controller} failed: ${textOf(event.error)}`)
        break
      case 'wedged':
        cluster.say(process.identity, `is wedged: ${event.tasks.map((task) => task.name).join(', ')}`)
        break
      case 'renewed':
        process.leadsFor(event.remainingMs)
        break
      case 'leader-observed':
      case 'request-failed':
        break
      default:
        break
    }
  }
}
