import { setTimeout as sleep } from 'node:timers/promises'
import { MERGE_PATCH } from './api.ts'
import type { FencedCluster } from './fenced-cluster.ts'
import type { ProxyMode } from './fault-proxy.ts'
import type { Fleet, Replica } from './fleet.ts'

/** Where a fault strikes. */
interface FaultSite {
  readonly cluster: FencedCluster
  readonly fleet: Fleet
  readonly leader: Replica
}

/** Something that goes wrong and, after a while, is right again. */
export interface Fault {
  readonly name: string
  /** Whether somebody else than a replica writes the lease, which ends terms in ways that a replica can only learn of later. */
  readonly editsLease?: boolean
  readonly strike: (site: FaultSite) => unknown
  readonly mend?: (site: FaultSite) => unknown
}

const PROXY_MODES: readonly ProxyMode[] = [
  'black-hole',
  'half-open',
  'lost-answers',
  'reset',
  'slow',
  'silent-watch',
  'unauthenticated',
  429,
  500,
  503,
]

const connection = (mode: ProxyMode): Fault => ({
  name: `the connections of the leader: ${mode}`,
  strike: ({ fleet, leader }) => fleet.setMode(leader, mode),
  mend: ({ fleet, leader }) => fleet.setMode(leader, 'pass'),
})

const edit = (name: string, body: () => object): Fault => ({
  name: `the lease edited: ${name}`,
  editsLease: true,
  strike: ({ cluster, fleet }) => cluster.admin.expect('PATCH', leasePath(fleet), body(), MERGE_PATCH),
})

/** Faults of one fleet. */
export const FAULTS: readonly Fault[] = [
  ...PROXY_MODES.map(connection),
  edit('another holder', () => ({ spec: { holderIdentity: 'somebody', leaseDurationSeconds: 1, ...timesNow() } })),
  edit('no holder', () => ({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } })),
  edit('its renewal long ago', () => ({ spec: { renewTime: '2020-01-01T00:00:00.000000Z' } })),
  edit('an annotation', () => ({ metadata: { annotations: { note: String(Math.random()) } } })),
  {
    name: 'the lease deleted',
    editsLease: true,
    strike: ({ cluster, fleet }) => cluster.admin.expect('DELETE', leasePath(fleet)),
  },
  {
    name: 'the rights revoked',
    strike: ({ cluster, fleet }) => cluster.admin.expect('DELETE', bindingPath(fleet)),
    mend: ({ cluster, fleet }) => cluster.bindRole(fleet.namespace),
  },
  {
    name: 'the wall clock of the leader an hour ahead',
    strike: ({ leader }) => leader.tell({ kind: 'step-wall-clock', byMs: 3_600_000 }),
    mend: ({ leader }) => leader.isRunning && leader.tell({ kind: 'step-wall-clock', byMs: -3_600_000 }),
  },
  {
    name: 'the wall clock of the leader an hour behind',
    strike: ({ leader }) => leader.tell({ kind: 'step-wall-clock', byMs: -3_600_000 }),
    mend: ({ leader }) => leader.isRunning && leader.tell({ kind: 'step-wall-clock', byMs: 3_600_000 }),
  },
  { name: 'the leader killed', strike: ({ leader }) => leader.signal('SIGKILL') },
  { name: 'the leader asked to stop', strike: ({ leader }) => leader.signal('SIGTERM') },
]

/** Faults that strike all fleets at once. */
export const CLUSTER_FAULTS: readonly (Pick<Fault, 'name'> & {
  readonly strikeAndMend: (cluster: FencedCluster) => Promise<void>
})[] = [
  {
    name: 'the API server killed and started again',
    strikeAndMend: async ({ controlPlane }) => controlPlane.restartApiServer({ kill: true }),
  },
  {
    name: 'etcd paused for five seconds',
    strikeAndMend: async ({ controlPlane }) => {
      controlPlane.pauseEtcd()
      await sleep(5000)
      controlPlane.resumeEtcd()
    },
  },
]

function leasePath({ namespace }: Fleet): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/janitor`
}

function bindingPath({ namespace }: Fleet): string {
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings/janitor-leader-election`
}

function timesNow() {
  const now = new Date().toISOString().replace('Z', '000Z')
  return { acquireTime: now, renewTime: now }
}
