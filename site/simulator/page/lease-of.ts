import type { Band, Lease } from '../../../packages/cli/page/layout.js'
import { TIMING } from '../engine/fleet.ts'
import type { Run } from '../engine/run.ts'
import { endOf, isExcused, type TermLife } from '../engine/term-life.ts'

/** The axis shows this time at the beginning: midnight. */
export const BEGINNING: number = new Date(2026, 0, 1).getTime()

/** The run as the timeline of the command shows a lease: a lane for each replica. */
export function leaseOf({ names, now, overlaps, terms }: Run): Lease {
  const latest = terms.at(-1)
  const durationMs = TIMING.leaseDurationMs
  return {
    key: 'janitor',
    holder: latest?.holder ?? '',
    standbys: [],
    // The band of the latest term ends where its validity does.
    renewedAt: BEGINNING + (latest?.expiresAt ?? 0) - durationMs,
    durationMs,
    isEnding: false,
    note: '',
    lanes: [...names],
    bands: terms.map((term) => bandOf(term, { now, isLatest: term === latest })),
    overlaps: overlaps.map(({ from, to }) => ({ from: BEGINNING + from, to: BEGINNING + to })),
  }
}

function bandOf(term: TermLife, { now, isLatest }: { readonly now: number; readonly isLatest: boolean }): Band {
  const { holder, epoch, from, endingFrom, outcome, pausedFrom, actedAt } = term
  const isRunning = term.to === undefined && pausedFrom === undefined && !isExcused(term, now)
  // A paused process does nothing: its band is solid until the pause, or until it acted last.
  const actedUntil = pausedFrom === undefined ? undefined : Math.max(pausedFrom, actedAt)
  return {
    holder,
    epoch: String(epoch),
    from: BEGINNING + from,
    isFromSeen: true,
    ...(!(isRunning && isLatest) && { to: BEGINNING + endOf(term, now) }),
    ...(outcome !== undefined && { end: outcome }),
    ...(actedUntil !== undefined && { renewedAt: BEGINNING + actedUntil }),
    ...(endingFrom !== undefined && { drainFrom: BEGINNING + endingFrom }),
  }
}
