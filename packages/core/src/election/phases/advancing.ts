import { type ElectorConfig, withoutProcessRef } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant } from '../machine/event.ts'
import type { Acquiring, Following, Step } from '../machine/state.ts'
import { nextChance } from '../rules/chance.ts'
import { earliest } from '../rules/earliest.ts'
import { isEarly, nextRequest } from '../rules/memory.ts'
import { newestVersion } from '../rules/observation.ts'
import { acquireRecord, withGreaterEpoch } from '../rules/records.ts'
import { namedGuard } from './acquiring.ts'
import {
  LEAVE_LIST_MS,
  announceIfDue,
  announcementDueAt,
  isLeavingList,
  leaveList,
  withRoomSeen,
} from './announcing.ts'
import { answerDueAt, answerIfDue, isAnswerPending, withOfferSeen } from './answering.ts'
import { inherit, inheritanceOf } from './inheriting.ts'

/** Does what is due: polls, or takes the lease if that is allowed now. */
export function advance(following: Following, at: Instant, config: ElectorConfig): Step {
  const state = withRoomSeen(withOfferSeen(following, at, config), at, config)
  const inheritance = inheritanceOf(state, at, config)
  if (inheritance !== undefined) return inherit(state, inheritance, at, config)
  if (mayStop(state, at, config)) return stop(state)
  if (state.reading !== undefined) return { state, effects: [] }
  if (isPollDue(state, at)) return poll(state)
  if (state.memory.isBehind) return { state, effects: [] }
  const chance = nextChance(state, config)
  if (chance !== undefined && at.now >= chance.takeAt) return acquire(state, { at, config, ...chance })
  const answered = answerIfDue(state, at, config)
  return answered.effects.length > 0 ? answered : announceIfDue(state, at, config)
}

/** When a follower needs the next `wake` event. */
export function followingWakesAt(state: Following, config: ElectorConfig): number | undefined {
  if (state.reading !== undefined) return state.leaveBy
  if (state.memory.isBehind) return earliest([state.pollAt, state.leaveBy])
  return earliest([
    state.pollAt,
    state.leaveBy,
    nextChance(state, config)?.takeAt,
    answerDueAt(state, config),
    announcementDueAt(state, config),
  ])
}

/** Whether a stop was asked for, and nothing is in doubt or left to do, or the time for that is up. */
function mayStop(state: Following, at: Instant, config: ElectorConfig): boolean {
  if (state.leaveBy === undefined) return false
  return at.now >= state.leaveBy || (!isInDoubt(state) && !isLeavingList(state, config))
}

function isPollDue({ pollAt }: Following, at: Instant): boolean {
  return pollAt !== undefined && at.now >= pollAt
}

function poll(state: Following): Step {
  const memory = nextRequest(state.memory)
  const readingAfter = newestVersion(state.observation)
  return {
    state: { ...state, memory, reading: memory.requests, readingAfter, pollAt: undefined },
    effects: [{ kind: 'read', request: memory.requests }],
  }
}

/** Begins to stop: waits for what is in doubt, and leaves the list of standbys. */
export function leave(state: Following, at: Instant, config: ElectorConfig): Following {
  if (state.leaveBy !== undefined) return state
  return leaveList(state, at, at.now + (isInDoubt(state) ? 2 * config.timing.requestTimeoutMs : LEAVE_LIST_MS))
}

/** Whether this replica may still become the holder by a write in flight or an answer. */
function isInDoubt(state: Following): boolean {
  return state.outstanding.length > 0 || isAnswerPending(state)
}

function acquire(
  state: Following,
  { at, config, freeSince }: { readonly at: Instant; readonly config: ElectorConfig; readonly freeSince: number },
): Step {
  const base = state.observation.kind === 'present' ? state.observation.lease : undefined
  const mayWait = base === undefined || isEarly(state.memory, at) || (namedGuard(state, base, config) ?? 0) > at.now
  const acquired = acquireRecord({
    config: mayWait ? withoutProcessRef(config) : config,
    previous: base?.record,
    wallTime: at.wallTime,
  })
  const record = withGreaterEpoch(acquired, base, state.memory.highestEpoch)
  const memory = nextRequest(state.memory)
  const write: LeaseWrite = { purpose: 'acquire', ...(base && { base }), record }
  const acquiring: Acquiring = {
    kind: 'acquiring',
    memory,
    observation: state.observation,
    outstanding: state.outstanding,
    write: { ...write, request: memory.requests, sentAt: at.now },
    freeSince,
    afterwards: 'lead',
  }
  return { state: acquiring, effects: [{ kind: 'write', request: memory.requests, write }] }
}

function stop(state: Following): Step {
  return { state: { kind: 'stopped', memory: state.memory }, effects: [{ kind: 'stopped' }] }
}
