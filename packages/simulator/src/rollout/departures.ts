import type { SimulatedReplica } from '../cluster/simulated-replica.ts'
import type { WorkloadKind } from '../simulation-options.ts'
import type { Rollout } from './rollout.ts'
import type { Workload } from './workload.ts'

/** All of these hear that they are about to be stopped within this long, as when one command deletes all Pods. */
const SPREAD_MS = 300

/** Between the deletion of Pods and the order to stop them, a replacement starts and joins the standbys. */
const LEAST_PRE_STOP_MS = 12_000

/** Nodes take Pods again after this long at most. */
const MAX_DRAIN_MS = 30_000

/** Replicas that are about to be stopped although nothing is rolled out. */
export function departures(workload: Workload, kind: WorkloadKind, revision: string): Rollout {
  const dice = workload.cluster.random()
  if (dice < 0.4) return everyPodDeleted(workload, kind, revision)
  if (dice < 0.7) return nodesCordoned(workload)
  return nodeDrained(workload, kind, revision)
}

/**
 * All Pods are deleted at once. A Deployment replaces them at once, so that the leader hands over to a replacement. A StatefulSet replaces
 * each when it has ended: until the order to stop, which comes after the end of what is observed, the leader leads on.
 */
function everyPodDeleted(workload: Workload, kind: WorkloadKind, revision: string): Rollout {
  const isReplaced = kind === 'Deployment'
  const preStopMs = LEAST_PRE_STOP_MS + workload.cluster.random() * LEAST_PRE_STOP_MS
  const ends: Promise<void>[] = []
  const places: number[] = []
  return {
    what: `the deletion of all Pods${isReplaced ? ', which are replaced,' : ''}`,
    maxChanges: isReplaced ? 1 : 0,
    async run() {
      const leaving = [...workload.pods]
      for (const pod of leaving) {
        places.push(pod.place)
        ends.push(leaveSoon(workload, pod, preStopMs))
        if (isReplaced) workload.startPod(pod.place, revision)
      }
      await (isReplaced ? Promise.all(ends) : workload.wait(LEAST_PRE_STOP_MS / 2))
    },
    async afterwards() {
      await Promise.all(ends)
      if (!isReplaced) for (const place of places) workload.startPod(place, revision)
    },
  }
}

async function leaveSoon(workload: Workload, pod: SimulatedReplica, preStopMs: number): Promise<void> {
  await workload.wait(workload.cluster.random() * SPREAD_MS)
  await workload.stopPod(pod, preStopMs)
}

/** Some nodes take no new Pods for a while. Their Pods stay, and so does the leader. */
function nodesCordoned(workload: Workload): Rollout {
  const { random } = workload.cluster
  return {
    what: 'a drain of nodes that is called off',
    maxChanges: 0,
    async run() {
      const share = random() < 0.5 ? 1 : random()
      const chosen = [...workload.pods].filter(() => random() < share)
      for (const pod of chosen) pod.cordon(true)
      await workload.wait(random() * MAX_DRAIN_MS)
      for (const pod of chosen) pod.cordon(false)
    },
  }
}

/** A node is cordoned, and some time later its Pod is evicted. The replacement starts at once, or when a StatefulSet's Pod has ended. */
function nodeDrained(workload: Workload, kind: WorkloadKind, revision: string): Rollout {
  const { random } = workload.cluster
  return {
    what: 'a drain of a node',
    maxChanges: 1,
    async run() {
      const pods = [...workload.pods]
      const pod = pods[Math.floor(random() * pods.length)]
      if (pod === undefined) return
      pod.cordon(true)
      await workload.wait(random() * MAX_DRAIN_MS)
      const end = workload.stopPod(pod)
      if (kind === 'StatefulSet') await end
      workload.startPod(pod.place, revision)
      await end
    },
  }
}
