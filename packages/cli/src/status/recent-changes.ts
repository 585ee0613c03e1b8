import { integerAt, objectAt, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import { leaseKey } from '../cluster/leases.ts'

const HOUR_MS = 3_600_000

const BECAME_LEADER = /^(?<identity>.*) became leader$/s

/** What the Events of a lease say. */
export interface RecentChanges {
  /** How often a replica became leader in the last hour. An API server keeps Events for about an hour. */
  readonly count: number
  /** The epoch of each leader's last term, where its Event states one. */
  readonly epochs: ReadonlyMap<string, string>
}

/** Counts the Events `<identity> became leader`, which client-go and Tenure write. */
export function recentChanges(events: readonly JsonObject[], wallTime: number): ReadonlyMap<string, RecentChanges> {
  const changes = new Map<string, { count: number; epochs: Map<string, string> }>()
  for (const event of events) {
    const identity = BECAME_LEADER.exec(stringAt(event, 'message') ?? '')?.groups?.['identity']
    const key = leaseOf(event)
    if (identity === undefined || key === undefined) continue
    const change = changes.get(key) ?? { count: 0, epochs: new Map() }
    changes.set(key, change)
    change.count += timesWithin(event, wallTime - HOUR_MS)
    const epoch = stringAt(objectAt(objectAt(event, 'metadata'), 'annotations'), 'tenure.dev/epoch')
    if (epoch !== undefined) change.epochs.set(identity, epoch)
  }
  return changes
}

/** The lease that an Event is about. */
function leaseOf(event: JsonObject): string | undefined {
  const involved = objectAt(event, 'involvedObject')
  if (stringAt(involved, 'kind') !== 'Lease') return undefined
  return leaseKey(stringAt(involved, 'namespace') ?? '', stringAt(involved, 'name') ?? '')
}

/** How often a repeated Event happened since then. It says only when it happened first and last. */
function timesWithin(event: JsonObject, since: number): number {
  const last = timeOf(event, 'lastTimestamp') ?? timeOf(event, 'eventTime') ?? 0
  if (last < since) return 0
  const first = timeOf(event, 'firstTimestamp') ?? last
  return first < since ? 1 : (integerAt(event, 'count') ?? 1)
}

function timeOf(event: JsonObject, key: string): number | undefined {
  const time = Date.parse(stringAt(event, key) ?? '')
  return Number.isNaN(time) ? undefined : time
}
