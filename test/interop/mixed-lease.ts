import type { Peer, PeerOptions } from '@tenure/test-control-plane'
import { startPeer } from '@tenure/test-control-plane'
import type { ApiServer } from '../scenarios/api-server.ts'
import type { LeaseVersion } from '../scenarios/lease-journal.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { monotonicAt } from './wall-clock.ts'

/** The peers that compete with Tenure. */
export type PeerProgram = PeerOptions['program']

/** The timing of every candidate for one lease. */
export interface MixedTiming {
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
  readonly requestTimeoutMs: number
  readonly abortGraceMs: number
}

/** The shortest timing with which a busy machine loses no lease by itself. */
export const SHORT: MixedTiming = {
  leaseDurationMs: 3000,
  renewDeadlineMs: 2200,
  retryPeriodMs: 300,
  requestTimeoutMs: 500,
  abortGraceMs: 600,
}

/** The timing of Kubernetes components. */
export const DEFAULT: MixedTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  requestTimeoutMs: 2500,
  abortGraceMs: 4000,
}

/** As many processes as there are leases start at once. */
const START_MS = 120_000

/** One lease with Tenure replicas and peers of one kind, as processes. */
export class MixedLease implements AsyncDisposable {
  readonly scenario: Scenario
  readonly #server: ApiServer
  readonly #program: PeerProgram
  readonly #timing: MixedTiming
  readonly #peers: Peer[] = []
  #started = 0

  private constructor(scenario: Scenario, setup: { server: ApiServer; program: PeerProgram; timing: MixedTiming }) {
    this.scenario = scenario
    this.#server = setup.server
    this.#program = setup.program
    this.#timing = setup.timing
  }

  static async open(server: ApiServer, program: PeerProgram, timing: MixedTiming): Promise<MixedLease> {
    return new MixedLease(await Scenario.open(server), { server, program, timing })
  }

  /** Starts a replica of Tenure, and waits until it leads. */
  async startLeader(options: { readonly acquireDelayMs?: number } = {}): Promise<ReplicaProcess> {
    const name = `tenure-${++this.#started}`
    const replica = await this.scenario.start(name, { timing: { ...this.#timing, drainTimeoutMs: 5000, ...options } })
    await replica.saw('loop-began', { timeoutMs: START_MS })
    return replica
  }

  /** Starts a peer, which releases its lease when it is asked to end. */
  async startPeer(): Promise<NamedPeer> {
    const id = `peer-${++this.#started}`
    await this.scenario.grant(id)
    const peer = await startPeer({
      program: this.#program,
      kubeConfig: this.#server.kubeConfig(this.scenario.userOf(id)),
      namespace: this.scenario.namespace,
      lease: this.scenario.leaseName,
      id,
      release: true,
      leaseDurationMs: this.#timing.leaseDurationMs,
      renewDeadlineMs: this.#timing.renewDeadlineMs,
      retryPeriodMs: this.#timing.retryPeriodMs,
    })
    this.#peers.push(peer)
    return { id, peer }
  }

  /** Whether `holder` holds the lease, as far as the news has come. */
  isHeldBy(holder: string): boolean {
    return this.scenario.lease.last?.holder === holder
  }

  /** Whether somebody has freed the lease since then. */
  wasFreedSince(at: bigint): boolean {
    return this.scenario.lease.entries.some((seen) => seen.at >= at && seen.holder === '')
  }

  /** The last change that `holder` made before `at`, as an independent watch saw it. */
  lastChangeBy(holder: string, at: bigint): LeaseVersion {
    const change = this.scenario.lease.entries.findLast((seen) => seen.holder === holder && seen.at < at)
    if (change === undefined) throw new Error(`Expected ${holder} to have held the lease`)
    return change
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process would not get the message to end.
    await Promise.all(this.#peers.map((peer) => peer.process.kill()))
    await this.scenario[Symbol.asyncDispose]()
  }
}

/** A peer and its identity. */
export interface NamedPeer {
  readonly id: string
  readonly peer: Peer
}

/** When the peer said that its work began, or that it ended, in nanoseconds of the monotonic clock. */
export async function saidAt({ peer }: NamedPeer, event: 'started-leading' | 'stopped-leading'): Promise<bigint> {
  return monotonicAt((await peer.waitFor(event)).t)
}
