import type { LeaseRecord } from '@tenure/core'
import { isKeptByHolder, readLeader, readStandbys } from '@tenure/core/internal'
import { objectAt, stringAt } from '@tenure/kubernetes/internal'
import { leaseKey, type StoredLease } from '../cluster/leases.ts'
import { offerOfDrain } from '../step-down/request.ts'
import type { LeaseFacts } from './lease-facts.ts'
import { problemsOf } from './lease-problems.ts'

/** What `tenure status` says of a lease. `undefined` means that it is not known. */
export interface LeaseStatus {
  readonly namespace: string
  readonly name: string
  /** Empty if nobody holds the lease. */
  readonly holder: string
  /** The epoch of the present term, as a decimal number. */
  readonly epoch: string | undefined
  /** How long the present term has lasted, by the wall clock of its holder. */
  readonly ageMs: number | undefined
  /** When others may acquire the lease if the holder does not renew it. Negative if they may already. */
  readonly expiresInMs: number | undefined
  /** `observed`: counted from a change that this command saw. `holder-clock`: from the renew time that the holder wrote. */
  readonly expiry: 'observed' | 'holder-clock'
  readonly durationSeconds: number | undefined
  readonly transitions: number | undefined
  /** `tenure` if the holder keeps the notes of Tenure. */
  readonly client: 'tenure' | 'other' | ''
  readonly strategy: string | undefined
  /** Whether the term of the holder is ending. */
  readonly isDraining: boolean
  readonly standbys: readonly string[]
  readonly candidates: readonly string[] | undefined
  readonly fences: readonly string[] | undefined
  readonly changesLastHour: number | undefined
  /** What is malformed or needs somebody's attention. */
  readonly problems: readonly string[]
}

/** When this command saw a lease change, on its own clock. */
export interface Observation {
  readonly changedAt: number
  /** When a change was seen, the term that began with it. */
  readonly epoch: string | undefined
}

/** The moment of a status. */
export interface StatusContext {
  readonly facts: LeaseFacts
  readonly wallTime: number
  readonly now: number
  /** Undefined if the command has not seen the lease change. */
  readonly observation?: Observation | undefined
}

/** Sums up a lease. */
export function leaseStatus(stored: StoredLease, context: StatusContext): LeaseStatus {
  const { namespace, name, lease, object } = stored
  const { record } = lease
  const isHeld = record.holderIdentity !== ''
  const { facts } = context
  const key = leaseKey(namespace, name)
  const ofKey = (map: ReadonlyMap<string, readonly string[]> | undefined) => map && (map.get(key) ?? [])
  return {
    namespace,
    name,
    holder: record.holderIdentity,
    epoch: isHeld ? epochOf(record, key, context) : undefined,
    ageMs: isHeld ? since(record.acquireTime, context.wallTime) : undefined,
    ...expiryOf(record, context),
    durationSeconds: record.leaseDurationSeconds,
    transitions: record.leaseTransitions,
    client: isHeld ? (isKeptByHolder(record) ? 'tenure' : 'other') : '',
    strategy: readLeader(record)?.strategy ?? stringAt(objectAt(object, 'spec'), 'strategy'),
    isDraining: offerOfDrain(record) !== undefined,
    standbys: readStandbys(record).map(({ identity }) => identity),
    candidates: ofKey(facts.candidates),
    fences: ofKey(facts.fences),
    changesLastHour: facts.changes && (facts.changes.get(key)?.count ?? 0),
    problems: problemsOf(stored),
  }
}

/** The epoch that this command saw, or that the Event of the leader states. A lease itself does not state the epoch of its term. */
function epochOf(
  { holderIdentity }: LeaseRecord,
  key: string,
  { facts, observation }: StatusContext,
): string | undefined {
  return observation?.epoch ?? facts.changes?.get(key)?.epochs.get(holderIdentity)
}

function expiryOf(record: LeaseRecord, context: StatusContext): Pick<LeaseStatus, 'expiresInMs' | 'expiry'> {
  const { observation, now, wallTime } = context
  const expiry = observation === undefined ? 'holder-clock' : 'observed'
  const { leaseDurationSeconds: seconds } = record
  const unchangedMs = observation === undefined ? since(record.renewTime, wallTime) : now - observation.changedAt
  const isCounted = record.holderIdentity !== '' && seconds !== undefined && unchangedMs !== undefined
  return { expiry, expiresInMs: isCounted ? seconds * 1000 - unchangedMs : undefined }
}

function since(time: string | undefined, wallTime: number): number | undefined {
  const at = Date.parse(time ?? '')
  return Number.isNaN(at) ? undefined : wallTime - at
}
