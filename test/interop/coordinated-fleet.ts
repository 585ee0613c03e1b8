import type { LeaseOptions } from 'tenure'
import { type ControlPlane, startPeer } from '@tenure/test-control-plane'
import type { ApiServer } from '../scenarios/api-server.ts'
import { LeaseJournal } from '../scenarios/lease-journal.ts'
import { type LoopRun, loopRuns } from '../scenarios/loop-runs.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { type NamedPeer, saidAt, SHORT } from './mixed-lease.ts'
import { monotonicAt } from './wall-clock.ts'

/** A real API server, and what started it. */
export type RealApiServer = ApiServer & { readonly controlPlane: ControlPlane }

/** The binary version of every candidate. */
const BINARY_VERSION = '1.40.0'

/** The version that a candidate emulates, or that it does not take part in coordination. */
type Emulated = `${number}.${number}.${number}` | 'plain'

/** The lease to stand for. @default that of the scenario */
export interface LeasePlace {
  readonly name: string
  readonly namespace: string
}

/** One lease with replicas of Tenure and electors of client-go, coordinated or plain, as processes with the rights of an administrator. */
export class CoordinatedFleet implements AsyncDisposable {
  readonly lease: LeaseJournal
  readonly #scenario: Scenario
  readonly #server: RealApiServer
  readonly #place: LeasePlace
  readonly #replicas: ReplicaProcess[] = []
  readonly #peers: NamedPeer[] = []

  private constructor(scenario: Scenario, parts: { server: RealApiServer; place: LeasePlace; lease: LeaseJournal }) {
    this.#scenario = scenario
    this.#server = parts.server
    this.#place = parts.place
    this.lease = parts.lease
  }

  static async open(server: RealApiServer, place?: LeasePlace): Promise<CoordinatedFleet> {
    const scenario = await Scenario.open(server)
    const chosen = place ?? { name: scenario.leaseName, namespace: scenario.namespace }
    const lease = place === undefined ? scenario.lease : await LeaseJournal.follow(server.admin, place)
    return new CoordinatedFleet(scenario, { server, place: chosen, lease })
  }

  /** Starts a replica of Tenure. */
  async startReplica(name: string, emulates: Emulated, timing = SHORT): Promise<ReplicaProcess> {
    const coordination: Partial<LeaseOptions> =
      emulates === 'plain'
        ? {}
        : { strategy: 'OldestEmulationVersion', binaryVersion: BINARY_VERSION, emulationVersion: emulates }
    const replica = await this.#scenario.start(name, {
      timing: { ...timing, drainTimeoutMs: 5000, ...this.#place, ...coordination },
      credentials: this.#server.controlPlane.adminKubeConfig(),
      granted: false,
    })
    this.#replicas.push(replica)
    return replica
  }

  /** Starts an elector of client-go, which releases on SIGTERM. */
  async startPeer(id: string, emulates: Emulated): Promise<NamedPeer> {
    const { name: lease, namespace } = this.#place
    const isPlain = emulates === 'plain'
    const peer = await startPeer({
      program: isPlain ? 'client-go-elector' : 'client-go-candidate',
      kubeConfig: this.#server.controlPlane.adminKubeConfig(),
      namespace,
      lease,
      id,
      release: true,
      leaseDurationMs: SHORT.leaseDurationMs,
      renewDeadlineMs: SHORT.renewDeadlineMs,
      retryPeriodMs: SHORT.retryPeriodMs,
      ...(!isPlain && { versions: { binaryVersion: BINARY_VERSION, emulationVersion: emulates } }),
    })
    const named = { id, peer }
    this.#peers.push(named)
    return named
  }

  /** Everything that was at work so far, in the order in which it began. */
  async runs(): Promise<readonly LoopRun[]> {
    const foreign = this.#peers.map(async ({ id, peer }): Promise<readonly LoopRun[]> => {
      if (!peer.events.some(({ event }) => event === 'started-leading')) return []
      const beganAt = await saidAt({ id, peer }, 'started-leading')
      const said = peer.events.find(({ event }) => event === 'stopped-leading')
      const endedAt = said === undefined ? process.hrtime.bigint() : monotonicAt(said.t)
      return [{ replica: id, epoch: 0n, beganAt, endedAt }]
    })
    const all = [...(await loopRuns(this.#replicas)), ...(await Promise.all(foreign)).flat()]
    return all.toSorted((a, b) => (a.beganAt < b.beganAt ? -1 : 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#peers.map(({ peer }) => peer.process.kill()))
    this.lease.close()
    await this.#scenario[Symbol.asyncDispose]()
  }
}
