import type { Random, ResolvedTimingOptions } from '@tenure/core'
import { Agenda } from './agenda.ts'
import { KnownDeaths } from './cluster/known-deaths.ts'
import { Network } from './cluster/network.ts'
import { SimulatedApiServer } from './cluster/simulated-api-server.ts'
import { SimulatedReplica } from './cluster/simulated-replica.ts'
import { Weather } from './cluster/weather.ts'
import type { Fact } from './fact.ts'
import { type FaultKind, chooseFaults } from './faults.ts'
import { judge, ORACLES } from './oracles/index.ts'
import { runTurns } from './run-turns.ts'
import { seededRandom } from './seed.ts'
import type { ResolvedSimulationOptions } from './simulation-options.ts'
import { SimulatedStore } from './store/simulated-store.ts'
import type { TermLife } from './term-life.ts'
import { Trace } from './trace.ts'
import type { OracleId, Violation } from './violation.ts'

/** What one run came to. */
export interface RunResult {
  readonly violations: readonly Violation[]
  readonly trace: Trace
  readonly terms: number
  readonly coverage: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>
}

/** One run: true time, chance, the cluster, and the oracles that judge it. */
export class Simulation {
  readonly options: ResolvedSimulationOptions
  readonly random: Random
  readonly agenda: Agenda = new Agenda()
  readonly trace: Trace
  readonly server: SimulatedApiServer
  readonly deaths: KnownDeaths
  readonly store: SimulatedStore
  readonly network: Network
  readonly replicas: readonly SimulatedReplica[]
  readonly weather: Weather
  readonly durationMs: number
  readonly violations: Violation[] = []
  /** True time: milliseconds since the run began. */
  now = 0
  terms = 0
  readonly #judges: readonly ((fact: Fact) => void)[]

  constructor(options: ResolvedSimulationOptions, seed: number, isVerbose: boolean) {
    this.options = options
    this.random = seededRandom(seed)
    this.trace = new Trace(isVerbose)
    this.durationMs = options.durationMs
    this.server = new SimulatedApiServer(this)
    this.deaths = new KnownDeaths(this)
    this.store = new SimulatedStore(this)
    this.network = new Network(this)
    this.weather = new Weather(this, options.faults ?? chooseFaults(this.random))
    this.replicas = Array.from({ length: options.replicas }, (_, index) => new SimulatedReplica(this, index))
    this.#judges = ORACLES.filter(({ id }) => options.oracles.includes(id)).map((oracle) => judge(oracle, this))
  }

  get timing(): ResolvedTimingOptions {
    return this.options.timing
  }

  get lease(): string {
    return this.options.lease.name
  }

  get clockRateTolerance(): number {
    return this.options.timing.clockRateTolerance
  }

  get calmMs(): number {
    return this.options.calmMs
  }

  get stormMs(): number {
    return this.options.stormMs
  }

  /** Runs to the end, to the first violation, or until `isOver`. */
  async run(isOver: () => boolean): Promise<RunResult> {
    this.weather.start()
    for (const replica of this.replicas) this.agenda.add(this.random() * 3000, () => replica.boot())
    await runTurns(() => (isOver() ? undefined : this.#nextTurn()))
    if (this.violations.length === 0) this.now = this.durationMs
    if (this.violations.length === 0) this.tell({ kind: 'ended' })
    const { violations, trace, terms, weather } = this
    return { violations, trace, terms, coverage: weather.coverage }
  }

  /** Notes something for the trace. */
  say(subject: string, text: string): void {
    this.trace.say(this.now, subject, text)
  }

  /** Tells the oracles. What the rest of a turn does in a process that has just ended never happened. */
  tell(fact: Fact): void {
    if ('term' in fact && !fact.term.process.isAlive) return
    if (fact.kind === 'term-began') this.terms += 1
    for (const judge of this.#judges) judge(fact)
  }

  /** Code of a term did something. */
  acted(term: TermLife, what: string): void {
    this.tell({ kind: 'acted', term, what })
  }

  /** A rule is broken. The run ends here. */
  violated(oracle: OracleId, message: string): void {
    this.violations.push({ oracle, at: this.now, message })
    this.say(oracle, `VIOLATED: ${message}`)
    this.trace.close()
  }

  #nextTurn(): (() => void) | undefined {
    if (this.violations.length > 0) return undefined
    const call = this.agenda.take(this.durationMs)
    if (call === undefined) return undefined
    this.now = Math.max(this.now, call.dueAt)
    return call.run
  }
}
