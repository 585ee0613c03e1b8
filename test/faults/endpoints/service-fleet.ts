import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, replicaEnvironment } from '@tenure/test-control-plane'
import { assertTraces, traceInto } from '../../traces/assert-traces.ts'
import type { Life } from './judge.ts'
import { monotonicNow, SliceWatch } from './slice-watch.ts'

/** The settings of a replica process. */
export interface ServiceReplicaSetup {
  readonly service: string
  readonly namespace: string
  readonly address: string
  readonly ports: readonly { readonly name: string; readonly port: number }[]
  readonly mode: 'lease' | 'leader'
  readonly leaseDurationMs: number
}

/** The options of a fleet. */
export interface ServiceFleetOptions {
  readonly service: string
  /** @default 'lease' */
  readonly mode?: ServiceReplicaSetup['mode']
  readonly leaseDurationMs: number
  /** The arguments of Node. @default those of this process, so that the replicas run from source */
  readonly execArgv?: readonly string[]
}

/** How many lines of a replica are kept. */
const KEPT_LINES = 20

/** A replica in another process, which ends with this one. */
export class ServiceReplica {
  readonly address: string
  /** When its process was started. */
  readonly startedAt: number
  /** Fulfils with the time when the process is gone. */
  readonly gone: Promise<number>
  /** From when the slice must have it; `undefined` while it need not. */
  livesFrom: number | undefined
  readonly #child: ChildProcess
  readonly #lines: string[] = []

  constructor(setup: ServiceReplicaSetup, folder: string, execArgv: readonly string[]) {
    this.address = setup.address
    this.startedAt = monotonicNow()
    this.#child = fork(join(import.meta.dirname, 'service-replica.ts'), [JSON.stringify(setup)], {
      execArgv: [...execArgv],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...replicaEnvironment(), KUBECONFIG: join(folder, 'kubeconfig'), ...traceInto(folder, setup.address) },
    })
    this.gone = once(this.#child, 'exit').then(() => monotonicNow())
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) createInterface(stream).on('line', (line) => this.#keep(line))
    }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The last lines that it printed. */
  get log(): string {
    return this.#lines.join('\n')
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  #keep(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }
}

/** Replicas of one Service without a selector, an independent watch of its slice, and what is known about their lives. */
export class ServiceFleet implements AsyncDisposable {
  readonly watch: SliceWatch
  readonly namespace: string
  readonly #options: Required<ServiceFleetOptions>
  readonly #folder: string
  readonly #server: ControlPlane
  readonly #replicas: ServiceReplica[] = []
  readonly #lives: Life[] = []
  #count = 0

  private constructor(parts: {
    readonly server: ControlPlane
    readonly watch: SliceWatch
    readonly folder: string
    readonly options: Required<ServiceFleetOptions>
  }) {
    this.#server = parts.server
    this.watch = parts.watch
    this.#folder = parts.folder
    this.#options = parts.options
    this.namespace = parts.options.service
  }

  /** Creates the Service in a namespace of the same name. */
  static async open(server: ControlPlane, given: ServiceFleetOptions): Promise<ServiceFleet> {
    const options = { mode: 'lease', execArgv: process.execArgv, ...given } as const
    const { service } = options
    await server.apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: service } },
      headlessService(service, service),
    ])
    const folder = await mkdtemp(join(tmpdir(), 'tenure-endpoints-'))
    await server.writeKubeConfig(join(folder, 'kubeconfig'))
    const watch = await SliceWatch.open(server, { namespace: service, name: service })
    return new ServiceFleet({ server, watch, folder, options })
  }

  /** The replicas that run. */
  get replicas(): readonly ServiceReplica[] {
    return this.#replicas.filter(({ isRunning }) => isRunning)
  }

  /** From when to when each replica had to be in the slice, up to now. */
  get lives(): readonly Life[] {
    const now = monotonicNow()
    const present = this.#replicas.flatMap(({ address, livesFrom }) =>
      livesFrom === undefined ? [] : [{ address, from: livesFrom, to: now }],
    )
    return [...this.#lives, ...present]
  }

  /** Starts a replica with an address that no other had. */
  spawn(address = this.#nextAddress()): ServiceReplica {
    const { service, mode, leaseDurationMs, execArgv } = this.#options
    const ports = [{ name: 'https', port: 8443 }]
    const setup = { service, namespace: this.namespace, address, ports, mode, leaseDurationMs }
    const replica = new ServiceReplica(setup, this.#folder, execArgv)
    this.#replicas.push(replica)
    return replica
  }

  /** Starts a replica and waits until it is in the slice. @throws Error with what it printed if it does not get there. */
  async start(address?: string): Promise<ServiceReplica> {
    const replica = this.spawn(address)
    await this.listed(replica, replica.startedAt)
    return replica
  }

  /** Waits until the slice has the replica, which from then on must stay in it. */
  async listed(replica: ServiceReplica, since: number): Promise<void> {
    const seen = this.watch.with(replica.address, since)
    const ended = replica.gone.then(() => {
      throw new Error(`Expected ${replica.address} in the slice, but its process ended`)
    })
    try {
      replica.livesFrom = (await Promise.race([seen, ended])).at
    } catch (cause) {
      throw new Error(`${String(cause)}. It printed:\n${replica.log}`, { cause })
    }
  }

  /** Starts or stops replicas until `size` of them are in the slice. */
  async resize(size: number): Promise<void> {
    const { replicas } = this
    await Promise.all(replicas.slice(size).map((replica) => this.end(replica, 'SIGTERM').gone))
    await Promise.all(Array.from({ length: Math.max(0, size - replicas.length) }, () => this.start()))
  }

  /** Sends a signal, from which on the slice need not have the replica. */
  end(replica: ServiceReplica, signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP'): { at: number; gone: Promise<number> } {
    const at = monotonicNow()
    const { address, livesFrom } = replica
    if (livesFrom !== undefined) this.#lives.push({ address, from: livesFrom, to: at })
    replica.livesFrom = undefined
    replica.signal(signal)
    return { at, gone: replica.gone }
  }

  /** Waits until every replica that runs has renewed its Lease with a request that it made after this wall-clock time. */
  async renewed(since: number): Promise<void> {
    while ((await this.#renewedSince(since)) < this.replicas.length) await sleep(20)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.replicas) replica.signal('SIGKILL')
    await Promise.all(this.#replicas.map(({ gone }) => gone))
    await this.watch[Symbol.asyncDispose]()
    try {
      await assertTraces(this.#folder)
    } finally {
      await rm(this.#folder, { recursive: true, maxRetries: 5 })
    }
  }

  /** How many Leases of the group were renewed since; 0 while the API server does not answer. */
  async #renewedSince(since: number): Promise<number> {
    const selector = encodeURIComponent(`tenure.dev/member-of=${this.#options.service}`)
    const path = `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases?labelSelector=${selector}`
    const answer = await this.#server.request(path).catch(() => undefined)
    if (answer?.status !== 200) return 0
    const { items } = JSON.parse(answer.text) as { items: readonly { spec: { renewTime: string } }[] }
    return items.filter(({ spec }) => Date.parse(spec.renewTime) > since).length
  }

  /** An address for benchmarks between networks, which reaches nobody. */
  #nextAddress(): string {
    this.#count += 1
    return `198.18.${Math.floor(this.#count / 250)}.${(this.#count % 250) + 1}`
  }
}

/** A Service without a selector, and without an address of its own. */
function headlessService(namespace: string, name: string) {
  const spec = { clusterIP: 'None', ports: [{ name: 'https', port: 8443 }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec }
}
