import {
  type FaultKind,
  type FaultRates,
  INCIDENTS,
  REQUEST_FAULTS,
  type Incident,
  type RequestFault,
} from '../faults.ts'
import type { FaultScript, ScriptedFault, Storm } from '../fault-script.ts'
import type { Cluster } from './cluster.ts'
import { INCIDENT_EFFECTS } from './incidents.ts'
import type { ResolvedSimulationOptions } from '../simulation-options.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedReplica } from './simulated-replica.ts'

/** The replicas that have faults, and the options of the run. */
interface Fleet {
  readonly replicas: readonly SimulatedReplica[]
  readonly options: ResolvedSimulationOptions
}

const HOUR_MS = 3_600_000

/** A period whose faults are known so far. */
type OpenStorm = Storm & { readonly faults: ScriptedFault[] }

/**
 * Decides which faults happen, and when. Periods with faults alternate with calm periods. A calm period ends every fault. A run ends calm.
 *
 * With a script, exactly its faults happen. Random numbers are taken as without one, so that the script of a run repeats that run.
 */
export class FaultInjector {
  /** How often each fault hit a replica in each state. */
  readonly coverage: Map<FaultKind, Map<string, number>> = new Map()
  isCalm = true
  readonly #cluster: Cluster
  readonly #fleet: Fleet
  readonly #requestFaults: readonly (readonly [RequestFault, number])[]
  readonly #requestFaultRate: number
  /** The possible incidents, with their rates per hour with faults. */
  readonly #incidents: readonly (readonly [Incident, number])[]
  readonly #incidentRate: number
  /** The faults of requests that are to happen in this period, in order; undefined without a script. */
  #requested: ScriptedFault[] | undefined
  readonly #script: FaultScript | undefined
  readonly #storms: OpenStorm[] = []

  constructor(cluster: Cluster, fleet: Fleet, rates: FaultRates, script: FaultScript | undefined) {
    this.#script = script
    this.#cluster = cluster
    this.#fleet = fleet
    this.#requestFaults = ratesOf(REQUEST_FAULTS, rates)
    this.#requestFaultRate = Math.min(1, total(this.#requestFaults))
    this.#incidents = ratesOf(INCIDENTS, rates)
    this.#incidentRate = total(this.#incidents) / HOUR_MS
  }

  /** The faults that have happened. */
  get script(): FaultScript {
    return this.#storms
  }

  /** Plans the periods until the end of the run. */
  start(): void {
    const { agenda } = this.#cluster
    const chosen = this.#chooseStorms()
    const storms = this.#script ?? chosen
    if (storms[0]?.from !== 0) this.#clear()
    for (const storm of storms) {
      agenda.add(storm.from, () => this.#disturb(storm))
      agenda.add(Math.min(storm.to, this.#fleet.options.durationMs), () => this.#clear())
    }
  }

  #chooseStorms(): FaultScript {
    const { random } = this.#cluster
    const { durationMs, calmMs, stormMs } = this.#fleet.options
    const storms: Storm[] = []
    if (this.#requestFaultRate === 0 && this.#incidentRate === 0) return storms
    for (let from = 0; from < durationMs;) {
      const to = from + stormMs * (0.5 + random())
      if (from > 0 && to + calmMs > durationMs) break
      storms.push({ from, to, faults: [] })
      from = to + calmMs
    }
    return storms
  }

  /** The fault of a request that the process sends now, if any. */
  requestFault(process: SimulatedProcess): RequestFault | undefined {
    if (this.isCalm) return undefined
    const dice = this.#requestFaultRate === 0 ? 1 : this.#cluster.random()
    const kind = this.#requested === undefined ? this.#pickRequestFault(dice) : this.#takeRequestFault(process.replica)
    if (kind === undefined) return undefined
    this.#count(kind, this.#replicaAt(process.replica))
    this.#note(kind, process.replica, 0)
    return kind
  }

  #pickRequestFault(number: number): RequestFault | undefined {
    let dice = number
    for (const [kind, rate] of this.#requestFaults) {
      if (dice < rate) return kind
      dice -= rate
    }
    return undefined
  }

  #takeRequestFault(replica: number): RequestFault | undefined {
    const requested = this.#requested ?? []
    const place = requested.findIndex((fault) => fault.replica === replica && fault.at <= this.#cluster.now)
    if (place < 0) return undefined
    const [fault] = requested.splice(place, 1)
    return REQUEST_FAULTS.find((kind) => kind === fault?.kind)
  }

  #replicaAt(index: number): SimulatedReplica | undefined {
    return this.#fleet.replicas.find((replica) => replica.index === index)
  }

  #note(kind: FaultKind, replica: number, severity: number): void {
    this.#storms.at(-1)?.faults.push({ at: this.#cluster.now, kind, replica, severity })
  }

  #disturb({ from, to, faults }: Storm): void {
    this.#storms.push({ from, to, faults: [] })
    this.isCalm = false
    this.#cluster.say('faults', 'begin')
    this.#cluster.tell({ kind: 'disturbed' })
    if (this.#script === undefined) this.#planIncident(to)
    else this.#planScripted(faults)
  }

  #clear(): void {
    const cluster = this.#cluster
    this.isCalm = true
    cluster.say('faults', 'end')
    cluster.server.heal()
    for (const replica of this.#fleet.replicas) replica.heal()
    cluster.tell({ kind: 'calm' })
  }

  #planIncident(until: number): void {
    const { agenda, now, random } = this.#cluster
    if (this.#incidentRate === 0) return
    const at = now - Math.log(1 - random()) / this.#incidentRate
    if (at >= until) return
    agenda.add(at, () => {
      const kind = this.#pickIncident()
      const { replicas } = this.#fleet
      const replica = replicas[Math.floor(random() * replicas.length)]
      if (replica !== undefined) this.#happen(kind, replica, replica.process === undefined ? 0 : random())
      this.#planIncident(until)
    })
  }

  /** Takes as many random numbers as {@link #planIncident} does. */
  #planScripted(faults: readonly ScriptedFault[]): void {
    const { agenda, random } = this.#cluster
    const isOfRequest = ({ kind }: ScriptedFault) => REQUEST_FAULTS.some((known) => known === kind)
    this.#requested = faults.filter(isOfRequest)
    const draw = (count: number) => {
      for (let drawn = 0; this.#incidentRate > 0 && drawn < count; drawn++) random()
    }
    draw(1)
    for (const { at, kind, replica: index, severity } of faults) {
      const incident = INCIDENTS.find((known) => known === kind)
      if (incident === undefined) continue
      agenda.add(at, () => {
        const replica = this.#replicaAt(index)
        draw(replica?.process === undefined ? 2 : 3)
        if (replica !== undefined) this.#happen(incident, replica, severity)
        draw(1)
      })
    }
  }

  #pickIncident(): Incident {
    let dice = this.#cluster.random() * total(this.#incidents)
    for (const [kind, rate] of this.#incidents) {
      if (dice < rate) return kind
      dice -= rate
    }
    return 'crash'
  }

  #happen(kind: Incident, replica: SimulatedReplica, severity: number): void {
    const cluster = this.#cluster
    const { replicas, options } = this.#fleet
    const { process } = replica
    this.#note(kind, replica.index, severity)
    if (process === undefined) return
    this.#count(kind, replica)
    cluster.say(process.identity, kind)
    const others = replicas.filter((other) => other !== replica)
    INCIDENT_EFFECTS[kind]({ cluster, lease: options.lease.name, replica, process, others, severity })
  }

  #count(kind: FaultKind, replica: SimulatedReplica | undefined): void {
    const state = replica?.state ?? 'down'
    const states = this.coverage.get(kind) ?? new Map<string, number>()
    this.coverage.set(kind, states.set(state, (states.get(state) ?? 0) + 1))
  }
}

function ratesOf<K extends FaultKind>(kinds: readonly K[], rates: FaultRates): readonly (readonly [K, number])[] {
  return kinds.flatMap((kind) => {
    const rate = rates[kind] ?? 0
    return rate > 0 ? [[kind, rate] as const] : []
  })
}

function total(rates: readonly (readonly [FaultKind, number])[]): number {
  return rates.reduce((sum, [, rate]) => sum + rate, 0)
}
