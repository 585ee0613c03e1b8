import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Toxic } from '@tenure/test-control-plane'
import { MERGE_PATCH } from './api.ts'
import type { WayKind } from './arena.ts'
import { FaultProxy, type ProxyMode } from './fault-proxy.ts'
import type { FencedCluster } from './fenced-cluster.ts'
import type { Fleet } from './fleet.ts'
import type { ReplicaProcess } from './replica-process.ts'
import { ToxicWay, type Way } from './way.ts'

/** Where a fault strikes. */
interface FaultSite {
  readonly cluster: FencedCluster
  readonly fleet: Fleet
  readonly leader: ReplicaProcess
  /** How that leader, or its replacement, reaches the API server. */
  readonly way: Way
}

/** Something that goes wrong and, after a while, is right again. */
export interface Fault {
  readonly name: string
  /** Whether somebody else than a replica writes the lease, which ends terms in ways that a replica can only learn of later. */
  readonly editsLease?: boolean
  /** The sort of way that it needs. @default any */
  readonly way?: WayKind
  /** How long it lasts, in lease durations. @default 1.5 */
  readonly lasts?: number
  readonly strike: (site: FaultSite) => unknown
  /** Undefined for what is over as soon as it has happened. */
  readonly mend?: (site: FaultSite) => unknown
  /** Whether it leaves a leader that is of no use for what comes next, and gets killed when the trial is judged. */
  readonly spoilsLeader?: boolean
}

const down = (type: Toxic['type'], attributes: Toxic['attributes']): Toxic => ({
  type,
  stream: 'downstream',
  attributes,
})
const up = (type: Toxic['type'], attributes: Toxic['attributes']): Toxic => ({ type, stream: 'upstream', attributes })

/** Nothing gets through, in either direction; connections stay open. */
export const BLACK_HOLE: readonly Toxic[] = [down('timeout', { timeout: 0 }), up('timeout', { timeout: 0 })]

const fault = (name: string, parts: Omit<Fault, 'name'>): Fault => ({ name, ...parts })

const toxic = (name: string, toxics: readonly Toxic[]): Fault => ({
  name: `the connections of the leader: ${name}`,
  way: 'toxiproxy',
  strike: ({ way }) => toxicWay(way).poison(toxics),
  mend: ({ way }) => way.mend(),
})

const http = (name: string, mode: ProxyMode): Fault => ({
  name: `the connections of the leader: ${name}`,
  way: 'http',
  strike: ({ way }) => setMode(way, mode),
  mend: ({ way }) => way.mend(),
})

const edit = (name: string, body: () => object): Fault => ({
  name: `the lease edited: ${name}`,
  editsLease: true,
  strike: (site) => editLease(site, body()),
})

async function editLease({ cluster, fleet }: Pick<FaultSite, 'cluster' | 'fleet'>, patch: object): Promise<void> {
  const { metadata } = await cluster.admin.expect('PATCH', leasePath(fleet), patch, MERGE_PATCH)
  fleet.edited.add(metadata.resourceVersion)
}

const stepWallClock = (name: string, byMs: number): Fault => ({
  name: `the wall clock of the leader ${name}`,
  strike: ({ leader }) => leader.tell({ kind: 'step-wall-clock', byMs }),
  mend: ({ leader }) => leader.tell({ kind: 'step-wall-clock', byMs: -byMs }),
})

/**
 * The clock of the leader runs at this rate, and nothing else tells it that its time is over: it may write as before, but can
 * neither renew nor see who leads, and its task heeds no signal.
 */
const slowClock = (rate: number): Fault => ({
  name: `the clock of the leader at ${rate} of the rate, its renewals refused, its task deaf`,
  way: 'http',
  lasts: 2.5,
  spoilsLeader: true,
  strike: ({ leader, way }) => {
    leader.tell({ kind: 'rate-clock', rate })
    leader.tell({ kind: 'turn-deaf' })
    setMode(way, 'no-lease')
  },
  mend: ({ way }) => way.mend(),
})

/** What `tenure step-down` writes. */
const stepDown = fault('the leader asked to step down', {
  editsLease: true,
  strike: async ({ cluster, fleet }) => {
    const { spec = {} } = await cluster.admin.expect('GET', leasePath(fleet))
    const request = JSON.stringify({ holder: spec['holderIdentity'], of: spec['acquireTime'], id: randomUUID() })
    await editLease({ cluster, fleet }, { metadata: { annotations: { 'tenure.dev/step-down-request': request } } })
  },
})

/** Faults of one fleet. */
export const FAULTS: readonly Fault[] = [
  toxic('black hole', BLACK_HOLE),
  toxic('half-open, answers lost', [down('timeout', { timeout: 0 })]),
  toxic('half-open, requests lost', [up('timeout', { timeout: 0 })]),
  toxic('reset', [down('reset_peer', { timeout: 0 })]),
  toxic('answers a second late', [down('latency', { latency: 1000 })]),
  toxic('slow reads', [up('bandwidth', { rate: 0 }), up('slicer', { average_size: 1, delay: 100_000 })]),
  fault('the connections of the leader: refused', {
    way: 'toxiproxy',
    strike: ({ way }) => toxicWay(way).cut(),
    mend: ({ way }) => way.mend(),
  }),
  http('answers lost after the commit', 'lost-answers'),
  http('watches silent', 'silent-watch'),
  http('token expired', 'unauthenticated'),
  http('nothing about leases', 'no-lease'),
  http('a storm of 429', 429),
  http('a storm of 500', 500),
  http('a storm of 503', 503),
  edit('another holder', () => ({ spec: { holderIdentity: 'somebody', leaseDurationSeconds: 1, ...timesNow() } })),
  edit('no holder', () => ({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } })),
  edit('its renewal long ago', () => ({ spec: { renewTime: '2020-01-01T00:00:00.000000Z' } })),
  edit('an annotation', () => ({ metadata: { annotations: { note: String(Math.random()) } } })),
  fault('the lease deleted', {
    editsLease: true,
    strike: ({ cluster, fleet }) => cluster.admin.expect('DELETE', leasePath(fleet)),
  }),
  fault('the rights revoked', {
    strike: ({ cluster, fleet }) => cluster.admin.expect('DELETE', bindingPath(fleet)),
    mend: ({ cluster, fleet }) => cluster.bindRole(fleet.namespace),
  }),
  stepDown,
  stepWallClock('an hour ahead', 3_600_000),
  stepWallClock('an hour behind', -3_600_000),
  fault('the leader killed', { strike: ({ leader }) => leader.signal('SIGKILL') }),
  fault('the leader asked to stop', { strike: ({ leader }) => leader.signal('SIGTERM') }),
  fault('the leader asked to stop, its task deaf', {
    spoilsLeader: true,
    strike: ({ leader }) => {
      leader.tell({ kind: 'turn-deaf' })
      leader.signal('SIGTERM')
    },
  }),
  fault('the leader out of memory', {
    lasts: 0,
    strike: ({ leader }) => leader.tell({ kind: 'exhaust-memory' }),
    // It may take a while to die of it, and leads until then, however slowly.
    mend: ({ leader }) => leader.exited,
  }),
]

/** The leader is paused for so many lease durations. Without the term check, a write that was on its way may come too late. */
export const pause = (lasts: number): Fault => ({
  name: `the leader paused for ${lasts} lease durations`,
  lasts,
  strike: ({ leader }) => leader.signal('SIGSTOP'),
  mend: ({ leader }) => leader.signal('SIGCONT'),
})

/** A clock nearly as slow as `clockRateTolerance` allows; for replicas without a watchdog, whose clock cannot be slowed down. */
export const CLOCK_WITHIN: Fault = slowClock(0.96)

/** A clock much slower: nothing in the process can know that its time is over. */
export const CLOCK_BEYOND: Fault = slowClock(0.25)

/** Something that goes wrong with all fleets at once. */
export interface ClusterFault {
  readonly name: string
  /** Whether a write that was sent in time may be carried out long after: it left while its term lasted. */
  readonly delaysWrites?: boolean
  readonly strikeAndMend: (cluster: FencedCluster) => Promise<void>
}

export const CLUSTER_FAULTS: readonly ClusterFault[] = [
  {
    name: 'the API server killed and started again',
    strikeAndMend: async ({ controlPlane }) => controlPlane.restartApiServer({ kill: true }),
  },
  {
    name: 'etcd paused for five seconds',
    delaysWrites: true,
    strikeAndMend: async ({ controlPlane }) => {
      controlPlane.pauseEtcd()
      await sleep(5000)
      controlPlane.resumeEtcd()
    },
  },
]

function toxicWay(way: Way): ToxicWay {
  if (way instanceof ToxicWay) return way
  throw new Error('Expected a way through toxiproxy')
}

function setMode(way: Way, mode: ProxyMode): void {
  if (!(way instanceof FaultProxy)) throw new Error('Expected a way through a proxy that knows HTTP')
  way.mode = mode
}

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
