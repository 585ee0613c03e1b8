import type { TraceRecord, TraceWrite } from '@tenure/core/internal'
import {
  answerTo,
  at,
  type Corruption,
  type Lines,
  type Mutable,
  recordAt,
  rewrite,
  stepsOf,
  writeIn,
} from './corruption.ts'

/** A nonce that nobody has sent. */
const NONCE = '1-forged'

/** A corruption of the records of writes of one purpose, wherever they are seen. */
function records(
  id: string,
  why: string,
  {
    of: purpose,
    fields,
  }: {
    readonly of: TraceWrite['u']
    /** What the record says instead. `replaced` is the one that it replaces. */
    readonly fields: (replaced: TraceRecord | undefined) => Partial<TraceRecord> | undefined
  },
): Corruption {
  const fieldsOf = (write: Mutable<TraceWrite>, lines: Lines) => fields(recordAt(lines, write.b))
  return at(id, why, {
    // A write that only checks a lease for life has the record of before.
    where: ({ line }, lines) => {
      const write = writeIn(line, purpose)
      return write !== undefined && write.i !== true && fieldsOf(write, lines) !== undefined
    },
    change: ({ line }, lines) => {
      const write = writeIn(line, purpose)
      if (write !== undefined) rewrite(lines, write, fieldsOf(write, lines) ?? {})
    },
  })
}

/** A corruption of the record of an announcement, and of the version that it makes. */
function announcements(id: string, why: string, fields: Partial<TraceRecord>): Corruption {
  return at(id, why, {
    where: ({ line }) => writeIn(line, 'announce') !== undefined,
    change: (place, lines) => {
      const write = writeIn(place.line, 'announce')
      if (write === undefined) return
      const made = answerTo(lines, place, write.q)?.line.v
      Object.assign(write.r, fields)
      for (const { line } of stepsOf(lines))
        if (made !== undefined && line.v === made && line.r !== undefined) Object.assign(line.r, fields)
    },
  })
}

/** The corruptions of what records say beside their holder and its renewals. */
export const NOTES: readonly Corruption[] = [
  records('acquisition-with-nonce', 'write: only a transfer has the nonce of an answer', {
    of: 'acquire',
    fields: () => ({ x: NONCE }),
  }),
  records('acquisition-with-offer', 'write: nobody offers a lease before its term', {
    of: 'acquire',
    fields: () => ({ o: true }),
  }),
  records('renewal-with-nonce', 'write: a renewal is no transfer', { of: 'renew', fields: () => ({ x: NONCE }) }),
  records('renewal-answers', 'write: only the replica that wants the lease answers an offer', {
    of: 'renew',
    fields: () => ({ y: ['somebody-else', NONCE] }),
  }),
  records('release-keeps-duration', 'write: a release states one second', { of: 'release', fields: () => ({ d: 15 }) }),
  records('release-keeps-acquire-time', 'write: a release has the time at which it was sent', {
    of: 'release',
    fields: (replaced) => (replaced?.a === undefined ? undefined : { a: replaced.a }),
  }),
  records('transfer-protects-longer', 'write: a transfer states 5 seconds', {
    of: 'transfer',
    fields: () => ({ d: 60 }),
  }),
  announcements('announcement-with-nonce', 'write: an announcement changes nothing but the list of standbys', {
    x: NONCE,
  }),
  announcements('announcement-with-epoch', 'write: an announcement states only an epoch that its sender knows', {
    e: 9_000_000,
  }),
  at('answer-overwritten', 'write: only the replica that has answered changes its answer', {
    where: ({ line }, lines) => recordAt(lines, writeIn(line, 'answer')?.b) !== undefined,
    change: ({ line }, lines) => {
      const base = writeIn(line, 'answer')?.b
      for (const other of stepsOf(lines))
        if (other.line.v === base && other.line.r !== undefined) other.line.r.y = ['somebody-else', NONCE]
    },
  }),
]
