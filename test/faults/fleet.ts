import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { termCheck } from '@tenure/kubernetes'
import { assertTraces, traceInto } from '../traces/assert-traces.ts'
import type { Arena, WayKind } from './arena.ts'
import { until, type Writer } from './fenced-cluster.ts'
import { Observer } from './observer.ts'
import { ReplicaProcess, type ReplicaEvent } from './replica-process.ts'
import type { Fences, ReplicaSetup } from './replica-setup.ts'
import type { TimingOptions } from '@tenure/core/internal'
import type { Way } from './way.ts'
import type { BundledProgram } from '../scenarios/bundle-program.ts'

/** The timing of a fleet with this lease duration: as tight as a busy machine allows. */
export function timingOf(leaseMs: number) {
  return {
    leaseDurationMs: leaseMs,
    renewDeadlineMs: 0.7 * leaseMs,
    retryPeriodMs: 0.2 * leaseMs,
    requestTimeoutMs: 0.25 * leaseMs,
    abortGraceMs: 0.2 * leaseMs,
    drainTimeoutMs: 0.5 * leaseMs,
  }
}

export const NO_FENCES: Fences = { gate: false, stamp: false, termCheck: false, watchdog: false }

/** The options of a fleet. */
export interface FleetOptions {
  readonly fences: Fences
  readonly leaseMs: number
  /** @default 2 */
  readonly size?: number
  /** How long a replica works on an addition, between reading and writing. */
  readonly workMs: number
  /** How long it rests between two additions. @default 1 */
  readonly restMs?: number
  /** Whether its replicas run with a lower priority: for experiments that measure no times. @default false */
  readonly makesWay?: boolean
  /** How the replicas reach the API server. @default 'direct' */
  readonly way?: WayKind
  /** @default that of {@link timingOf} */
  readonly timing?: TimingOptions
  /** Whether its replicas serve `/metrics`. @default false */
  readonly servesMetrics?: boolean
  /** @default 'exit' */
  readonly onWedged?: ReplicaSetup['onWedged']
  /** Whether the traces of its replicas are checked at its end: not if their clocks are slower than tolerated, or the store goes back. @default true */
  readonly isTraced?: boolean
  /** What its replicas run. @default that of the arena */
  readonly program?: BundledProgram
}

/** The place of a replica. Another process takes it when the process has ended. */
interface Seat {
  readonly way: Way
  replica: ReplicaProcess
}

/** The maximum number of kept events. */
const KEPT_EVENTS = 120

let fleets = 0

/** The replicas of one lease in a separate namespace, and their observer. */
export class Fleet implements AsyncDisposable {
  readonly namespace: string
  readonly observer: Observer
  readonly options: FleetOptions
  /** The versions of the lease that no replica wrote. */
  readonly edited = new Set<string>()
  readonly #arena: Arena
  readonly #writer: Writer
  readonly #seats: Seat[] = []
  readonly #events: ReplicaEvent[] = []
  #started = 0

  private constructor(
    arena: Arena,
    options: FleetOptions,
    parts: { readonly namespace: string; readonly observer: Observer; readonly writer: Writer },
  ) {
    this.#arena = arena
    this.options = options
    this.namespace = parts.namespace
    this.observer = parts.observer
    this.#writer = parts.writer
  }

  /** Starts the replicas, in turn with other fleets. Resolves when all of them compete and one works. */
  static start(arena: Arena, options: FleetOptions): Promise<Fleet> {
    return arena.inTurn(() => Fleet.#start(arena, options))
  }

  static async #start(arena: Arena, options: FleetOptions): Promise<Fleet> {
    const { cluster } = arena
    const namespace = `faults-${++fleets}`
    await mkdir(join(arena.folder, namespace))
    await cluster.createNamespace(namespace)
    const lease = { name: 'janitor', namespace }
    if (options.fences.termCheck) {
      await cluster.apply(termCheck({ lease, resources: [{ apiGroup: '', resources: ['configmaps'] }] }))
      await cluster.untilTermCheckHolds(namespace)
    }
    const counter = { metadata: { name: 'counter' }, data: { count: '0' } }
    await cluster.admin.expect('POST', `/api/v1/namespaces/${namespace}/configmaps`, counter)
    const writer = await cluster.createWriter(namespace)
    const observer = await Observer.start(cluster.observing, namespace)
    const fleet = new Fleet(arena, options, { namespace, observer, writer })
    try {
      for (let count = 0; count < (options.size ?? 2); count++) {
        const way = await arena.openWay(options.way ?? 'direct')
        fleet.#seats.push({ way, replica: fleet.#startReplica(way) })
      }
      await fleet.untilWhole()
      return fleet
    } catch (error) {
      await fleet[Symbol.asyncDispose]()
      throw error
    }
  }

  get replicas(): readonly ReplicaProcess[] {
    return this.#seats.map(({ replica }) => replica)
  }

  /** How a replica reaches the API server. */
  wayOf(replica: ReplicaProcess): Way {
    const seat = this.#seats.find((candidate) => candidate.replica === replica)
    if (seat === undefined) throw new Error(`Expected ${replica.identity} to be of ${this.namespace}`)
    return seat.way
  }

  /** The replica that holds the lease, by the last observation. */
  get leader(): ReplicaProcess | undefined {
    return this.replicas.find(({ identity }) => identity === this.observer.holding.holder)
  }

  /** Replaces replicas whose processes have ended. @throws Error if a process failed to start. */
  replenish(): void {
    for (const seat of this.#seats) {
      if (seat.replica.isRunning) continue
      if (seat.replica.couldNotStart) throw new Error('A replica could not start')
      seat.replica = this.#startReplica(seat.way)
    }
  }

  /** Resolves when a running replica holds the lease and adds. Replaces replicas that end in the meantime. */
  async untilWorking(isSo: () => boolean = () => true): Promise<ReplicaProcess> {
    let leader: ReplicaProcess | undefined
    await until(`a leader of ${this.namespace} to work`, async () => {
      this.replenish()
      leader = this.observer.isWorking && isSo() ? this.leader : undefined
      return leader?.isRunning === true
    }).catch((cause: unknown) => {
      throw new Error(['There is no leader', ...this.eventsSince()].join('\n'), { cause })
    })
    if (leader === undefined) throw new Error('Expected a leader')
    return leader
  }

  /** Like `untilWorking()`, and waits until all other replicas compete as well. */
  untilWhole(): Promise<ReplicaProcess> {
    return this.untilWorking(() => this.replicas.every(({ isStanding }) => isStanding))
  }

  /** The events of the replicas since then, one line each, with the milliseconds since then. */
  eventsSince(since = Date.now() - 10_000): readonly string[] {
    const events = this.#events.filter(({ at }) => at >= since).toSorted((a, b) => a.at - b.at)
    return events.map(({ at, text }) => `${String(at - since).padStart(6)} ${text}`)
  }

  /** Keeps the latest events. */
  note(event: ReplicaEvent): void {
    this.#events.push(event)
    if (this.#events.length > KEPT_EVENTS) this.#events.shift()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.replicas) replica.signal('SIGKILL')
    await Promise.all(this.replicas.map(({ exited }) => exited))
    this.observer[Symbol.dispose]()
    await this.#arena.cluster.admin.send('DELETE', `/api/v1/namespaces/${this.namespace}`)
    if (this.options.isTraced !== false) await assertTraces(this.#folder, { edited: this.edited })
  }

  /** For what its replicas leave behind. */
  get #folder(): string {
    return join(this.#arena.folder, this.namespace)
  }

  #startReplica(way: Way): ReplicaProcess {
    const identity = `replica-${++this.#started}`
    const { fences, workMs, restMs = 1, leaseMs, timing = timingOf(leaseMs), isTraced = true } = this.options
    const { namespace } = this
    const setup: ReplicaSetup = {
      identity,
      namespace,
      leaseName: 'janitor',
      kubeConfig: this.#arena.cluster.kubeConfigOf(this.#writer, way.url),
      timing,
      servesMetrics: this.options.servesMetrics === true,
      onWedged: this.options.onWedged ?? 'exit',
      fences,
      workMs,
      restMs,
      lifeFile: join(this.#folder, identity),
      traceFile: isTraced ? traceInto(this.#folder, identity).TENURE_TRACE : undefined,
    }
    const replica = new ReplicaProcess(this.options.program ?? this.#arena.program, setup, (event) => this.note(event))
    if (this.options.makesWay === true) replica.makeWay()
    return replica
  }
}
