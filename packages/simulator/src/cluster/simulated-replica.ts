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
    const line = describeEvent(event)
    if (line !== undefined) cluster.say(process.identity, line)
    switch (event.kind) {
      case 'term-began':
        this.#termBegan(process, lives, event)
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

  #termOver(lives: ReadonlyMap<string, TermLife>, { lease, epoch }: TermKey): void {
    const term = lives.get(lease)
    if (term?.epoch !== epoch) return
    term.isOver = true
    this.#cluster.tell({ kind: 'term-over', term })
  }
}

/** Which term an event is about. */
interface TermKey {
  readonly lease: string
  readonly epoch: bigint
}

/** The line of the trace for an event; none for events that say nothing new. */
function describeEvent(event: CandidacyEvent): string | undefined {
  switch (event.kind) {
    case 'term-began':
      return `begins term ${event.epoch}`
    case 'term-ending':
      return `ends term ${event.epoch}: ${event.reason}`
    case 'term-over':
      return `term ${event.epoch} is over: ${event.outcome}`
    case 'controller-failed':
      return `controller ${event.controller} failed: ${textOf(event.error)}`
    case 'wedged':
      return `is wedged: ${event.tasks.map((task) => task.name).join(', ')}`
    default:
      return undefined
  }
}
