import {
  actIn,
  at,
  type Corruption,
  identityOf,
  type Lines,
  type Mutable,
  neighbour,
  type Placed,
  stepsOf,
  without,
  writeIn,
} from './corruption.ts'
import type { TraceAct, TraceLine, TraceRecord } from '@tenure/core/internal'

/** The corruptions of terms. */
export const TERMS: readonly Corruption[] = [
  at('act-without-write', 'begin: the write by which the term begins was refused', {
    where: ({ line }) => line.e === 'write-answer' && line.f === undefined && actIn(line, 'begin') !== undefined,
    change: ({ line }) => {
      delete line.v
      delete line.r
      line.f = 'conflict'
    },
  }),
  at('epoch-repeated', 'S6: a term has the epoch of the write by which it begins, and no two have the same', {
    where: ({ line }) => actIn(line, 'begin') !== undefined,
    change: ({ line }) => {
      const begin = actIn(line, 'begin')
      if (begin !== undefined) begin.k = Number(begin.k) - 1
    },
  }),
  at('validity-extended', 'validity: no write that is known to have happened covers the time', {
    where: ({ line }) => actIn(line, 'until') !== undefined,
    change: ({ line }) => {
      const until = actIn(line, 'until')
      if (until !== undefined) until.until += 1
    },
  }),
  at('release-before-the-end', 'S3: the term is not empty when the release is sent', {
    where: ({ line }) => line.e === 'drained' && writeIn(line, 'release', 'transfer') !== undefined,
    change: ({ line }) => (line.e = 'wake'),
  }),
  at('released-for-another', 'S4: a release clears the own lease', {
    where: ({ line }) => writeIn(line, 'release') !== undefined,
    change: ({ line }, lines) => {
      const write = writeIn(line, 'release')
      const foreign = stepsOf(lines).find(
        (one) => one.line.r !== undefined && one.line.r.h !== identityOf(lines, line.p),
      )
      if (write !== undefined) write.b = foreign?.line.v ?? 0
    },
  }),
  at('transfer-to-another', 'write: only a replica that has answered gets the lease', {
    where: ({ line }) => writeIn(line, 'transfer') !== undefined,
    change: ({ line }) => {
      const write = writeIn(line, 'transfer')
      if (write !== undefined) write.r.h = 'somebody-else'
    },
  }),
  at('end-dropped', 'state: a term ends before it is over', {
    // A term that has drained may be over in the step in which it ends for a second reason.
    where: ({ line }) => actIn(line, 'end') !== undefined && actIn(line, 'over') === undefined,
    change: ({ line }) => without(line, actIn(line, 'end')),
  }),
  at('follower-leads', 'state: a follower has no term', {
    where: ({ line }) => line.s === 'following',
    change: ({ line }) => (line.s = 'leading'),
  }),
  at('step-down-ignored', 'state: a leader that is asked to step down drains', {
    where: ({ line }, lines) =>
      line.e === 'step-down' && line.s === 'following' && line.d === undefined && lines.length > 0,
    change: ({ line }) => (line.s = 'acquiring'),
  }),
  at('released-after-an-abort', 'S3: a term that was aborted is not released: it expires', {
    where: (place, lines) =>
      neighbour(lines, place, -1)?.line.s === 'aborting' &&
      actIn(place.line, 'over')?.outcome === 'expired' &&
      sendsNothing(place.line) &&
      heldBy(place, lines)?.h === identityOf(lines, place.line.p),
    change: (place, lines) => {
      const held = sightingBefore(place, lines)
      if (held?.line.r === undefined || held.line.v === undefined) return
      const q = makeRoomForRequest(place, lines)
      const record = { ...held.line.r, h: '', d: 1, a: FORGED_AT, r: FORGED_AT }
      place.line.d = [{ u: 'release', q, b: held.line.v, r: record }, ...(place.line.d ?? [])]
    },
  }),
  at('released-after-it-was-abandoned', 'S3: a term that was abandoned is not released: its work may go on', {
    where: ({ line }) => line.e === 'drained' && line.s === 'releasing' && writeIn(line, 'release') !== undefined,
    change: (place, lines) => {
      for (const header of lines) if (!('p' in header)) Object.assign(header, { onWedged: 'abandon' })
      const { line } = place
      const acts: readonly TraceAct[] = [{ u: 'wedged' }, { u: 'over', outcome: 'expired' }, ...(line.d ?? [])]
      Object.assign(line, { e: 'wake', d: acts })
      const over = stepsOf(lines).find(
        (one) => one.index > place.index && one.line.p === line.p && actIn(one.line, 'over') !== undefined,
      )
      if (over !== undefined) without(over.line, actIn(over.line, 'over'))
    },
  }),
  at('aborting-when-empty', 'state: a term that is aborted is over when it is empty', {
    where: (place, lines) =>
      place.line.e === 'drained' &&
      neighbour(lines, place, -1)?.line.s === 'aborting' &&
      actIn(place.line, 'over') !== undefined,
    change: ({ line }) => {
      line.s = 'aborting'
      delete line.d
    },
  }),
  at('wedged-while-leading', 'state: only the work of a term that has ended can be wedged', {
    where: ({ line }) => line.s === 'leading',
    change: ({ line }) => (line.d = [...(line.d ?? []), { u: 'wedged' }]),
  }),
  at('stopped-while-leading', 'state: a replica that has stopped does not lead', {
    where: ({ line }) => line.s === 'leading',
    change: ({ line }) => (line.d = [...(line.d ?? []), { u: 'stopped' }]),
  }),
  at('acquires-without-a-write', 'state: a replica that is acquiring waits for its write', {
    where: ({ line }) => line.s === 'following' && line.e === 'observed' && line.d === undefined,
    change: ({ line }) => (line.s = 'acquiring'),
  }),
  at('dead-goes-on', 'D1: a holder that takes further steps is not dead', {
    where: (place, lines) => {
      const { line } = place
      const isFollower =
        line.s === 'following' && line.e === 'observed' && line.r?.a !== undefined && line.d === undefined
      return isFollower && isAlive(lines, place)
    },
    change: ({ index, line }, lines) => {
      const { r } = line
      const death = { ...line, e: 'holder-dead', h: r?.h ?? '', a: r?.a ?? '' } as Mutable<TraceLine>
      delete death.v
      delete death.r
      lines.splice(index + 1, 0, death)
    },
  }),
]

/** Whether the holder that a step sees leads on, well after it. */
function isAlive(lines: Lines, { line }: Placed): boolean {
  return stepsOf(lines).some(
    (other) =>
      identityOf(lines, other.line.p) === line.r?.h &&
      other.line.m > line.m + 10 &&
      writeIn(other.line, 'renew')?.r.a === line.r.a,
  )
}

/** A time of no record. */
const FORGED_AT = '2031-01-01T00:00:00.000000Z'

function sendsNothing({ d = [] }: Mutable<TraceLine>): boolean {
  return !d.some((act) => 'q' in act)
}

/** The last step of the elector so far that shows the lease. */
function sightingBefore({ index, line }: Placed, lines: Lines): Placed | undefined {
  return stepsOf(lines).findLast(
    (one) => one.index <= index && one.line.p === line.p && one.line.r !== undefined && one.line.v !== undefined,
  )
}

function heldBy(place: Placed, lines: Lines): TraceRecord | undefined {
  return sightingBefore(place, lines)?.line.r
}

/** Renumbers the later requests of the elector, so that it can send one more in this step. Returns the number of that one. */
function makeRoomForRequest({ index, line }: Placed, lines: Lines): number {
  const own = stepsOf(lines).filter((one) => one.line.p === line.p)
  const sent = own.filter((one) => one.index <= index).flatMap((one) => requestsIn(one.line))
  const last = Math.max(0, ...sent.map(({ q }) => q))
  for (const { line: other } of own) {
    if (other.q !== undefined && other.q > last) other.q += 1
    for (const request of requestsIn(other)) if (request.q > last) request.q += 1
  }
  return last + 1
}

function requestsIn({ d = [] }: Mutable<TraceLine>) {
  return d.filter((act) => 'q' in act)
}
