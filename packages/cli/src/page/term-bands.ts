import type { LeaseChange, LeaseHistory } from '../watch/lease-changes.ts'

/** One term of a lease on the timeline. Times are wall-clock milliseconds of this machine. */
export interface TermBand {
  readonly holder: string
  /** A decimal number; undefined for the term that was there at the first sighting. */
  readonly epoch?: string
  readonly from: number
  /** False for the term that was there at the first sighting: it may have begun earlier. */
  readonly isFromSeen: boolean
  /** Undefined while the term lasts. */
  readonly to?: number
  readonly end?: 'released' | 'transferred' | 'lost' | 'deleted'
  /** Of a lost term, when its holder renewed the lease for the last time. The term was valid until `to`. */
  readonly renewedAt?: number
  /** When the holder began to drain. */
  readonly drainFrom?: number
}

/** The bands that a timeline keeps of one lease. */
const MOST_BANDS = 500

/** Adds a change to the bands of a lease. */
export function withChange(
  bands: readonly TermBand[],
  change: LeaseChange,
  { at, before }: { readonly at: number; readonly before: LeaseHistory | undefined },
): readonly TermBand[] {
  const begun = (holder: string, epoch: string): TermBand => ({ holder, epoch, from: at, isFromSeen: true })
  switch (change.kind) {
    case 'first-seen':
      return change.holder ? [{ holder: change.holder, from: at, isFromSeen: false }] : []
    case 'acquired':
      return limited([...bands, begun(change.holder, change.epoch)])
    case 'transferred':
      return limited([...ended(bands, at, 'transferred'), begun(change.holder, change.epoch)])
    case 'taken-over':
      return limited([
        ...changedLast(bands, { end: 'lost', to: validUntil(before, at), renewedAt: before?.changedAt ?? at }),
        begun(change.holder, change.epoch),
      ])
    case 'released':
      return ended(bands, at, 'released')
    case 'deleted':
      return ended(bands, at, 'deleted')
    case 'draining':
      return changedLast(bands, { drainFrom: at })
    case 'requested':
      return bands
    default:
      return change satisfies never
  }
}

/** Until when others had to respect a term that was taken over. */
function validUntil(before: LeaseHistory | undefined, at: number): number {
  const { leaseDurationSeconds } = before?.last.lease?.record ?? {}
  if (before === undefined || leaseDurationSeconds === undefined) return at
  return Math.min(at, before.changedAt + leaseDurationSeconds * 1000)
}

function ended(bands: readonly TermBand[], to: number, end: NonNullable<TermBand['end']>): readonly TermBand[] {
  return changedLast(bands, { to, end })
}

/** Changes the last band, unless its term has ended. */
function changedLast(bands: readonly TermBand[], change: Partial<TermBand>): readonly TermBand[] {
  const last = bands.at(-1)
  return last === undefined || last.to !== undefined ? bands : [...bands.slice(0, -1), { ...last, ...change }]
}

function limited(bands: readonly TermBand[]): readonly TermBand[] {
  return bands.length > MOST_BANDS ? bands.slice(-MOST_BANDS) : bands
}
