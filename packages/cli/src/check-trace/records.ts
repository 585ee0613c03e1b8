import type { TraceRecord, TraceVersion } from '@tenure/core/internal'

/** A version or an epoch that can be compared. */
export type Version = number | bigint

/** The version in a line. */
export function versionOf(value: TraceVersion): Version {
  return typeof value === 'number' ? value : BigInt(value)
}

/** The greater of two versions. */
export function greatest(a: Version, b: Version): Version {
  return a > b ? a : b
}

/** Whether two records agree in every field that electors compare. */
export function isSameRecord(a: TraceRecord, b: TraceRecord): boolean {
  return a.r === b.r && a.h === b.h && a.a === b.a && a.d === b.d && a.n === b.n
}

/** Whether two records agree in everything that every lock reads. Only a lock with a coordinator reads the preferred holder. */
export function isEqualRecord(a: TraceRecord, b: TraceRecord): boolean {
  return a === b || (isEqualButForAnswer(a, b) && a.y?.[0] === b.y?.[0] && a.y?.[1] === b.y?.[1])
}

/** Whether two records agree in that, but for the answer to an offer. */
export function isEqualButForAnswer(a: TraceRecord, b: TraceRecord): boolean {
  return isSameRecord(a, b) && a.e === b.e && a.x === b.x && a.o === b.o
}

/** Whether a record was written as `written`, and perhaps edited since. */
export function isWrittenAs(record: TraceRecord, written: TraceRecord): boolean {
  return record.r === written.r && record.h === written.h && record.a === written.a
}

/** A term, as its record names it. */
export interface TermKey {
  readonly h: string
  readonly a?: string | undefined
}

/** Whether a record is of this term, which is undefined if none is known. */
export function isOfTerm(term: TermKey | undefined, record: TermKey): boolean {
  return term !== undefined && term.h === record.h && term.a === record.a
}

/** The stated duration in milliseconds; 0 if there is none that others can use. */
export function statedMs({ d = 0 }: TraceRecord): number {
  return d > 0 ? d * 1000 : 0
}

/** A record without a usable duration protects its holder for the default of other clients. */
const UNREADABLE_MS = 15_000

/** How long others must wait after they saw this record. */
export function durationMs(record: TraceRecord): number {
  return statedMs(record) || UNREADABLE_MS
}

/** The epoch of a term that begins with this version. */
export function epochOf(version: Version, record: TraceRecord): Version {
  return record.e === undefined ? version : greatest(version, versionOf(record.e))
}

/** Whether clients that compare whole seconds see the second record as a renewal of the first. */
export function isRenewalInWholeSeconds(previous: TraceRecord, next: TraceRecord): boolean {
  if (previous.x !== undefined) return true
  const isSame = previous.h === next.h && previous.n === next.n
  return !isSame || second(previous.a) !== second(next.a) || second(previous.r) !== second(next.r)
}

function second(time: string | undefined): string | undefined {
  return time?.slice(0, 19)
}
