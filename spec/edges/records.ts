import { type LeaseRecord, leastEpochOf } from '../../packages/core/src/lock/lease-record.ts'
import { readOffer } from '../../packages/core/src/election/rules/transfer-notes.ts'
import type { Id, ModelRecord, Name } from './model-state.ts'
import { LEASE_TICKS } from './timing.ts'

/** A record of a lease that is missing. */
export const ABSENT: ModelRecord = {
  here: false,
  holder: [],
  term: 0,
  stamp: 0,
  src: [],
  trans: 0,
  dur: LEASE_TICKS,
  offer: false,
  answer: [],
  echo: 0,
  num: 1,
  epoch: 0,
  least: 0,
  ref: 0,
}

/** The record that every walk begins with. */
export const FREE: ModelRecord = { ...ABSENT, here: true }

/** A record that was written, in the terms of the model: its times are the version that their write makes. */
export function modelRecordOf(
  record: LeaseRecord,
  {
    before,
    lastRecord,
    version,
    source,
  }: {
    readonly before: ModelRecord
    readonly lastRecord: LeaseRecord | undefined
    readonly version: number
    readonly source: readonly [Name, number, number]
  },
): ModelRecord {
  const isFree = record.holderIdentity === ''
  const isNewTerm = !isFree && record.acquireTime !== lastRecord?.acquireTime
  const isNewTime = record.renewTime !== lastRecord?.renewTime
  const stated = Number(leastEpochOf(record))
  // A replica does not know the version of a missing lease. What its own version exceeds in any case has no effect.
  const least = stated <= before.num + 1 ? 0 : stated
  return {
    here: true,
    holder: idOf(record.holderIdentity),
    term: isNewTerm ? version : before.term,
    ...(isNewTime ? { stamp: version, src: source } : { stamp: before.stamp, src: before.src }),
    trans: record.leaseTransitions ?? 0,
    dur: isFree ? before.dur : ticksOf(record),
    offer: readOffer(record) !== undefined,
    answer: [],
    echo: 0,
    num: 0,
    epoch: isNewTerm ? Math.max(before.num + 1, least) : before.epoch,
    least,
    ref: isFree ? before.ref : source[1],
  }
}

/** The stated duration in ticks of the model. */
function ticksOf({ leaseDurationSeconds = 0 }: LeaseRecord): number {
  return Math.round((leaseDurationSeconds * LEASE_TICKS) / 5)
}

function idOf(identity: string): Id {
  if (identity === '') return []
  const [name, inc] = identity.split('.')
  return [name as Name, Number(inc)]
}
