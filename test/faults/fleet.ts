import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { termCheck } from '@tenure/kubernetes'
import type { FaultProxy, ProxyMode } from './fault-proxy.ts'
import { type FencedCluster, until, type Writer } from './fenced-cluster.ts'
import { Observer } from './observer.ts'
import {
  type Fences,
  type ReplicaCommand,
  type ReplicaReport,
  type ReplicaSetup,
  SETUP_VARIABLE,
} from './replica-setup.ts'

/** How a fleet is timed whose lease lasts so long: as tight as a busy machine allows. */
export function timingOf(leaseMs: number) {
  return {
    leaseDurationMs: leaseMs,
    renewDeadlineMs: 0.7 * leaseMs,
    retryPeriodMs: 0.15 * leaseMs,
    requestTimeoutMs: 0.25 * leaseMs,
    abortGraceMs: 0.2 * leaseMs,
  }
}

export const NO_FENCES: Fences = { gate: false, stamp: false, termCheck: false, watchdog: false }

/** A replica in a process of its own. */
export class Replica {
  readonly identity: string
  readonly exited: Promise<{ readonly at: bigint; readonly code: number | null; readonly signal: string | null }>
  readonly reports: ReplicaReport[] = []
  readonly #lifeFile: string
  readonly #child: ChildProcess
  readonly #heard = new EventEmitter()

  constructor(setup: ReplicaSetup) {
    this.identity = setup.identity
    this.#lifeFile = setup.lifeFile
    this.#child = fork(join(import.meta.dirname, 'replica.ts'), [], {
      execArgv: ['--conditions=@tenure/source'],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], [SETUP_VARIABLE]: JSON.stringify(setup) },
    })
    this.#child.on('message', (report) => this.#record(report as ReplicaReport))
    if (this.#child.stdout !== null) {
      createInterface(this.#child.stdout).on('line', (line) => this.#record(JSON.parse(line) as ReplicaReport))
    }
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ at: process.hrtime.bigint(), code, signal }))
    })
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  tell(command: ReplicaCommand): void {
    this.#child.send(command)
  }

  /** When a blocked replica that has ended last ran. */
  async lastRan(): Promise<bigint> {
    const bytes = await readFile(this.#lifeFile)
    return bytes.length === 0 ? 0n : bytes.readBigInt64LE(0)
  }

  /** The first report of a kind. */
  async report<K extends ReplicaReport['kind']>(kind: K): Promise<Extract<ReplicaReport, { kind: K }>> {
    for (;;) {
      const found = this.reports.find((report): report is Extract<ReplicaReport, { kind: K }> => report.kind === kind)
      if (found !== undefined) return found
      await once(this.#heard, 'report')
    }
  }

  #record(report: ReplicaReport): void {
    this.reports.push(report)
    this.#heard.emit('report')
  }
}

/** What differs between fleets. */
export interface FleetOptions {
  readonly fences: Fences
  readonly leaseMs: number
  readonly size?: number
  readonly everyMs?: number
  /** Whether each replica reaches the API server through a proxy of its own. @default false */
  readonly proxied?: boolean
}

let fleets = 0

/** Replicas of one lease in a namespace of its own, and the observer that judges them. */
export class Fleet implements AsyncDisposable {
  readonly namespace: string
  readonly observer: Observer
  readonly #cluster: FencedCluster
  readonly #options: FleetOptions
  readonly #writer: Writer
  readonly #proxies = new Map<string, FaultProxy>()
  readonly #replicas = new Map<string, Replica>()
  #started = 0

  private constructor(
    cluster: FencedCluster,
    options: FleetOptions,
    parts: { readonly namespace: string; readonly observer: Observer; readonly writer: Writer },
  ) {
    this.#cluster = cluster
    this.#options = options
    this.namespace = parts.namespace
    this.observer = parts.observer
    this.#writer = parts.writer
  }

  static async start(cluster: FencedCluster, options: FleetOptions): Promise<Fleet> {
    const namespace = `faults-${++fleets}`
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
    const fleet = new Fleet(cluster, options, { namespace, observer, writer })
    for (let count = 0; count < (options.size ?? 2); count++) await fleet.add()
    await fleet.untilWorking()
    return fleet
  }

  /** Starts one more replica. */
  async add(): Promise<Replica> {
    const identity = `replica-${++this.#started}`
    const { fences, everyMs = 5, proxied } = this.#options
    const proxy = proxied === true ? await this.#cluster.startProxy() : undefined
    if (proxy !== undefined) this.#proxies.set(identity, proxy)
    const { namespace } = this
    const replica = new Replica({
      identity,
      namespace,
      leaseName: 'janitor',
      kubeConfig: this.#cluster.kubeConfigOf(this.#writer, proxy?.url),
      timing: timingOf(this.#options.leaseMs),
      fences,
      everyMs,
      lifeFile: join(this.#cluster.folder, `${namespace}-${identity}`),
    })
    this.#replicas.set(identity, replica)
    return replica
  }

  /** Replaces the replicas whose processes have ended. */
  async replenish(): Promise<void> {
    for (const [identity, replica] of this.#replicas) {
      if (replica.isRunning) continue
      this.#replicas.delete(identity)
      await this.#proxies.get(identity)?.[Symbol.asyncDispose]()
      this.#proxies.delete(identity)
      await this.add()
    }
  }

  /** Has the connections of a replica misbehave. */
  setMode({ identity }: Replica, mode: ProxyMode): void {
    const proxy = this.#proxies.get(identity)
    if (proxy !== undefined) proxy.mode = mode
  }

  get replicas(): readonly Replica[] {
    return [...this.#replicas.values()]
  }

  /** The replica that holds the lease, as the observer saw it last. */
  get leader(): Replica | undefined {
    return this.#replicas.get(this.observer.holding.holder)
  }

  /** Resolves when a replica that runs holds the lease and adds. */
  async untilWorking(isSo: () => boolean = () => true): Promise<Replica> {
    let leader: Replica | undefined
    await until(`a leader of ${this.namespace} to work`, async () => {
      leader = this.observer.isWorking && isSo() ? this.leader : undefined
      return leader?.isRunning === true
    })
    if (leader === undefined) throw new Error('Expected a leader')
    return leader
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.replicas) replica.signal('SIGKILL')
    await Promise.all(this.replicas.map(({ exited }) => exited))
    this.observer[Symbol.dispose]()
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy[Symbol.asyncDispose]()))
    await this.#cluster.admin.send('DELETE', `/api/v1/namespaces/${this.namespace}`)
  }
}
