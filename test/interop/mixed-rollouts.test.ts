import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRealApiServer } from '../scenarios/api-server.ts'
import type { LeaseVersion } from '../scenarios/lease-journal.ts'
import { overlaps } from '../scenarios/loop-runs.ts'
import type { ForeignKind } from './foreign.ts'
import type { Conflict } from './lease-writes.ts'
import { SHORT } from './mixed-lease.ts'
import { type AuditedServer, type ForeignTerm, type MixedHistory, MixedRollouts, type Round } from './mixed-rollouts.ts'

/** The number of rounds of all leases together. */
const ROUNDS = Number(process.env['TENURE_INTEROP_ROUNDS'] ?? 10)
const LEASES = Number(process.env['TENURE_INTEROP_LEASES'] ?? 2)
const TIMEOUT_MS = 120_000 + ROUNDS * 10_000

const MS = 1_000_000n
/** The accuracy of converting the wall clock of the electors in Go to the monotonic clock. */
const CLOCK_ERROR_NS = MS
/** Other electors end just after their release can be seen. */
const PEER_WINDOW_NS = 50n * MS
/** The time to notice an expired lease and acquire it, on a busy machine. */
const SLACK_MS = 1500
/** How long client-go and fabric8 wait between two looks, as a multiple of the retry period. */
const PEER_JITTER = 2.2

const KINDS = ['client-go-elector', 'fabric8', 'client-go-1.33-elector', 'python'] as const satisfies ForeignKind[]

let server: AuditedServer
let histories: readonly MixedHistory[] = []
beforeAll(async () => {
  server = await openRealApiServer({ auditLevel: 'RequestResponse' })
  histories = await Promise.all(Array.from({ length: LEASES }, (_, lease) => runLease(lease)))
}, TIMEOUT_MS)
afterAll(async () => {
  console.log(JSON.stringify(figures(), null, 2))
  await server[Symbol.asyncDispose]()
})

describe('Rollouts beside client-go and pollers in the style of fabric8 and Python', () => {
  it('let no two replicas of Tenure act at once, and epochs grow', () => {
    for (const { tenure } of histories) {
      expect(overlaps(tenure)).toEqual([])
      const epochs = tenure.map(({ epoch }) => epoch)
      expect(epochs).toEqual(epochs.toSorted((a, b) => (a < b ? -1 : 1)))
    }
  })

  it('let a replica of Tenure act only in a term that the watch saw, which ends with a release or a transfer', () => {
    for (const { tenure, versions, unreleased } of histories) {
      const began = new Map(versions.map(({ version, holder }) => [BigInt(version), holder]))
      expect(tenure.filter(({ epoch, replica }) => began.get(epoch) !== replica)).toEqual([])
      expect(unreleased).toEqual([])
    }
  })

  it('let no replica of Tenure act beside another elector, beyond the window in which that one ends', () => {
    for (const history of histories) expect(overlapsWithForeign(history)).toEqual([])
  })

  it('lose no write: the watch sees every acknowledged one, each based on the one before it', () => {
    for (const { writes } of histories) {
      const { lost, blind, undoing, unexplained } = writes
      expect({ lost, blind, undoing, unexplained }).toEqual({ lost: [], blind: [], undoing: [], unexplained: [] })
    }
  })

  it('never end the term of another elector', () => {
    for (const history of histories) {
      expect(history.foreign.filter(({ hadLost }) => hadLost)).toEqual([])
      for (const term of history.foreign) expect(holdersDuring(history, term)).toEqual([term.id])
    }
  })

  it('delay no renewal of another elector up to its deadline', () => {
    for (const history of histories) {
      for (const term of history.foreign) {
        expect(Math.max(...renewalGapsMs(history, term))).toBeLessThan(SHORT.renewDeadlineMs)
      }
    }
  })

  it('let most new replicas join the standbys under another elector', () => {
    const joins = histories.flatMap((history) => history.joins)
    expect(joins.filter(Boolean).length).toBeGreaterThan(joins.length / 2)
  })

  it('change the lease of another elector just before it renews', () => {
    const shares = histories.flatMap(announcementShares).toSorted((a, b) => a - b)
    expect(shares[Math.floor(shares.length / 2)]).toBeGreaterThan(0.7)
  })

  it('make no release fail, except for client-go before 1.34', () => {
    for (const history of histories) {
      const failed = history.foreign.filter((term) => isReleaser(term) && !term.hasReleased)
      expect(failed.filter(({ kind }) => kind !== 'client-go-1.33-elector')).toEqual([])
      const refused = foreignConflicts(history).filter(({ purpose }) => purpose === 'release')
      for (const { id } of failed)
        expect(refused.map(({ user }) => user)).toContainEqual(expect.stringMatching(`-${id}$`))
    }
  })

  it('leave a lease free for a retry period of those who stand for it, and no longer', () => {
    for (const { free } of histories) {
      expect(free.filter(({ ms, takenBy }) => ms > longestLookMs(takenBy) + SHORT.retryPeriodMs)).toEqual([])
    }
  })

  it('wait for an expired lease, and no longer', () => {
    for (const history of histories) {
      for (const term of history.foreign.filter(({ hasReleased }) => !hasReleased)) {
        const waitedMs = takeoverMs(history, term)
        // The times in a lease have whole milliseconds.
        expect(waitedMs).toBeGreaterThanOrEqual(SHORT.leaseDurationMs - 1)
        expect(waitedMs).toBeLessThan(SHORT.leaseDurationMs + SLACK_MS)
      }
    }
  })
})

/** Runs the rounds of one lease. */
async function runLease(lease: number): Promise<MixedHistory> {
  await using rollouts = await MixedRollouts.open(server)
  for (let round = lease; round < ROUNDS; round += LEASES) await rollouts.round(roundOf(round))
  return await rollouts.history()
}

/** Every kind takes its turn; every fifth elector of others is killed; they end at any moment between two renewals. */
function roundOf(round: number): Round {
  const kind = KINDS[Math.floor(round / LEASES) % KINDS.length] ?? 'fabric8'
  return { kind, end: round % 5 === 4 ? 'kill' : 'stop', endAfterMs: (round * 401) % (2 * SHORT.retryPeriodMs) }
}

/** The runs of Tenure during which another elector worked, and for how long in nanoseconds. */
function overlapsWithForeign({ tenure, foreign }: MixedHistory): readonly unknown[] {
  return foreign.flatMap((term) =>
    tenure.flatMap((run) => {
      const isBefore = run.endedAt <= term.beganAt + CLOCK_ERROR_NS
      const isAfter = run.beganAt >= term.ended.at - PEER_WINDOW_NS
      return isBefore || isAfter ? [] : [{ term, run }]
    }),
  )
}

/** The holders from the beginning of a term until the test ended it. */
function holdersDuring({ holders }: MixedHistory, { beganAt, endingAt, id }: ForeignTerm): readonly string[] {
  const first = holders.findIndex(({ holder }) => holder === id)
  const during = holders.slice(first).filter(({ at }) => at < endingAt || at < beganAt)
  return [...new Set(during.map(({ holder }) => holder))]
}

function renewalGapsMs({ holders }: MixedHistory, { id, endingAt }: ForeignTerm): readonly number[] {
  const times = holders.filter(({ holder, at }) => holder === id && at < endingAt).map(({ at }) => at)
  return [...times, endingAt].slice(1).map((at, index) => Number(at - (times[index] ?? at)) / 1e6)
}

/** After which share of a retry period since the last renewal of another elector a replica of Tenure changed its lease. */
function announcementShares({ versions, foreign }: MixedHistory): readonly number[] {
  return versions.flatMap(({ at, holder, spec }, index) => {
    const renewal = versions.findIndex((version) => isDeepStrictEqual(version.spec, spec))
    const isOfForeign = foreign.some(({ id }) => id === holder)
    if (!isOfForeign || renewal === index) return []
    return [Number(at - (versions[renewal]?.at ?? at)) / 1e6 / SHORT.retryPeriodMs]
  })
}

/** How long after the last renewal of a term was sent the next term began, in milliseconds. */
function takeoverMs({ holders }: MixedHistory, { id }: ForeignTerm): number {
  const last = holders.findLastIndex(({ holder }) => holder === id)
  const [renewed, acquired] = [holders[last]?.spec.renewTime, holders[last + 1]?.spec.acquireTime]
  return Date.parse(acquired ?? '') - Date.parse(renewed ?? '')
}

/** Whether this elector releases when it ends as it did. */
function isReleaser({ kind, ended }: ForeignTerm): boolean {
  return ended.isOrderly && kind !== 'python'
}

/** The writes of other electors that were refused because of an announcement. */
function foreignConflicts({ writes }: MixedHistory): readonly Conflict[] {
  return writes.conflicts.filter(({ user, isByAnnouncement }) => user.includes('-foreign-') && isByAnnouncement)
}

/** The longest time between two looks at the lease. */
function longestLookMs(id: string): number {
  return SHORT.retryPeriodMs * (id.startsWith('foreign-') ? PEER_JITTER : 1)
}

function figures(): object {
  const foreign = histories.flatMap((history) => history.foreign)
  const free = histories.flatMap((history) => history.free)
  const conflicts = histories.flatMap(foreignConflicts)
  const freeMs = (isForeign: boolean) =>
    free.filter(({ takenBy }) => takenBy.startsWith('foreign-') === isForeign).map(({ ms }) => ms)
  const expiredMs = histories.flatMap((history) =>
    history.foreign.filter(({ hasReleased }) => !hasReleased).map((term) => takeoverMs(history, term)),
  )
  const gaps = histories.flatMap((history) => history.foreign.flatMap((term) => renewalGapsMs(history, term)))
  return {
    rounds: foreign.length,
    terms: { tenure: sum(histories.map(({ tenure }) => tenure.length)), ...countByKind(foreign) },
    changes_of_holder: sum(histories.map(({ holders }) => changes(holders))),
    rollouts_ended_with_new: sum(histories.map(({ endedWithNew }) => endedWithNew)),
    overlaps: sum(histories.map(({ tenure }) => overlaps(tenure).length)),
    overlaps_with_others: sum(histories.map((history) => overlapsWithForeign(history).length)),
    unreleased: sum(histories.map(({ unreleased }) => unreleased.length)),
    failed_releases: countByKind(foreign.filter((term) => isReleaser(term) && !term.hasReleased)),
    joins: sum(histories.map(({ joins }) => joins.filter(Boolean).length)),
    joins_failed: sum(histories.map(({ joins }) => joins.filter((hasJoined) => !hasJoined).length)),
    acknowledged_writes: sum(histories.map(({ writes }) => writes.acknowledged)),
    lost_writes: sum(histories.map(({ writes }) => writes.lost.length + writes.blind.length + writes.undoing.length)),
    unanswered_writes: sum(histories.map(({ writes }) => writes.unanswered)),
    announcements: sum(histories.map(({ writes }) => writes.announcers.length)),
    announcements_after_share_of_retry_period: spread(histories.flatMap(announcementShares)),
    foreign_terms_lost: foreign.filter(({ hadLost }) => hadLost).length,
    foreign_conflicts_by_announcements: Object.fromEntries(
      KINDS.map((kind) => [kind, countByPurpose(conflicts, foreign, kind)]),
    ),
    foreign_renewals: gaps.length,
    foreign_renewal_gap_ms: spread(gaps),
    free_ms_until_tenure: spread(freeMs(false)),
    free_ms_until_foreign: spread(freeMs(true)),
    taken_after_expiry_ms: spread(expiredMs),
  }
}

function changes(holders: readonly LeaseVersion[]): number {
  const terms = holders.map(({ holder }) => holder).filter((holder) => holder !== '')
  return terms.filter((holder, index) => index > 0 && holder !== terms[index - 1]).length
}

function countByKind(terms: readonly ForeignTerm[]): object {
  return Object.fromEntries(KINDS.map((kind) => [kind, terms.filter((term) => term.kind === kind).length]))
}

function countByPurpose(conflicts: readonly Conflict[], foreign: readonly ForeignTerm[], kind: ForeignKind): object {
  const ids = foreign.filter((term) => term.kind === kind).map(({ id }) => `-${id}`)
  const own = conflicts.filter(({ user }) => ids.some((id) => user.endsWith(id)))
  return Object.fromEntries(
    (['acquire', 'renew', 'release'] as const).map((purpose) => [
      purpose,
      own.filter((conflict) => conflict.purpose === purpose).length,
    ]),
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} of ${sorted.length}`
}
