import type { Instant } from '../machine/event.ts'
import type { Hold } from '../machine/state.ts'
import type { ResolvedTimingOptions } from '../timing-options.ts'
import { statedMs } from './records.ts'

/**
 * The hold of a lease whose record somebody else edited: no longer valid than others leave such a record alone.
 *
 * Others count the stated duration from when they saw the edit. That was after the last acknowledged write was sent, so validity
 * from that send is sound. Where it leaves no time for a renewal to be answered, the term keeps one request timeout, or the stated
 * duration if that is shorter, counted from now. Others may then have seen the edit up to that much earlier: followers of Tenure
 * wait for the duration with which the holder renewed, other clients may not.
 */
export function cutShort(hold: Hold, { now }: Instant, timing: ResolvedTimingOptions): Hold {
  const { clockRateTolerance, requestTimeoutMs, abortGraceMs } = timing
  const grantedMs = statedMs(hold.lease.record) * (1 - clockRateTolerance)
  const limit = Math.max(hold.sentAt + grantedMs, now + Math.min(grantedMs, requestTimeoutMs))
  if (limit >= hold.validUntil) return hold
  // Half of the time that is left, or the full grace, is for the tasks to end.
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
