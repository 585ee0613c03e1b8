import { setTimeout as sleep } from 'node:timers/promises'
import { MERGE_PATCH } from '../api.ts'
import type { FencedCluster } from '../fenced-cluster.ts'
import { FaultProxy, type ProxyMode } from '../fault-proxy.ts'
import type { Fleet, FleetOptions } from '../fleet.ts'
import type { ReplicaProcess } from '../replica-process.ts'
import type { ReplicaCommand } from '../replica-setup.ts'

/** The lease of every fleet. Its times are the defaults, scaled down. */
export const LEASE_MS = 3000

const TIMING = {
  leaseDurationMs: LEASE_MS,
  renewDeadlineMs: 2000,
  retryPeriodMs: 400,
  requestTimeoutMs: 500,
  abortGraceMs: 600,
  drainTimeoutMs: 6000,
}

/** The fleets of a trial. Most have one; two that do not know each other claim to be one. */
interface AlertSite {
  readonly cluster: FencedCluster
  readonly fleet: Fleet
}

/** Something that goes wrong, and the only alert that it may fire. */
export interface AlertFault {
  readonly name: string
  /** Undefined for what should wake nobody. */
  readonly alert: string | undefined
  readonly fleet?: Partial<FleetOptions>
  /** Fleets of other namespaces whose Pods run beside it, as if they were its own. @default 0 */
  readonly strays?: number
  /** Its bound: how long replicas are scraped after the fault has struck, in lease durations. */
  readonly lasts: number
  readonly strike: (site: AlertSite) => unknown
}

/** The options of the fleets of a fault. */
export function fleetOptions({ fleet }: AlertFault): FleetOptions {
  return {
    leaseMs: LEASE_MS,
    timing: { ...TIMING, ...fleet?.timing },
    servesMetrics: true,
    workMs: 50,
    restMs: 100,
    way: 'http',
    ...(fleet?.size !== undefined && { size: fleet.size }),
    ...(fleet?.onWedged !== undefined && { onWedged: fleet.onWedged }),
    ...(fleet?.isTraced !== undefined && { isTraced: fleet.isTraced }),
    fences: { gate: true, stamp: false, termCheck: false, watchdog: false },
  }
}

/** Faults that leave the cluster as it is, so that they may strike at the same time. */
export const ALERT_FAULTS: readonly AlertFault[] = [
  {
    name: 'no replica gets an answer about leases',
    alert: 'TenureNoLeader',
    lasts: 6,
    strike: ({ fleet }) => fleet.replicas.map((replica) => setMode(fleet, replica, 'no-lease')),
  },
  {
    name: 'a replica competes in another namespace',
    alert: 'TenureTwoLeaders',
    fleet: { size: 1 },
    strays: 1,
    lasts: 6,
    strike: () => {},
  },
  {
    name: 'a client takes the lease again and again',
    alert: 'TenureFlapping',
    lasts: 2,
    strike: async ({ cluster, fleet }) => {
      for (let times = 0; times < 5; times++) {
        await usurp(cluster, fleet)
        await fleet.untilWorking()
        await sleep(LEASE_MS / 2)
      }
    },
  },
  {
    name: 'the leader asked to stop, its task deaf',
    alert: 'TenureWedged',
    fleet: { onWedged: 'hold', timing: { drainTimeoutMs: 1000 } },
    lasts: 6,
    strike: async ({ fleet }) => {
      await stop(await fleet.untilWhole(), { kind: 'turn-deaf' })
    },
  },
  {
    name: 'the leader asked to stop, its task slow',
    alert: 'TenureDrainSlow',
    lasts: 4,
    strike: async ({ fleet }) => {
      await stop(await fleet.untilWhole(), { kind: 'turn-slow', ms: 1.6 * LEASE_MS })
    },
  },
  {
    // A failed renewal is repeated four times per retry period: single failures leave enough time.
    name: 'the renewals of the leader fail until late',
    alert: 'TenureRenewMargin',
    fleet: { timing: { renewDeadlineMs: 2300, abortGraceMs: 300 } },
    lasts: 12,
    strike: async ({ fleet }) => setMode(fleet, await fleet.untilWhole(), 'late-renewals'),
  },
  {
    name: 'code of a controller outlives its term',
    alert: 'TenureGateRefusals',
    lasts: 6,
    strike: async ({ cluster, fleet }) => {
      const leader = await fleet.untilWhole()
      leader.tell({ kind: 'leak' })
      await usurp(cluster, fleet)
    },
  },
  {
    name: 'a follower gets no answer about leases',
    alert: 'TenureZombieFollower',
    lasts: 12,
    strike: async ({ fleet }) => {
      const leader = await fleet.untilWhole()
      for (const replica of fleet.replicas) if (replica !== leader) setMode(fleet, replica, 'no-lease')
    },
  },
  {
    name: 'the clock of a follower at 0.8 of the rate',
    alert: 'TenureClockRate',
    fleet: { isTraced: false },
    lasts: 21,
    strike: async ({ fleet }) => {
      const leader = await fleet.untilWhole()
      for (const replica of fleet.replicas) if (replica !== leader) replica.tell({ kind: 'rate-clock', rate: 0.8 })
    },
  },
  {
    name: 'the token of the leader expired',
    alert: 'TenureCredentialsRefused',
    lasts: 6,
    strike: async ({ fleet }) => setMode(fleet, await fleet.untilWhole(), 'unauthenticated'),
  },
  {
    name: 'a rollout: every replica stopped in turn',
    alert: undefined,
    lasts: 6,
    strike: async ({ fleet }) => {
      for (const replica of fleet.replicas) {
        replica.signal('SIGTERM')
        await replica.exited
        await fleet.untilWhole()
      }
    },
  },
]

/** Strikes all fleets of the cluster. */
export const STORE_FAULT: AlertFault = {
  name: 'etcd restored from a backup',
  alert: 'TenureStoreWentBack',
  fleet: { isTraced: false },
  lasts: 3,
  strike: async ({ cluster: { controlPlane } }) => {
    const backup = await controlPlane.backUpEtcd()
    await sleep(LEASE_MS)
    await controlPlane.restoreEtcd(backup)
  },
}

/** Asks a replica to stop, whose task then does not end as it should. A signal may overtake a command. */
async function stop(leader: ReplicaProcess, command: ReplicaCommand): Promise<void> {
  leader.tell(command)
  await sleep(LEASE_MS / 10)
  leader.signal('SIGTERM')
}

/** Another holder in the lease, which nobody renews. */
async function usurp({ admin }: FencedCluster, { namespace }: Fleet): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z')
  const spec = { holderIdentity: 'somebody', leaseDurationSeconds: 1, acquireTime: now, renewTime: now }
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/janitor`
  await admin.expect('PATCH', path, { spec }, MERGE_PATCH)
}

function setMode(fleet: Fleet, replica: ReplicaProcess, mode: ProxyMode): void {
  const way = fleet.wayOf(replica)
  if (!(way instanceof FaultProxy)) throw new Error('Expected a way through a proxy that knows HTTP')
  way.mode = mode
}
