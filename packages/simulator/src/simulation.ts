import type { Random, ResolvedTimingOptions } from '@tenure/core/internal'
import { Agenda } from './agenda.ts'
import { GarbageCollector } from './cluster/garbage-collector.ts'
import { KnownDeaths } from './cluster/known-deaths.ts'
import { Network } from './cluster/network.ts'
import type { Cluster } from './cluster/cluster.ts'
import { SimulatedApiServer } from './cluster/simulated-api-server.ts'
import { SimulatedCoordinator } from './cluster/simulated-coordinator.ts'
import type { SimulatedProcess } from './cluster/simulated-process.ts'
import type { SimulatedReplica } from './cluster/simulated-replica.ts'
import { FaultInjector } from './cluster/fault-injector.ts'
import type { DesiredState } from './desired-state.ts'
import type { Fact } from './fact.ts'
import type { FaultScript } from './fault-script.ts'
import { type FaultKind, chooseFaults } from './faults.ts'
import { ORACLES } from './oracles/index.ts'
import { longestVacancyMs } from './oracles/longest-vacancy.ts'
import { type Judge, tell } from './oracles/oracle.ts'
import { repeatRollouts } from './rollout/repeat-rollouts.ts'
import { Workload } from './rollout/workload.ts'
import { runTurns } from './run-turns.ts'
import { type Seed, seededRandom } from './seed.ts'
import type { ResolvedSimulationOptions } from './simulation-options.ts'
import { SimulatedStore } from './store/simulated-store.ts'
import { Trace } from './trace.ts'
import type { OracleId, Violation } from './violation.ts'

/** The result of one run. */
export interface RunResult {
  readonly violations: readonly Violation[]
  readonly trace: Trace
  readonly terms: number
  readonly coverage: ReadonlyMap<FaultKind, ReadonlyMap<string, number>>
  /** The faults that happened. */
  readonly script: FaultScript
}

/** One run: true time, random numbers, the cluster, and the oracles. */
export class Simulation implements Cluster {
  readonly options: ResolvedSimulationOptions
  readonly random: Random
  readonly agenda: Agenda = new Agenda()
  readonly trace: Trace
  readonly server: SimulatedApiServer
  readonly deaths: KnownDeaths
  readonly store: SimulatedStore
  readonly network: Network
  readonly coordinator: SimulatedCoordinator | undefined
  readonly collector: GarbageCollector | undefined
  readonly #workload: Workload
  readonly #faults: FaultInjector
  readonly violations: Violation[] = []
  /** True time: milliseconds since the run began. */
  now = 0
  terms = 0
  readonly #judges: readonly Judge[]

  constructor(options: ResolvedSimulationOptions, seed: Seed, isVerbose: boolean) {
    this.options = options
    this.random = seededRandom(seed.number)
    this.trace = new Trace(isVerbose)
    this.server = new SimulatedApiServer(this)
    this.deaths = new KnownDeaths(this, this.server)
    this.store = new SimulatedStore(this)
    this.network = new Network(this, (process) => this.#faults.requestFault(process))
    const { coordination } = options
    this.coordinator = coordination && new SimulatedCoordinator(this, coordination)
    this.collector = options.heldForLife ? new GarbageCollector(this, options.lease.name) : undefined
    this.#workload = new Workload(this, options)
    this.#faults = new FaultInjector(this, this, options.faults ?? chooseFaults(this.random), seed.script)
    this.#judges = ORACLES.filter(({ id }) => options.oracles.includes(id)).map((oracle) =>
      oracle.judge(this, (message) => this.#violated(oracle.id, message)),
    )
  }

  /** The replicas that run, or are to run. */
  get replicas(): readonly SimulatedReplica[] {
    return this.#workload.replicas
  }

  get timing(): ResolvedTimingOptions {
    return this.options.timing
  }

  get longestVacancyMs(): number {
    return longestVacancyMs(this.options)
  }

  get desired(): Required<DesiredState> | undefined {
    return this.options.desired
  }

  get isCalm(): boolean {
    return this.#faults.isCalm
  }

  processOf(identity: string): SimulatedProcess | undefined {
    return this.replicas.find(({ process }) => process?.identity === identity)?.process
  }

  /** Runs to the end, to the first violation, or until `isOver`. */
  async run(isOver: () => boolean): Promise<RunResult> {
    this.#faults.start()
    this.#workload.start()
    this.coordinator?.start()
    if (this.options.rollouts !== undefined) void repeatRollouts(this.#workload, this.options.rollouts)
    await runTurns(() => (isOver() ? undefined : this.#nextTurn()))
    if (this.violations.length === 0) this.now = this.options.durationMs
    if (this.violations.length === 0) this.tell({ kind: 'ended' })
    const { violations, trace, terms } = this
    const { coverage, script } = this.#faults
    return { violations, trace, terms, coverage, script }
  }

  /** Adds a line to the trace. */
  say(subject: string, text: string): void {
    this.trace.say(this.now, subject, text)
  }

  /** Tells the oracles. Ignores what the rest of a turn does in a process that has just ended. */
  tell(fact: Fact): void {
    if ('term' in fact && !fact.term.process.isAlive) return
    if (fact.kind === 'term-began') this.terms += 1
    for (const judge of this.#judges) tell(judge, fact)
  }

  /** A rule is broken. The run ends here. */
  #violated(oracle: OracleId, message: string): void {
    this.violations.push({ oracle, at: this.now, message })
    this.say(oracle, `VIOLATED: ${message}`)
    this.trace.close()
  }

  #nextTurn(): (() => void) | undefined {
    if (this.violations.length > 0) return undefined
    const call = this.agenda.take(this.options.durationMs)
    if (call === undefined) return undefined
    this.now = Math.max(this.now, call.dueAt)
    return call.run
  }
}
