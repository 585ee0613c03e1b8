import { OptionsError } from '@tenure/core'
import { assertKnownKeys, type Random } from '@tenure/core/internal'

/**
 * The faults of a single request, to the API server or to the store of the application. The rate of a fault is the share of requests
 * that have it.
 *
 * | fault | what happens |
 * |---|---|
 * | `lost-request` | the request does not arrive, and no answer comes |
 * | `lost-answer` | the request takes effect, and no answer comes |
 * | `slow-request` | the request, or its answer, takes up to twice the request timeout |
 * | `duplicate` | the request arrives twice, and the client receives either answer |
 * | `conflict` | 409, although the version matches |
 * | `throttled` | 429, with a `Retry-After` |
 * | `server-error` | 500, with or without effect |
 */
export const REQUEST_FAULTS = [
  'lost-request',
  'lost-answer',
  'slow-request',
  'duplicate',
  'conflict',
  'throttled',
  'server-error',
] as const

/**
 * The faults of a replica or of the cluster. The rate of a fault is its number per hour with faults, for the whole fleet.
 *
 * | fault | what happens |
 * |---|---|
 * | `unauthenticated`, `forbidden` | the API server answers a replica with 401 or 403 for up to 30 s |
 * | `partition` | a replica can neither send nor receive for up to 40 s |
 * | `watch-reset` | the watch of a replica disconnects and reconnects |
 * | `watch-late` | the watch of a replica reports up to 20 s late |
 * | `watch-gap` | the watch of a replica reports nothing and then disconnects; the next one reports only the latest state |
 * | `pause` | the process of a replica is suspended for up to 40 s |
 * | `stall` | the event loop of a replica is blocked for up to 5 s; then it handles messages before timers |
 * | `suspend` | the machine of a replica is suspended for up to 40 s: its clock continues, its timers stop |
 * | `crash` | a replica crashes and restarts with a new identity; the cluster may report the crash, immediately or late |
 * | `restart` | a replica stops in order and restarts |
 * | `eviction` | the Pod of a replica is evicted: its replica hears so, stops up to 10 s later and restarts |
 * | `fleet-eviction` | the Pods of all replicas are evicted at once |
 * | `cordon` | the node of a replica takes no new Pods for up to 60 s, and the replica hears so |
 * | `step-down` | a replica steps down |
 * | `hand-over` | a replica steps down to another replica by name |
 * | `step-down-requested` | an operator requests through the lease that the holder steps down, to another replica by name, which may be down, or to any; off by default, because operators do so seldom |
 * | `clock-rate` | the clock rate of a replica changes within the tolerance |
 * | `wall-clock-step` | the wall clock of a replica steps forwards or backwards |
 * | `lease-edited` | another client edits the lease: a label, a longer duration, or the transitions |
 * | `lease-shortened` | another client sets the duration to one second, removes it, or clears the holder, once the holder has renewed; off by default, because other clients obey the record |
 * | `foreign-leader` | another client acquires the lease when a replica releases it, leads for up to half a lease duration and writes every key of the store; off by default, because controllers may rely on it that no other program writes their keys |
 * | `lease-deleted` | another client deletes the lease |
 * | `server-restart` | the API server is down for up to 10 s, and its watches disconnect |
 * | `store-restored` | the store of the API server returns to one of its last 64 versions, like etcd after a restore from a backup, and is down for up to 10 s; off by default, because O1, O2, O4 and O6 cannot hold for a replica that did not see what the store lost |
 */
export const INCIDENTS = [
  'unauthenticated',
  'forbidden',
  'partition',
  'watch-reset',
  'watch-late',
  'watch-gap',
  'pause',
  'stall',
  'suspend',
  'crash',
  'restart',
  'eviction',
  'fleet-eviction',
  'cordon',
  'step-down',
  'hand-over',
  'step-down-requested',
  'clock-rate',
  'wall-clock-step',
  'lease-edited',
  'lease-shortened',
  'foreign-leader',
  'lease-deleted',
  'server-restart',
  'store-restored',
] as const

/** A fault of a single request. */
export type RequestFault = (typeof REQUEST_FAULTS)[number]

/** A fault of a replica or of the cluster. */
export type Incident = (typeof INCIDENTS)[number]

/** Every kind of fault. */
export type FaultKind = RequestFault | Incident

/** All kinds of faults. */
export const FAULT_KINDS: readonly FaultKind[] = [...REQUEST_FAULTS, ...INCIDENTS]

/** The rate of each fault: a share of requests, or a number per hour. A fault without a rate does not happen. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>

/** The default rates, from which each seed selects. */
const DEFAULT_FAULTS: FaultRates = {
  'lost-request': 0.03,
  'lost-answer': 0.03,
  'slow-request': 0.06,
  duplicate: 0.02,
  conflict: 0.01,
  throttled: 0.02,
  'server-error': 0.02,
  unauthenticated: 6,
  forbidden: 6,
  partition: 40,
  'watch-reset': 20,
  'watch-late': 20,
  'watch-gap': 20,
  pause: 30,
  stall: 30,
  crash: 30,
  restart: 20,
  eviction: 15,
  'fleet-eviction': 6,
  cordon: 15,
  'step-down': 25,
  'hand-over': 25,
  'clock-rate': 15,
  'wall-clock-step': 10,
  'lease-edited': 20,
  'lease-deleted': 6,
  'server-restart': 10,
  suspend: 20,
}

/** Checks the rates. @throws OptionsError that names an unknown kind or an invalid rate. */
export function resolveFaults(faults: FaultRates): FaultRates {
  assertKnownKeys('`faults`', faults, FAULT_KINDS)
  for (const [kind, rate] of Object.entries(faults)) {
    const isShare = REQUEST_FAULTS.some((fault) => fault === kind)
    if (typeof rate === 'number' && rate >= 0 && rate <= (isShare ? 1 : Number.MAX_VALUE)) continue
    const range = isShare ? 'a share of requests, from 0 to 1' : 'a number per hour of at least 0'
    throw OptionsError.expected(`\`faults.${kind}\` to be ${range}`, rate)
  }
  return faults
}

/**
 * Selects faults for a seed: each default fault is off, rare, normal or frequent. Runs with fewer kinds of faults find defects that runs
 * with all kinds hide (Groce et al., Swarm Testing, 2012).
 */
export function chooseFaults(random: Random): FaultRates {
  const scales = [0, 0, 0.5, 1, 1, 3]
  const chosen = Object.entries(DEFAULT_FAULTS).map(([kind, rate]) => {
    const scale = scales[Math.floor(random() * scales.length)] ?? 1
    return [kind, rate * scale] as const
  })
  return Object.fromEntries(chosen)
}
