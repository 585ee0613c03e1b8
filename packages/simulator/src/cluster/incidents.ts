import type { Incident } from '../faults.ts'
import type { Cluster } from './cluster.ts'
import { leadForeign } from './foreign-leader.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedReplica } from './simulated-replica.ts'

/** What an incident happens to, and how badly. */
export interface Target {
  readonly cluster: Cluster
  /** The name of the lease. */
  readonly lease: string
  readonly replica: SimulatedReplica
  readonly process: SimulatedProcess
  /** The other replicas. */
  readonly others: readonly SimulatedReplica[]
  /** From 0 to 1: the share of the longest duration or the largest change. */
  readonly severity: number
}

/** What each incident does. */
export const INCIDENT_EFFECTS: Readonly<Record<Incident, (target: Target) => void>> = {
  unauthenticated: ({ cluster, process, severity }) =>
    cluster.server.refuse(process, 'unauthenticated', severity * 30_000),
  forbidden: ({ cluster, process, severity }) => cluster.server.refuse(process, 'forbidden', severity * 30_000),
  partition: ({ cluster, process, severity }) => {
    process.cutOffUntil = Math.max(process.cutOffUntil, cluster.now + severity * 40_000)
  },
  'watch-reset': ({ process, severity }) => {
    for (const watch of process.watches) watch.break(new Error('reset'), severity * 100)
  },
  'watch-late': ({ process, severity }) => {
    for (const watch of process.watches) watch.delay(severity * 20_000)
  },
  'watch-gap': ({ process, severity }) => {
    for (const watch of process.watches) watch.goDeaf(severity * 15_000)
  },
  pause: ({ process, severity }) => process.suspend(severity * 40_000, 'pause'),
  stall: ({ process, severity }) => process.suspend(severity * 5000, 'stall'),
  suspend: ({ process, severity }) => process.suspend(severity * 40_000, 'machine'),
  crash: ({ replica }) => replica.crash('crashes'),
  restart: ({ replica }) => replica.restart(),
  eviction: ({ replica, severity }) => replica.evict(severity * 10_000),
  'fleet-eviction': ({ replica, others, severity }) => {
    for (const one of [replica, ...others]) one.evict(severity * 10_000)
  },
  cordon: ({ cluster, replica, severity }) => {
    replica.cordon(true)
    cluster.agenda.add(cluster.now + severity * 60_000, () => replica.cordon(false))
  },
  'step-down': ({ replica, severity }) => replica.stepDown(severity < 0.5 ? {} : { cooldownMs: severity * 5000 }),
  'hand-over': handOver,
  'step-down-requested': ({ cluster, lease, others, severity }) => {
    const to = severity < 0.5 ? undefined : identityOf(severity, others)
    cluster.server.requestStepDown(lease, to)
  },
  'clock-rate': ({ process }) => process.changeRate(),
  'wall-clock-step': ({ process, severity }) => process.stepWallTime((severity - 0.5) * 20_000),
  'lease-edited': ({ cluster, lease }) => void cluster.server.edit(lease),
  'lease-shortened': ({ cluster, lease }) => void cluster.server.shorten(lease),
  'foreign-leader': ({ cluster, lease, severity }) =>
    leadForeign(cluster, lease, (severity * cluster.timing.leaseDurationMs) / 2),
  'lease-deleted': ({ cluster, lease }) => void cluster.server.delete(lease),
  'server-restart': ({ cluster, severity }) => cluster.server.restart(severity * 10_000),
  'store-restored': ({ cluster, severity }) => cluster.server.restoreBackup(severity * 10_000),
}

/** The identity of the current process of one of these replicas. */
function identityOf(severity: number, others: readonly SimulatedReplica[]): string {
  return others[Math.floor(severity * others.length)]?.process?.identity ?? 'a replica that is down'
}

/** Names the current process of another replica, which may be down or end before it could take over. */
function handOver({ cluster, replica, others, severity }: Target): void {
  const to = identityOf(severity, others)
  replica.stepDown({ to, answerTimeoutMs: severity * cluster.timing.leaseDurationMs })
}
