import {
  type FaultKind,
  type FaultRates,
  INCIDENTS,
  REQUEST_FAULTS,
  type Incident,
  type RequestFault,
} from '../faults.ts'
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

/** Decides which faults happen, and when. Periods with faults alternate with calm periods. A calm period ends every fault. A run ends calm. */
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

  constructor(cluster: Cluster, fleet: Fleet, rates: FaultRates) {
    this.#cluster = cluster
    this.#fleet = fleet
    this.#requestFaults = ratesOf(REQUEST_FAULTS, rates)
    this.#requestFaultRate = Math.min(1, total(this.#requestFaults))
    this.#incidents = ratesOf(INCIDENTS, rates)
    this.#incidentRate = total(this.#incidents) / HOUR_MS
  }

  /** Plans the periods until the end of the run. */
  start(): void {
    const { random, agenda } = this.#cluster
    const { durationMs, calmMs, stormMs } = this.#fleet.options
    if (this.#requestFaultRate === 0 && this.#incidentRate === 0) {
      this.#clear()
      return
    }
    for (let at = 0; at < durationMs;) {
      const stormEnd = at + stormMs * (0.5 + random())
      const end = Math.max(stormEnd, 0) + calmMs
      if (at > 0 && end > durationMs) return
      agenda.add(at, () => this.#disturb(stormEnd))
      agenda.add(Math.min(stormEnd, durationMs), () => this.#clear())
      at = end
    }
  }

  /** The fault of a request that the process sends now, if any. */
  requestFault(process: SimulatedProcess): RequestFault | undefined {
    const { random } = this.#cluster
    if (this.isCalm || this.#requestFaultRate === 0) return undefined
    let dice = random()
    if (dice >= this.#requestFaultRate) return undefined
    for (const [kind, rate] of this.#requestFaults) {
      if (dice < rate) {
        this.#count(
          kind,
          this.#fleet.replicas.find(({ index }) => index === process.replica),
        )
        return kind
      }
      dice -= rate
    }
    return undefined
  }

  #disturb(until: number): void {
    this.isCalm = false
    this.#cluster.say('faults', 'begin')
    this.#cluster.tell({ kind: 'disturbed' })
    this.#planIncident(until)
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
      this.#happen(this.#pickIncident())
      this.#planIncident(until)
    })
  }

  #pickIncident(): Incident {
    let dice = this.#cluster.random() * total(this.#incidents)
    for (const [kind, rate] of this.#incidents) {
      if (dice < rate) return kind
      dice -= rate
    }
    return 'crash'
  }

  #happen(kind: Incident): void {
    const cluster = this.#cluster
    const { random } = cluster
    const { replicas, options } = this.#fleet
    const replica = replicas[Math.floor(random() * replicas.length)]
    const process = replica?.process
    if (replica === undefined || process === undefined) return
    this.#count(kind, replica)
    const severity = random()
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
