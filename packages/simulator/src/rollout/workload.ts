import type { Cluster } from '../cluster/cluster.ts'
import { SimulatedReplica } from '../cluster/simulated-replica.ts'
import type { ResolvedSimulationOptions } from '../simulation-options.ts'

/** The revision of the replicas at the beginning. */
export const FIRST_REVISION = 'r0'

/** A Pod starts its process after this long at most. */
const MAX_START_MS = 3000

/** A `preStop` hook takes this long at most. */
const MAX_PRE_STOP_MS = 10_000

/** How much longer than a drain may take a stopped Pod is left alone before it is killed. */
const SPARE_GRACE_MS = 20_000

/** The replicas of a run. A workload that rolls out starts replicas of other revisions and stops earlier ones. */
export class Workload {
  /** The replicas whose processes run, or are to run; those that stop as well. */
  readonly replicas: SimulatedReplica[] = []
  /** The replicas that are to run. */
  readonly pods: Set<SimulatedReplica> = new Set()
  readonly options: ResolvedSimulationOptions
  readonly cluster: Cluster
  #indexes = 0
  #revisions = 1
  #probeMs: number | undefined
  #preStopMs: number | undefined

  constructor(cluster: Cluster, options: ResolvedSimulationOptions) {
    this.cluster = cluster
    this.options = options
    for (let index = 0; index < options.replicas; index++) this.#add(index, options.rollouts && FIRST_REVISION)
  }

  /** Starts the replicas. */
  start(): void {
    const { agenda, random } = this.cluster
    for (const replica of this.replicas) agenda.add(random() * MAX_START_MS, () => replica.boot())
  }

  /** Whether a leader hands over to a newer revision before it is stopped. */
  get isEager(): boolean {
    return this.options.manager.rollout === 'eager'
  }

  /** A revision that no replica has run. */
  nextRevision(): string {
    return `r${this.#revisions++}`
  }

  /** Starts a replica. `neverLeads`: it only follows. */
  startPod(place: number, revision: string, neverLeads = false): SimulatedReplica {
    const { agenda, now, random } = this.cluster
    const replica = this.#add(place, revision, neverLeads)
    agenda.add(now + random() * MAX_START_MS, () => replica.boot())
    return replica
  }

  /**
   * Deletes the Pod of a replica. When its `preStop` hook has ended, the replica is stopped as a kubelet does it. Resolves when its process
   * has ended. `preStopMs`: how long the hook takes. @default the same time in the whole run, 0 in half of the runs
   */
  async stopPod(replica: SimulatedReplica, preStopMs: number = this.#usualPreStopMs): Promise<void> {
    const { drainTimeoutMs, abortGraceMs } = this.cluster.timing
    this.cluster.say(replica.name, `is stopped by the rollout, in ${Math.round(preStopMs)} ms`)
    this.pods.delete(replica)
    replica.leave()
    if (preStopMs > 0) await this.wait(preStopMs)
    await replica.stop(drainTimeoutMs + abortGraceMs + SPARE_GRACE_MS)
    this.replicas.splice(this.replicas.indexOf(replica), 1)
  }

  /** Resolves when a readiness probe of the replica has passed. */
  async untilReady(replica: SimulatedReplica): Promise<void> {
    const probeMs = (this.#probeMs ??= 50 + 3000 * this.cluster.random() ** 2)
    do await this.wait(probeMs)
    while (!(await replica.isReady()))
  }

  /** Resolves after a while of true time. */
  wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.cluster.agenda.add(this.cluster.now + ms, resolve)
    return promise
  }

  get #usualPreStopMs(): number {
    const { random } = this.cluster
    return (this.#preStopMs ??= random() < 0.5 ? 0 : random() * MAX_PRE_STOP_MS)
  }

  #add(place: number, revision: string | undefined, neverLeads = false): SimulatedReplica {
    const index = this.#indexes++
    const replica = new SimulatedReplica(this.cluster, this.options, { index, place, revision, neverLeads })
    this.replicas.push(replica)
    this.pods.add(replica)
    return replica
  }
}
