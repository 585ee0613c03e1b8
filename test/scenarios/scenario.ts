import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leaseRole } from '@tenure/kubernetes'
import { type CreateManagerOptions, type LeaseOptions } from 'tenure'
import type { ApiServer } from './api-server.ts'
import { LeaseJournal, type LeaseSpec, leasesPath } from './lease-journal.ts'
import { ReplicaProcess } from './replica-process.ts'
import type { ControllerSetup, ReplicaSetup } from './replica-setup.ts'
import { PATIENT } from './timings.ts'
import { recordingOf } from './traces.ts'
import { assertTraces, traceInto } from '../traces/assert-traces.ts'

/** The settings of one replica. */
export interface ReplicaOptions extends Omit<CreateManagerOptions, 'lease'> {
  /** Added to the name and the namespace of the lease. @default PATIENT */
  readonly timing?: Partial<LeaseOptions>
  /** @default one loop */
  readonly controllers?: readonly ControllerSetup[]
  readonly env?: NodeJS.ProcessEnv
  readonly argv?: readonly string[]
  /** The text of its kubeconfig. @default that of a user of its own */
  readonly credentials?: string
  /** Whether its user may stand for election. @default true */
  readonly granted?: boolean
  /** Whether a `lifeLock()` keeps the lease. @default false */
  readonly forLife?: boolean
  /** What the strategy of its own compares. @default nothing */
  readonly compare?: ReplicaSetup['compare']
  /** How far its wall clock is ahead, in milliseconds. @default 0 */
  readonly clockAheadMs?: number
}

/** The leader and its followers. */
export type Fleet = readonly [leader: ReplicaProcess, ...followers: ReplicaProcess[]]

const NO_PORT = { ops: false } as const

/** A namespace with one lease, its replicas, and an independent observer. */
export class Scenario implements AsyncDisposable {
  readonly namespace: string
  readonly leaseName = 'janitor'
  readonly lease: LeaseJournal
  readonly #server: ApiServer
  readonly #folder: string
  readonly #replicas: ReplicaProcess[] = []

  private constructor(server: ApiServer, namespace: string, parts: { lease: LeaseJournal; folder: string }) {
    this.#server = server
    this.namespace = namespace
    this.lease = parts.lease
    this.#folder = parts.folder
  }

  static async open(server: ApiServer): Promise<Scenario> {
    const namespace = `scenario-${randomBytes(4).toString('hex')}`
    await server.admin.expect('/api/v1/namespaces', {
      method: 'POST',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    })
    const lease = await LeaseJournal.follow(server.admin, { namespace, name: 'janitor' })
    return new Scenario(server, namespace, { lease, folder: await mkdtemp(join(tmpdir(), 'tenure-scenario-')) })
  }

  /** The user that the replica of this name is to the API server. */
  userOf(name: string): string {
    return `${this.namespace}-${name}`
  }

  /** Where the replica of this name writes its trace. */
  traceOf(name: string): string {
    return traceInto(this.#folder, name).TENURE_TRACE
  }

  /** Starts a replica whose identity is its name, as a user who may do what {@link leaseRole} says and nothing else. */
  async start(name: string, options: ReplicaOptions = {}): Promise<ReplicaProcess> {
    const {
      timing,
      controllers = [{ kind: 'loop' }],
      env,
      argv = [],
      credentials,
      granted = true,
      forLife = false,
      compare,
      clockAheadMs,
      ...rest
    } = options
    if (granted) await this.grant(name, timing?.strategy)
    const path = await this.writeKubeConfig(name, credentials ?? this.#server.kubeConfig(this.userOf(name)))
    const lease = { name: this.leaseName, namespace: this.namespace, ...PATIENT, ...timing }
    const replica = ReplicaProcess.start({
      name,
      setup: { options: { identity: name, ...NO_PORT, ...rest, lease }, controllers, forLife, compare, clockAheadMs },
      env: { KUBECONFIG: path, ...traceInto(this.#folder, name), ...env },
      argv,
    })
    this.#replicas.push(replica)
    return replica
  }

  /** Starts several replicas of the same kind. By the time this fulfils, one leads, which comes first, and the others follow it. */
  async startFleet(names: readonly string[], options: ReplicaOptions = {}): Promise<Fleet> {
    const replicas = await Promise.all(names.map((name) => this.start(name, options)))
    const leader = await this.leaderOf(replicas, 0)
    const followers = replicas.filter((replica) => replica !== leader)
    await Promise.all(followers.map((follower) => follower.follows(leader.name)))
    return [leader, ...followers]
  }

  /** Waits until the lease has changed hands this often, and the controllers of the one who holds it are at work. */
  async leaderOf(replicas: readonly ReplicaProcess[], transitions: number): Promise<ReplicaProcess> {
    const { holder, version } = await this.lease.waitFor(
      `a holder after ${transitions} transitions`,
      (seen) => seen.holder !== '' && seen.spec.leaseTransitions === transitions,
    )
    const leader = replicas.find(({ name }) => name === holder)
    if (leader === undefined) throw new Error(`Expected one of the replicas to lead, not ${holder}`)
    await leader.events.waitFor(
      'its loop to begin',
      (event) => event.kind === 'loop-began' && event.epoch >= BigInt(version),
    )
    return leader
  }

  /** Has the leader step down, and waits until the controllers of its successor are at work and it follows that one. */
  async handOver(leader: ReplicaProcess, successor: ReplicaProcess): Promise<void> {
    const before = { leader: leader.events.length, successor: successor.events.length }
    await leader.stepDown()
    await successor.saw('loop-began', { from: before.successor })
    await leader.follows(successor.name, { from: before.leader })
  }

  /** Lets the user of the replica stand for election, and publish a candidate where its strategy needs that. */
  async grant(name: string, strategy?: string): Promise<void> {
    const user = { kind: 'User', name: this.userOf(name), apiGroup: 'rbac.authorization.k8s.io' }
    const { namespace, leaseName } = this
    const { role, roleBinding } = leaseRole({
      ...(strategy !== undefined && { strategy }),
      name: leaseName,
      namespace,
      subjects: [user],
      roleName: name,
    })
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
    await this.#server.admin.expect(`${rbac}/roles`, { method: 'POST', body: role })
    await this.#server.admin.expect(`${rbac}/rolebindings`, { method: 'POST', body: roleBinding })
  }

  /** Writes a kubeconfig into a file that goes with the scenario. */
  async writeKubeConfig(name: string, content: string): Promise<string> {
    const path = join(this.#folder, `${name}.kubeconfig`)
    await writeFile(path, content, { mode: 0o600 })
    return path
  }

  /** Has an administrator create the lease. */
  async createLease(holder: string, leaseDurationSeconds: number): Promise<void> {
    const { namespace, leaseName: name } = this
    const metadata = { name, namespace }
    const spec: LeaseSpec = {
      ...timesOf(new Date()),
      holderIdentity: holder,
      leaseDurationSeconds,
      leaseTransitions: 0,
    }
    await this.#server.admin.expect(leasesPath(namespace), {
      method: 'POST',
      body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
    })
  }

  /** The lease as it is stored at this moment; undefined when there is none. */
  async storedLease(): Promise<LeaseSpec | undefined> {
    const { status, body } = await this.#server.admin.request(`${leasesPath(this.namespace)}/${this.leaseName}`)
    return status === 404 ? undefined : (body as { readonly spec: LeaseSpec }).spec
  }

  /** An administrator names another holder, in place of any holder. */
  async seizeLease(holder: string, leaseDurationSeconds = 3600): Promise<void> {
    const path = `${leasesPath(this.namespace)}/${this.leaseName}`
    for (;;) {
      const lease = (await this.#server.admin.expect(path)) as { spec: LeaseSpec }
      const transitions = (lease.spec.leaseTransitions ?? 0) + 1
      const times = timesOf(new Date())
      const spec = { ...times, holderIdentity: holder, leaseDurationSeconds, leaseTransitions: transitions }
      const { status } = await this.#server.admin.request(path, { method: 'PUT', body: { ...lease, spec } })
      // A renewal came in between: once more.
      if (status !== 409) return
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.lease.close()
    await Promise.all(this.#replicas.map((replica) => replica[Symbol.asyncDispose]()))
    try {
      // Some scenarios have replicas that never start.
      await assertTraces(this.#folder, {
        recordings: [recordingOf(this.#place, this.lease.versions.entries)],
        atLeast: 0,
      })
    } finally {
      await this.#remove()
    }
  }

  get #place(): string {
    return `${this.namespace}/${this.leaseName}`
  }

  async #remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function timesOf(now: Date): Pick<LeaseSpec, 'acquireTime' | 'renewTime'> {
  const time = now.toISOString().replace('Z', '000Z')
  return { acquireTime: time, renewTime: time }
}
