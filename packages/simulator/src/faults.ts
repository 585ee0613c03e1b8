import { OptionsError } from '@tenure/core'
import { assertKnownKeys, type Random } from '@tenure/core/internal'

/**
 * What can go wrong with a single request, whether to the API server or to the store of the application. Its rate is the share of
 * requests that it happens to.
 *
 * | fault | what happens |
 * |---|---|
 * | `lost-request` | the request never arrives, and no answer comes |
 * | `lost-answer` | the request takes effect, and no answer comes |
 * | `slow-request` | the request, or its answer, takes up to twice the request timeout |
 * | `duplicate` | the request arrives twice; either answer may be the one that comes |
 * | `conflict` | 409 although the version is the stored one |
 * | `throttled` | 429, with a time to wait |
 * | `server-error` | 500: the request may have taken effect, or not |
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
 * What happens to a replica or to the cluster at some moment. Its rate is how often that is in an hour of disturbed time, for the
 * whole fleet.
 *
 * | fault | what happens |
 * |---|---|
 * | `unauthenticated`, `forbidden` | the API server answers a replica with 401 or 403 for up to 30 s |
 * | `partition` | nothing gets from or to a replica for up to 40 s |
 * | `watch-reset` | the watch of a replica breaks and connects again |
 * | `watch-late` | the watch of a replica reports up to 20 s late |
 * | `watch-gap` | the watch of a replica reports nothing, then breaks; what was missed is seen in one piece |
 * | `pause` | the process of a replica is suspended for up to 40 s |
 * | `stall` | the event loop of a replica is blocked for up to 5 s; what came in is handled before the timers that are due |
 * | `suspend` | the machine of a replica is suspended for up to 40 s: its clock goes on, its timers stand still |
 * | `crash` | a replica dies and starts again under a new identity; the cluster may report the death, at once or late |
 * | `restart` | a replica stops and starts again |
 * | `step-down` | a replica steps down |
 * | `hand-over` | a replica steps down in favour of another replica |
 * | `clock-rate` | the clock of a replica goes at another rate, within the tolerance |
 * | `wall-clock-step` | the wall clock of a replica is set, forwards or backwards |
 * | `lease-edited` | somebody edits the lease: labels, annotations, a longer duration, the transitions |
 * | `lease-shortened` | somebody states a duration of one second, or of none, or empties the holder; not among the default faults, because a replica that starts after it obeys the record |
 * | `lease-deleted` | somebody deletes the lease |
 * | `server-restart` | the API server is gone for up to 10 s; its watches break |
 * | `store-restored` | the store of the API server goes back to one of its last 64 versions, as etcd restored from a backup, and is gone for up to 10 s; not among the default faults, because O1, O2, O4 and O6 cannot hold for a replica that did not see what was forgotten |
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
  'step-down',
  'hand-over',
  'clock-rate',
  'wall-clock-step',
  'lease-edited',
  'lease-shortened',
  'lease-deleted',
  'server-restart',
  'store-restored',
] as const

/** A fault of a single request. */
export type RequestFault = (typeof REQUEST_FAULTS)[number]

/** A fault that happens at some moment. */
export type Incident = (typeof INCIDENTS)[number]

/** Every kind of fault. */
export type FaultKind = RequestFault | Incident

/** All kinds of faults. */
export const FAULT_KINDS: readonly FaultKind[] = [...REQUEST_FAULTS, ...INCIDENTS]

/** How often each fault happens: a share of requests, or a number an hour. What is not named does not happen. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>

/** The rates that are used where none are given, before each seed has made its choice of them. */
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
  'step-down': 25,
  'hand-over': 25,
  'clock-rate': 15,
  'wall-clock-step': 10,
  'lease-edited': 20,
  'lease-deleted': 6,
  'server-restart': 10,
  suspend: 20,
}

/** Checks given rates. @throws OptionsError naming the kind that is unknown or the rate that is wrong. */
export function resolveFaults(faults: FaultRates): FaultRates {
  assertKnownKeys('`faults`', faults, FAULT_KINDS)
  for (const [kind, rate] of Object.entries(faults)) {
    const isShare = REQUEST_FAULTS.some((fault) => fault === kind)
    if (typeof rate === 'number' && rate >= 0 && rate <= (isShare ? 1 : Number.MAX_VALUE)) continue
    const range = isShare ? 'a share of requests, from 0 to 1' : 'a number of times an hour, of at least 0'
    throw OptionsError.expected(`\`faults.${kind}\` to be ${range}`, rate)
  }
  return faults
}

/**
 * A seed's own choice among the default faults: each is left out, is as usual, or is frequent. A run in which everything goes
 * wrong at once hides what only a few faults together can show (Groce et al., Swarm Testing, 2012).
 */
export function chooseFaults(random: Random): FaultRates {
  const scales = [0, 0, 0.5, 1, 1, 3]
  const chosen = Object.entries(DEFAULT_FAULTS).map(([kind, rate]) => {
    const scale = scales[Math.floor(random() * scales.length)] ?? 1
    return [kind, rate * scale] as const
  })
  return Object.fromEntries(chosen)
}
