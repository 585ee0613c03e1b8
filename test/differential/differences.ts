import type { LeaseRecord } from '../../packages/core/src/lock/lease-record.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import { type Decision, type HistoryStep, ME } from './history.ts'
import type { Situation } from './tenure-elector.ts'

/** The first step of a history at which the two electors decide differently, and how it came to that. */
export interface Divergence {
  readonly step: HistoryStep
  readonly ours: Situation
  readonly theirs: Decision
  /** For how long the record was as it is: as Tenure saw it, as it was found at the steps, and as client-go compares it. */
  readonly unchangedMs: { readonly ours: number; readonly found: number; readonly theirs: number }
  /** The time since Tenure sent its last write that took effect. */
  readonly sinceWriteMs: number
  /** Whether the lease is, for client-go, what it was when it was last found by a follower. */
  readonly isRestored: boolean
}

/** An intended difference. */
export interface Difference {
  readonly name: string
  /** Why Tenure decides as it does. */
  readonly reason: string
  readonly explains: (divergence: Divergence) => boolean
}

const RENEW_DEADLINE_MS = 10_000

/** Every intended difference. A divergence that no entry or more than one entry explains is a defect of one side. */
export const DIFFERENCES: readonly Difference[] = [
  {
    name: 'taken for free by the whole second',
    reason: 'client-go compares whole seconds and misses a second renewal within one second.',
    explains: (d) =>
      isUndisturbed(d) && theyTake(d) && isOthers(d.ours.found) && hasExpired(d).theirs && !hasExpired(d).found,
  },
  {
    name: 'prolonged by a strategy',
    reason:
      'client-go takes an edit of the strategy of coordinated election for a renewal. The edit says nothing about the holder.',
    explains: (d) =>
      isFollower(d) && weTake(d) && isOthers(d.ours.found) && hasExpired(d).found && !hasExpired(d).theirs,
  },
  {
    name: 'read after a conflict',
    reason:
      'After a conflict Tenure reads the lease at once and counts from that read. client-go reads it at its next poll.',
    explains: (d) =>
      isUndisturbed(d) &&
      isOthers(d.ours.found) &&
      ((weTake(d) && hasExpired(d).ours && !hasExpired(d).found && !hasExpired(d).theirs) ||
        (theyTake(d) && !hasExpired(d).ours && hasExpired(d).found)),
  },
  {
    name: 'edited within a term',
    reason: 'A holder may not know of an edit. Tenure also waits for the duration that was stated before.',
    explains: (d) =>
      isFollower(d) &&
      theyTake(d) &&
      !weTake(d) &&
      !isDeleting(d.ours.found) &&
      holderOf(d.ours.found) !== ME &&
      (holderOf(d.ours.found) === '' || hasExpired(d).ours),
  },
  {
    name: 'no duration',
    reason: 'client-go takes a record without a usable duration for expired. Tenure leaves it alone for 15 seconds.',
    explains: (d) =>
      isUndisturbed(d) && theyTake(d) && isOthers(d.ours.found) && !hasDuration(d.ours.found) && !hasExpired(d).ours,
  },
  {
    name: 'own name, not own record',
    reason:
      'client-go continues a term that has its name. If Tenure did not write the record, another process may lead.',
    explains: (d) => isFollower(d) && d.theirs.leads && holderOf(d.ours.found) === ME && !d.ours.reserves,
  },
  {
    name: 'created again after a deletion',
    reason: 'A leader may not have seen the deletion. Tenure holds the new lease for its duration before it acts.',
    explains: (d) => d.ours.reserves && d.theirs.leads,
  },
  {
    name: 'being deleted',
    reason: 'Tenure does not acquire a lease that is being deleted.',
    explains: (d) => isFollower(d) && theyTake(d) && isDeleting(d.ours.found) && holderOf(d.ours.found) !== ME,
  },
  {
    name: 'answer lost',
    reason: 'Tenure reads back a write of unknown outcome and continues from what it finds. client-go polls later.',
    explains: (d) =>
      isFollower(d) && d.step.lost === 'after' && d.ours.leads && d.theirs.wrote !== '' && !d.theirs.leads,
  },
  {
    name: 'tried again at once',
    reason: 'After a failed write, a Tenure follower reads the lease, and writes again if it is still free.',
    explains: (d) => isFollower(d) && isDisturbed(d) && weTake(d) && isFreeForBoth(d),
  },
  {
    name: 'renew deadline',
    reason:
      'A term ends this long after its last renewal was sent. client-go measures the deadline from other moments.',
    explains: (d) => isLost(d) && isPastDeadline(d),
  },
  {
    name: 'emptied under the leader',
    reason: 'A client that clears the holder ends the term. client-go acquires the lease again and does not notice.',
    explains: (d) => holderOf(lostTo(d)) === '',
  },
  {
    name: 'own name under the leader',
    reason: 'A record that the term did not write belongs to another term, even with its name. client-go continues.',
    explains: (d) => holderOf(lostTo(d)) === ME,
  },
  {
    name: 'deleted under the leader',
    reason: 'A deletion of the lease ends the term. client-go creates it again and continues.',
    explains: (d) => lostTo(d)?.kind === 'absent',
  },
  {
    name: 'taken without a duration',
    reason: 'Another holder ends the term, with any duration. client-go takes the lease back if there is no duration.',
    explains: (d) => isOthers(lostTo(d)) && !hasDuration(lostTo(d)),
  },
  {
    name: 'restored under the leader',
    reason:
      'client-go compares with the record that it last read instead of the record that it wrote, and misses a return to it.',
    explains: (d) => isOthers(lostTo(d)) && hasDuration(lostTo(d)) && d.isRestored,
  },
  {
    name: 'replaced before client-go looked',
    reason: 'Another holder ends the term, even if that holder has gone. client-go only sees what its own read finds.',
    explains: (d) =>
      d.ours.found === lostTo(d) && isOthers(lostTo(d)) && hasDuration(lostTo(d)) && !d.isRestored && isRaced(d),
  },
  {
    name: 'renewed again after a pause',
    reason: 'Tenure reads a failed renewal back and repeats it a little later. client-go repeats it in the same call.',
    explains: (d) => d.ours.led && d.ours.leads && isDisturbed(d) && d.ours.wrote === '' && d.theirs.wrote !== '',
  },
]

function isFollower({ ours }: Divergence): boolean {
  return !ours.led
}

/** Whether the difference is about a lease that is not also being deleted. */
function isUndisturbed(d: Divergence): boolean {
  return isFollower(d) && !isDeleting(d.ours.found)
}

/** Whether a write had any outcome except an answer. */
function isDisturbed({ step }: Divergence): boolean {
  return step.lost !== undefined || step.race !== undefined
}

/** Whether the elector has lost a lease that it led. */
function isLost({ ours }: Divergence): boolean {
  return ours.led && !ours.leads
}

function isPastDeadline({ ours, sinceWriteMs }: Divergence): boolean {
  return ours.isOwn && sinceWriteMs >= RENEW_DEADLINE_MS
}

function isRaced({ step }: Divergence): boolean {
  return step.race !== undefined
}

/** The event that ended the term in time. */
function lostTo(d: Divergence): LockSnapshot | undefined {
  if (!isLost(d) || isPastDeadline(d)) return undefined
  return d.ours.isOwn ? d.ours.raced : d.ours.found
}

function theyTake({ ours, theirs }: Divergence): boolean {
  return ours.wrote === '' && !ours.leads && theirs.wrote !== ''
}

function weTake({ ours, theirs }: Divergence): boolean {
  return ours.wrote !== '' && theirs.wrote === '' && !theirs.leads
}

function isOthers(snapshot: LockSnapshot | undefined): boolean {
  const holder = holderOf(snapshot)
  return holder !== undefined && holder !== '' && holder !== ME
}

/** Whether neither of them had to wait for what was found. */
function isFreeForBoth(d: Divergence): boolean {
  return !isOthers(d.ours.found) || hasExpired(d).ours === hasExpired(d).theirs
}

interface Expiry {
  readonly ours: boolean
  readonly found: boolean
  readonly theirs: boolean
}

function hasExpired({ ours, unchangedMs }: Divergence): Expiry {
  const seconds = recordOf(ours.found)?.leaseDurationSeconds ?? 0
  const ourMs = seconds > 0 ? seconds * 1000 : 15_000
  return {
    ours: unchangedMs.ours >= ourMs,
    found: unchangedMs.found >= ourMs,
    theirs: seconds > 0 && unchangedMs.theirs >= seconds * 1000,
  }
}

function hasDuration(snapshot: LockSnapshot | undefined): boolean {
  return (recordOf(snapshot)?.leaseDurationSeconds ?? 0) > 0
}

function isDeleting(snapshot: LockSnapshot): boolean {
  return snapshot.kind === 'present' && snapshot.deleting
}

function holderOf(snapshot: LockSnapshot | undefined): string | undefined {
  return recordOf(snapshot)?.holderIdentity
}

function recordOf(snapshot: LockSnapshot | undefined): LeaseRecord | undefined {
  return snapshot?.kind === 'present' ? snapshot.record : undefined
}
