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
      return firstBands(change.holder, at)
    case 'acquired':
      return limited([...bands, begun(change.holder, change.epoch)])
    case 'transferred':
      return limited([...ended(bands, at, 'transferred'), begun(change.holder, change.epoch)])
    case 'taken-over':
      return limited([...changedLast(bands, lossOf(before, at)), begun(change.holder, change.epoch)])
    case 'released':
    case 'deleted':
      return ended(bands, at, change.kind)
    case 'draining':
      return changedLast(bands, { drainFrom: at })
    case 'requested':
    case 'declined':
      return bands
    default:
      return change satisfies never
  }
}

function firstBands(holder: string | undefined, at: number): readonly TermBand[] {
  return holder === undefined || holder === '' ? [] : [{ holder, from: at, isFromSeen: false }]
}

/** The end of a term that was taken over: when others did not have to respect it any more. */
function lossOf(before: LeaseHistory | undefined, at: number): Partial<TermBand> {
  const { leaseDurationSeconds } = before?.last.lease?.record ?? {}
  const renewedAt = before?.changedAt ?? at
  const validUntil = leaseDurationSeconds === undefined ? at : renewedAt + leaseDurationSeconds * 1000
  return { end: 'lost', to: Math.min(at, validUntil), renewedAt }
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
