import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig, TransitionContext } from '../machine/config.ts'
import type { Instant } from '../machine/event.ts'
import type { Leading } from '../machine/state.ts'
import { isWarm } from '../rules/ranking.ts'
import { type Standby, readStandbys } from '../rules/standby-note.ts'
import { asStandby, betterStandby, hasJoinedIn, newerStandby, withoutStandby } from '../rules/standby.ts'

/*
 * Choosing: which standby is to lead instead of this leader, although nobody has asked the leader to stop. `proposing.ts` does the rest.
 *
 * 1. A leader that is about to be stopped chooses the first standby that is not. Its grace period already runs. The time before the order
 *    to stop would be missing from its drain.
 * 2. An eager leader chooses the first standby if that is of a newer revision and not worse.
 * 3. Where replicas follow a strategy, a leader chooses the best standby that is better than itself. A standby that was on the list when
 *    the term began was not better then. It counts only when the leader has led for a minute, or when it writes itself on the list again.
 *    So replicas that disagree about the order change the leader once a minute at most.
 * 4. Equal replicas are never better, so they do not change the leader.
 * 5. The first two wait for the first renewal: by then the replicas that missed their turn are on the list again.
 */

/**
 * How long a leader that is about to be stopped leads on in any case. If its whole fleet is stopped at once, by then the standbys have left
 * the list or say there that they are about to be stopped as well. Otherwise the lease would change once for each of them.
 */
const OTHERS_LEAVE_MS = 1000

/** How long a leader leads before it compares itself with the standbys that it began with. */
const SETTLED_MS = 60_000

/** The leader with the times that its choice depends on. */
export function withTimesSeen(leading: Leading, at: Instant, config: ElectorConfig): Leading {
  const state = withDepartureSeen(leading, at, config)
  return config.strategy === undefined || state.since !== undefined ? state : { ...state, since: at.now }
}

function withDepartureSeen(state: Leading, { now }: Instant, config: ElectorConfig): Leading {
  const { departure } = state
  if (config.departure !== 'stopping') return { ...state, departure: undefined }
  const { at } = departure ?? { at: now + OTHERS_LEAVE_MS }
  return { ...state, departure: { at, isDue: now >= at } }
}

/** The standby that is to lead instead of this leader, other than a standby that did not answer; undefined if this leader is to lead on. */
export function chosenSuccessor(state: Leading, at: Instant, config: ElectorConfig): Standby | undefined {
  const { hold, memory } = state
  const { record } = hold.lease
  const asked = memory.missed === undefined ? record : withoutStandby(record, memory.missed)
  return (
    stayingStandby(asked, state, config) ??
    newerSuccessor(asked, state, config) ??
    betterSuccessor(asked, state, { at, config })
  )
}

function stayingStandby(
  record: LeaseRecord,
  { departure }: Leading,
  { leavesEarly }: ElectorConfig,
): Standby | undefined {
  if (departure?.isDue !== true || leavesEarly !== true || !isRenewed(record)) return undefined
  return readStandbys(record).find(isWarm)
}

function newerSuccessor(record: LeaseRecord, { memory }: Leading, config: ElectorConfig): Standby | undefined {
  if (config.isEager !== true || !isRenewed(record)) return undefined
  return newerStandby(record, asStandby(memory, config), config.strategy)
}

function betterSuccessor(
  record: LeaseRecord,
  { memory, since = 0 }: Leading,
  { at, config }: TransitionContext,
): Standby | undefined {
  if (config.strategy === undefined) return undefined
  const counts = (standby: Standby): boolean => hasJoinedIn(record, standby) || at.now - since >= SETTLED_MS
  return betterStandby(record, asStandby(memory, config), config.strategy, counts)
}

function isRenewed({ renewTime, acquireTime }: LeaseRecord): boolean {
  return renewTime !== acquireTime
}
