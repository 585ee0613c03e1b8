import type { Instant } from '../machine/event.ts'
import type { Following } from '../machine/state.ts'
import { MAX_HOLD_BACK_MS } from './hold-back.ts'

/** When between two renewals of another client a follower writes, as a share of their distance. */
const BEFORE_RENEWAL = { from: 0.85, to: 0.97 } as const

/** How long before the renewal at least: some clients read the lease first, and a write in between makes the renewal fail. */
const READ_BEFORE_RENEWAL_MS = 40

/** Shortly before the holder renews again, if it renews as before; undefined if that is not known, or is over. */
export function beforeRenewal({ observation, announcement, holdBackMs }: Following, at: Instant): number | undefined {
  if (observation.kind !== 'present' || observation.renewedAfterMs === undefined) return undefined
  const { from, to } = BEFORE_RENEWAL
  const { changedAt: renewedAt, renewedAfterMs } = observation
  const isOver = at.now >= renewedAt + renewedAfterMs || announcement?.sentAfter === renewedAt
  if (isOver) return undefined
  const latestMs = Math.min(renewedAfterMs * to, renewedAfterMs - READ_BEFORE_RENEWAL_MS)
  const earlierMs = renewedAfterMs * (to - from) * (1 - holdBackMs / MAX_HOLD_BACK_MS)
  return renewedAt + Math.max(0, latestMs - earlierMs)
}
