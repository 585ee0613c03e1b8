import type { PresentLease } from '../../lock/lock.ts'
import type { ElectorConfig } from './config.ts'
import type { ElectorEffect } from './effect.ts'
import type { Instant, RequestFailure, WriteResult } from './event.ts'
import { advance, follow } from './following.ts'
import { holdFrom } from './hold.ts'
import { release } from './releasing.ts'
import type { Acquiring, Following, Observation, SentWrite, Step } from './state.ts'

/** Takes in the answer to the acquiring write. */
export function acquireAnswered(state: Acquiring, result: WriteResult, at: Instant, config: ElectorConfig): Step {
  if (result.kind === 'written') return won(state, state.write, { lease: result.lease, at, config })
  return failed(state, result, at, config)
}

/** An acquiring write is known to have happened: lead, keep the lease for a while before acting, or give it back. */
export function won(
  state: Acquiring | Following,
  write: SentWrite,
  { lease, at, config }: { readonly lease: PresentLease; readonly at: Instant; readonly config: ElectorConfig },
): Step {
  const hold = holdFrom(write, lease, config.timing)
  const memory = { ...state.memory, own: write.record, existed: true, observedLeader: config.identity }
  const leaving = state.kind === 'acquiring' ? state.afterwards === 'stop' : state.leaveBy !== undefined
  if (leaving) return release({ memory, hold, epoch: undefined, cooldownMs: 0, afterwards: 'stop' }, at, config)
  if (at.now >= hold.deadlineAt)
    return advance(follow(memory, present(lease, at), at, { notBefore: at.now }), at, config)
  const effects: ElectorEffect[] = [{ kind: 'leader-observed', identity: config.identity }]
  const freeSince = state.kind === 'acquiring' ? state.freeSince : write.sentAt
  const actAt = write.sentAt + delayBeforeActing(state, write, config)
  if (actAt > at.now) return { state: { kind: 'reserving', memory, hold, freeSince, actAt }, effects }
  effects.push(beginTerm(lease.version, hold.validUntil, at.now - freeSince))
  return { state: { kind: 'leading', memory, hold, epoch: lease.version }, effects }
}

/** The effect that begins a term. */
export function beginTerm(epoch: bigint, validUntil: number, waitedMs: number): ElectorEffect {
  return { kind: 'begin-term', epoch, validUntil, waitedMs }
}

/**
 * A lease that was deleted and created anew says nothing about a leader who has not seen the deletion; only holding the new one
 * for a lease duration does.
 */
function delayBeforeActing(state: Acquiring | Following, write: SentWrite, config: ElectorConfig): number {
  const { timing } = config
  if (write.base === undefined) {
    return state.memory.existed || config.missingLease === 'wait' ? timing.leaseDurationMs : 0
  }
  return write.base.record.holderIdentity === config.identity ? 0 : timing.acquireDelayMs
}

function failed(state: Acquiring, result: RequestFailure, at: Instant, config: ElectorConfig): Step {
  const { timing } = config
  const effects: ElectorEffect[] = [{ kind: 'request-failed', purpose: 'acquire', error: result.error }]
  const leaveBy = state.afterwards === 'stop' ? at.now + 2 * timing.requestTimeoutMs : undefined
  const back = { ...follow(state.memory, state.observation, at, { notBefore: at.now }), leaveBy }
  const resumed = resumeAfter(back, state, result, at, config)
  const step = advance(resumed, at, config)
  return { state: step.state, effects: [...effects, ...step.effects] }
}

function resumeAfter(
  back: Following,
  state: Acquiring,
  result: RequestFailure,
  at: Instant,
  config: ElectorConfig,
): Following {
  const { retryPeriodMs } = config.timing
  const { outstanding } = state
  switch (result.failure) {
    case 'unknown-outcome':
      return {
        ...back,
        outstanding: [...outstanding, state.write],
        notBefore: at.now + retryPeriodMs / 4,
        pollAt: at.now,
      }
    case 'conflict':
    case 'not-found':
      // Somebody was faster. The watch brings the news; reading is only for the case that it does not.
      return isNewsSince(state)
        ? { ...back, outstanding }
        : { ...back, outstanding, observation: outdated(state.observation), pollAt: newsDue(back, at, config) }
    case 'unauthenticated':
    case 'forbidden':
    case 'rejected':
    case 'throttled':
    case 'unreachable': {
      const pause = Math.max(result.retryAfterMs ?? 0, retryPeriodMs * (1 + 0.2 * at.random))
      return { ...back, outstanding, notBefore: at.now + pause, pollAt: at.now + pause }
    }
    default:
      return result.failure satisfies never
  }
}

/** Whether the lease was seen in a newer version than the one that the failed write was based on. */
function isNewsSince(state: Acquiring): boolean {
  const { observation, write } = state
  if (observation.kind !== 'present') return false
  return write.base === undefined || observation.lease.version > write.base.version
}

const NEWS_BY_WATCH_MS = 250

function newsDue(back: Following, at: Instant, config: ElectorConfig): number {
  const patience = back.memory.watch === 'up' ? Math.min(NEWS_BY_WATCH_MS, config.timing.retryPeriodMs) : 0
  return at.now + patience * (1 + 0.2 * at.random)
}

function outdated(observation: Observation): Observation {
  return observation.kind === 'unknown' || observation.kind === 'outdated'
    ? observation
    : { kind: 'outdated', last: observation }
}

function present(lease: PresentLease, at: Instant): Observation {
  return { kind: 'present', lease, changedAt: at.now }
}
