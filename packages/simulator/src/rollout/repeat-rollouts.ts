import type { SimulatedReplica } from '../cluster/simulated-replica.ts'
import type { WorkloadKind } from '../simulation-options.ts'
import { departures } from './departures.ts'
import type { Rollout } from './rollout.ts'
import { DEPLOYMENT, STATEFUL_SET, type RollingUpdate } from './rolling-updates.ts'
import { FIRST_REVISION, type Workload } from './workload.ts'

const UPDATES: Readonly<Record<WorkloadKind, RollingUpdate>> = { Deployment: DEPLOYMENT, StatefulSet: STATEFUL_SET }

/** A stopped leader is succeeded within this long. */
const SETTLE_MS = 5000

const OFFER = 'tenure.dev/transfer-offer'

/** The pauses between rollouts are for this lease duration. With a longer one they are longer, so that a lease can expire in a pause. */
const USUAL_LEASE_MS = 15_000

/** How often to ask whether a handover has ended. */
const HANDOVER_MS = 50

/** How much of what happens is no rollout. */
const SHARE_OF_DEPARTURES = 0.25

/**
 * Rolls out again and again. Some rollouts are undone half way, are stuck, or keep a canary; some find the leader in a drain. In between,
 * Pods are deleted and nodes are drained.
 */
export async function repeatRollouts(workload: Workload, kind: WorkloadKind): Promise<never> {
  const { random } = workload.cluster
  const update = UPDATES[kind]
  const slowness = Math.max(1, workload.options.timing.leaseDurationMs / USUAL_LEASE_MS)
  for (let revision = FIRST_REVISION; ;) {
    await workload.wait(slowness * (20_000 + random() * 40_000))
    if (random() < SHARE_OF_DEPARTURES) {
      await observed(workload, departures(workload, kind, revision), false)
      continue
    }
    const next = workload.nextRevision()
    const dice = random()
    if (dice < 0.5) await observed(workload, complete(workload, update, next), random() < 0.25)
    else if (dice < 0.7) await observed(workload, undone(workload, update, revision, next), random() < 0.25)
    else if (dice < 0.85) await observed(workload, stuck(workload, update, revision, next), false)
    else {
      const neverLeads = dice > 0.93 && workload.options.replicas > 1
      await observed(workload, canary(workload, update, { revision, next, neverLeads }), random() < 0.25)
    }
    if (dice < 0.5) revision = next
  }
}

/**
 * Tells the oracles. `isDraining`: the leader steps down as the rollout begins. That, or a drain that began before, is one more change.
 */
async function observed(
  workload: Workload,
  { maxChanges, run, afterwards, ...rollout }: Rollout,
  isDraining: boolean,
): Promise<void> {
  const { cluster, replicas, options } = workload
  const leader = isDraining ? replicas.find(({ state }) => state === 'leading') : undefined
  const isEnding = leader !== undefined || replicas.some(({ state }) => ['draining', 'releasing'].includes(state))
  cluster.say('rollout', rollout.what)
  // An election controller names old and new replicas alike.
  const promised = options.coordination === undefined ? maxChanges + (isEnding ? 1 : 0) : undefined
  cluster.tell({ kind: 'rollout-began', ...rollout, maxChanges: promised })
  leader?.stepDown({})
  await run()
  await workload.wait(SETTLE_MS)
  cluster.say('rollout', 'ends')
  cluster.tell({ kind: 'rollout-ended' })
  await afterwards?.()
}

function complete(workload: Workload, update: RollingUpdate, next: string): Rollout {
  return {
    what: `a rollout of ${next}`,
    maxChanges: update.maxChanges,
    run: () => update.rollOut(workload, next),
  }
}

function undone(workload: Workload, update: RollingUpdate, revision: string, next: string): Rollout {
  const { cluster, options } = workload
  const steps = 1 + Math.floor(cluster.random() * (options.replicas - 1))
  return {
    what: `a rollout of ${next} that is undone after ${steps} replicas`,
    maxChanges: 2 * update.maxChanges,
    async run() {
      await update.rollOut(workload, next, steps)
      await update.rollOut(workload, revision)
    },
  }
}

/**
 * The first replica of the new revision crashes until the rollout is undone. An eager leader hands over to it whenever it lives. Once it has
 * crashed, no leader makes way for it, although it is still on the list.
 */
function stuck(workload: Workload, update: RollingUpdate, revision: string, next: string): Rollout {
  const { cluster } = workload
  let pod: SimulatedReplica | undefined
  return {
    what: `a rollout of ${next} that is stuck`,
    maxChanges: update.maxChanges - 1,
    ...(workload.isEager && { isCrashing: ({ identity }) => identity.startsWith(`${pod?.name}-`) }),
    async run() {
      pod = await update.begin(workload, next)
      for (let crashes = 1 + Math.floor(cluster.random() * 6); crashes > 0; crashes--) {
        await workload.wait(200 + cluster.random() * 10_000)
        while (isSuccessor(workload, pod)) await workload.wait(HANDOVER_MS)
        pod.crash('crashes as the rollout is stuck')
      }
      await update.rollOut(workload, revision)
    },
  }
}

/** Whether the lease is being handed over to this replica. A crash in between costs one more change. */
function isSuccessor({ cluster, options }: Workload, { process, state }: SimulatedReplica): boolean {
  const lease = cluster.server.read(options.lease.name)
  if (process === undefined || lease.kind === 'absent') return false
  const { holderIdentity, annotations } = lease.record
  const offer = JSON.parse(annotations[OFFER] ?? '{}') as { readonly to?: string }
  return offer.to === process.identity || (holderIdentity === process.identity && state !== 'leading')
}

/**
 * One replica of another revision stays beside the fleet for a while. An eager leader hands over to it, unless it never leads: then the
 * leader changes only if the replica takes its place.
 */
function canary(
  workload: Workload,
  update: RollingUpdate,
  { revision, next, neverLeads }: { readonly revision: string; readonly next: string; readonly neverLeads: boolean },
): Rollout {
  return {
    what: `a canary of ${next}${neverLeads ? ' that never leads' : ''}`,
    maxChanges: neverLeads ? update.maxChanges - 1 : 2 * update.maxChanges - (workload.isEager ? 0 : 1),
    async run() {
      await workload.untilReady(await update.begin(workload, next, neverLeads))
      await workload.wait(workload.cluster.random() * 60_000)
      await update.rollOut(workload, revision)
    },
  }
}
