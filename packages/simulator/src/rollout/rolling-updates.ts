import type { SimulatedReplica } from '../cluster/simulated-replica.ts'
import type { Workload } from './workload.ts'

/** How a kind of workload replaces its replicas. */
export interface RollingUpdate {
  /** How often a rollout may change the leader without faults. */
  readonly maxChanges: number
  /** Starts one replica of the revision. `neverLeads`: it only follows. */
  readonly begin: (workload: Workload, revision: string, neverLeads?: boolean) => Promise<SimulatedReplica>
  /** Replaces replicas of other revisions: all, or as many as `steps`. Resolves when those that it stopped have ended. */
  readonly rollOut: (workload: Workload, revision: string, steps?: number) => Promise<void>
}

/** `maxSurge: 1, maxUnavailable: 0`: starts a replica, waits until it is ready, and stops an old one without waiting for its end. */
export const DEPLOYMENT: RollingUpdate = {
  maxChanges: 1,
  begin: async (workload, revision, neverLeads) =>
    workload.startPod(Math.floor(workload.cluster.random() * 1e5), revision, neverLeads),
  async rollOut(workload, revision, steps = Infinity) {
    const ends: Promise<void>[] = []
    for (let step = 0; step < steps && others(workload, revision).length > 0; step++) {
      if (workload.pods.size <= workload.options.replicas) {
        await workload.untilReady(await DEPLOYMENT.begin(workload, revision))
      }
      const old = others(workload, revision)
      const chosen = old[Math.floor(workload.cluster.random() * old.length)]
      if (chosen !== undefined) ends.push(workload.stopPod(chosen))
    }
    await Promise.all(ends)
  },
}

/** Stops the replica with the highest ordinal, starts it with the revision when it has ended, and waits until it is ready. */
export const STATEFUL_SET: RollingUpdate = {
  maxChanges: 2,
  async begin(workload, revision, neverLeads) {
    const [old] = others(workload, revision).toSorted((a, b) => b.place - a.place)
    if (old === undefined) throw new Error(`Every replica runs ${revision}`)
    await workload.stopPod(old)
    return workload.startPod(old.place, revision, neverLeads)
  },
  async rollOut(workload, revision, steps = Infinity) {
    for (let step = 0; step < steps && others(workload, revision).length > 0; step++) {
      await workload.untilReady(await STATEFUL_SET.begin(workload, revision))
    }
  },
}

function others({ pods }: Workload, revision: string): readonly SimulatedReplica[] {
  return [...pods].filter((pod) => pod.revision !== revision)
}
