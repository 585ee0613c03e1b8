import type { Instant } from '../machine/event.ts'
import type { Hold } from '../machine/state.ts'
import type { ResolvedTimingOptions } from '../timing-options.ts'
import { statedMs } from './records.ts'

/**
 * Shortens the hold of a lease whose record another client edited, to the time for which others respect the edited record.
 *
 * Others count the stated duration from when they saw the edit. They saw it after the last acknowledged write was sent, so validity from
 * that send is safe. If that leaves no time for a renewal, the term keeps one request timeout from now, or the stated duration if that is
 * shorter. Others may have seen the edit earlier by up to this time. Followers of Tenure still wait for the duration that the holder
 * wrote; other clients may not.
 */
export function cutShort(hold: Hold, { now }: Instant, timing: ResolvedTimingOptions): Hold {
  const { clockRateTolerance, requestTimeoutMs, abortGraceMs } = timing
  const grantedMs = statedMs(hold.lease.record) * (1 - clockRateTolerance)
  const limit = Math.max(hold.sentAt + grantedMs, now + Math.min(grantedMs, requestTimeoutMs))
  if (limit >= hold.validUntil) return hold
  // Tasks get half of the remaining time to end, or the full grace period if that is shorter.
  const deadlineAt = Math.min(hold.deadlineAt, limit - Math.min(abortGraceMs, Math.max(0, limit - now) / 2))
  const { request, uncut = { validUntil: hold.validUntil, deadlineAt: hold.deadlineAt } } = hold
  const renewBy = now + Math.max(0, deadlineAt - now) / 2
  return {
    ...hold,
    validUntil: limit,
    deadlineAt,
    uncut,
    request: request.kind === 'waiting' ? { kind: 'waiting', at: Math.min(request.at, renewBy) } : request,
  }
}
