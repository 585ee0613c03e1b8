import {
  answerTo,
  at,
  type Corruption,
  identityOf,
  isAcknowledged,
  isOf,
  isSeenByOthers,
  type Lines,
  neighbour,
  pick,
  type Placed,
  recordAt,
  stepsOf,
  without,
  writeAnsweredBy,
  writeIn,
} from './corruption.ts'
import { MALFORMATIONS } from './malformations.ts'
import { NOTES } from './note-corruptions.ts'
import { STORE } from './store-corruptions.ts'
import { TERMS } from './term-corruptions.ts'

/** The corruptions of requests and of the order of lines. */
const REQUESTS: readonly Corruption[] = [
  at('write-dropped', 'request: a write is answered that nobody has sent', {
    where: (place, lines) => {
      const write = writeIn(place.line, 'acquire', 'renew')
      return write !== undefined && answerTo(lines, place, write.q) !== undefined
    },
    change: ({ line }) => without(line, writeIn(line, 'acquire', 'renew')),
  }),
  at('answer-duplicated', 'request: a request has one answer', {
    where: isAcknowledged,
    change: ({ index, line }, lines) => void lines.splice(index + 1, 0, structuredClone(line)),
  }),
  at('answer-before-request', 'request: an answer comes after its request', {
    where: (place, lines) => {
      const next = neighbour(lines, place, 1)
      const write = writeIn(place.line, 'acquire', 'renew', 'release')
      return write !== undefined && next?.line.q === write.q
    },
    change: (place, lines) => {
      const next = neighbour(lines, place, 1)
      if (next === undefined) return
      const { t, m } = place.line
      Object.assign(place.line, { t: next.line.t, m: next.line.m })
      Object.assign(next.line, { t, m })
      lines[place.index] = next.line
      lines[next.index] = place.line
    },
  }),
  {
    id: 'line-dropped',
    why: 'order: the lines of an elector are numbered',
    apply(lines, random) {
      const place = pick(
        stepsOf(lines).filter((one) => neighbour(lines, one, 1) !== undefined),
        random,
      )
      if (place !== undefined) lines.splice(place.index, 1)
      return place !== undefined
    },
  },
  {
    id: 'header-dropped',
    why: 'format: the settings of an elector are not known without its header',
    apply(lines) {
      lines.splice(0, 1)
      return true
    },
  },
]

/** The corruptions of times. */
const TIMES: readonly Corruption[] = [
  at('time-back', 'order: the clock of an elector does not go back', {
    where: (place, lines) => neighbour(lines, place, -1) !== undefined,
    change: (place, lines) => (place.line.t = (neighbour(lines, place, -1)?.line.t ?? 0) - 1),
  }),
  at('machine-time-back', 'order: the clock of a machine does not go back', {
    // So little that the clock of the elector does not seem slow beside it.
    where: (place, lines) => place.line.m - (neighbour(lines, place, -1)?.line.m ?? -Infinity) < 1,
    change: ({ line }) => (line.m -= 1),
  }),
  at('time-slowed', 'clock: the clock of an elector is slower than the tolerance permits', {
    // So long that the loss is more than the jitter of two clocks.
    where: (place, lines) => place.line.m - (neighbour(lines, place, -1)?.line.m ?? place.line.m) > 500,
    change: (place, lines) => {
      const before = neighbour(lines, place, -1)?.line.t ?? 0
      place.line.t = before + (place.line.t - before) * 0.8
    },
  }),
  at('seen-before-sent', 'source: a record is seen after it was sent', {
    where: (place, lines) => {
      const [before, sender] = [neighbour(lines, place, -1), senderOf(place, lines)]
      return place.line.e === 'observed' && (before?.line.m ?? Infinity) < (sender?.line.m ?? 0) - 1
    },
    change: (place, lines) => {
      const [before, sender] = [neighbour(lines, place, -1), senderOf(place, lines)]
      if (before === undefined || sender === undefined) return
      const { line, index } = place
      const share = (sender.line.m - before.line.m) / (line.m - before.line.m) / 2
      line.t = before.line.t + (line.t - before.line.t) * share
      line.m = before.line.m + (line.m - before.line.m) * share
      lines.splice(index, 1)
      lines.splice(sender.index, 0, line)
    },
  }),
  at('wait-shortened', 'wait: the lease of another holder is unchanged for less than its duration', {
    where: (place, lines) => {
      const write = writeIn(place.line, 'acquire')
      const replaced = write && recordAt(lines, write.b)
      if (replaced === undefined || replaced.h === '' || replaced.x !== undefined) return false
      if (replaced.h === identityOf(lines, place.line.p)) return false
      const before = stepsOf(lines).filter(({ line, index }) => line.p === place.line.p && index < place.index)
      const isDead = [...before, place].some(({ line }) => line.h === replaced.h)
      const sightings = before.filter(({ line }) => isOf(line, replaced))
      return !isDead && sightings.length > 0 && sightings.every(({ line }) => line.e === 'observed')
    },
    change: ({ index, line }, lines) => {
      const replaced = recordAt(lines, writeIn(line, 'acquire')?.b)
      const isSighting = (one: Lines[number], place: number): boolean =>
        'p' in one && one.p === line.p && place < index && isOf(one, replaced)
      const last = lines.findLast(isSighting)
      if (last === undefined) return
      const seen = { ...last, t: line.t - 0.1, m: line.m - 0.1 }
      const kept = lines.filter((one, place) => !isSighting(one, place))
      kept.splice(kept.indexOf(line), 0, seen)
      lines.splice(0, lines.length, ...kept)
    },
  }),
]

/** The step of another replica that sends the record which a step shows. */
function senderOf({ line }: Placed, lines: Lines): Placed | undefined {
  return stepsOf(lines).find((other) => {
    const write = writeIn(other.line, 'acquire', 'renew')
    return other.line.p !== line.p && write !== undefined && isOf(line, write.r)
  })
}

/** The corruptions of records. */
const RECORDS: readonly Corruption[] = [
  at('holder-swapped', 'store: a version has one holder, and others saw another one', {
    where: (place, lines) =>
      place.line.r !== undefined &&
      place.line.r.h !== '' &&
      isSeenByOthers(lines, place) &&
      place.line.e === 'observed',
    change: ({ line }) => line.r && (line.r.h = `${line.r.h}-other`),
  }),
  at('renew-time-swapped', 'store or source: nobody has sent this record', {
    where: (place, lines) => place.line.r?.r !== undefined && place.line.r.h !== '' && isSeenByOthers(lines, place),
    change: ({ line }) => line.r && (line.r.r = '2031-01-01T00:00:00.000000Z'),
  }),
  at('answer-of-before', 'store: a write makes a new version', {
    // A write that only checks a lease for life makes none.
    where: (place, lines) => isAcknowledged(place) && writeAnsweredBy(place, lines)?.i !== true,
    change: (place, lines) => (place.line.v = writeAnsweredBy(place, lines)?.b ?? 0),
  }),
  at('transitions-kept', 'write: another holder counts a transition', {
    where: (place, lines) => {
      const write = writeIn(place.line, 'acquire')
      return (write?.r.n ?? 0) > 0 && recordAt(lines, write?.b)?.h !== write?.r.h
    },
    change: ({ line }) => {
      const write = writeIn(line, 'acquire')
      if (write?.r.n !== undefined) write.r.n -= 1
    },
  }),
  at('duration-changed', 'write: a write states the duration of the lease', {
    where: ({ line }) => writeIn(line, 'acquire', 'renew') !== undefined,
    change: ({ line }) => {
      const write = writeIn(line, 'acquire', 'renew')
      if (write !== undefined) write.r.d = (write.r.d ?? 0) + 1
    },
  }),
  at('renewal-of-another-term', 'write: a renewal keeps the acquire time', {
    where: ({ line }) => writeIn(line, 'renew') !== undefined,
    change: ({ line }) => {
      const write = writeIn(line, 'renew')
      if (write !== undefined) write.r.a = '2031-01-01T00:00:00.000000Z'
    },
  }),
  at('answer-forgotten', 'store: a version has one answer to an offer', {
    where: (place, lines) =>
      place.line.e === 'observed' && isSeenByOthers(lines, place) && place.line.r?.y !== undefined,
    change: ({ line }) => void delete line.r?.y,
  }),
  at('missing-meanwhile', 'store: a lease that was replaced existed until then', {
    where: ({ line }, lines) =>
      line.e === 'observed' &&
      line.r !== undefined &&
      stepsOf(lines).some((other) => writeIn(other.line, 'renew')?.b === line.v && isRenewed(other, lines)),
    change: ({ line }) => {
      delete line.r
      delete line.k
      delete line.g
    },
  }),
  at('least-epoch-changed', 'write: a renewal keeps the least epoch', {
    where: ({ line }) => writeIn(line, 'renew') !== undefined,
    change: ({ line }) => {
      const write = writeIn(line, 'renew')
      if (write !== undefined) write.r.e = Number(write.r.e ?? 0) + 1
    },
  }),
  at('stale-base', 'base: a newer version was seen', {
    where: ({ line }) => Number(writeIn(line, 'renew')?.b ?? 0) > 1,
    change: ({ line }) => {
      const write = writeIn(line, 'renew')
      if (write !== undefined) write.b = Number(write.b) - 1
    },
  }),
]

/** Whether the renewal that a step sends is answered. */
function isRenewed(place: Placed, lines: Lines): boolean {
  const write = writeIn(place.line, 'renew')
  return write !== undefined && write.i !== true && isAcknowledged(answerTo(lines, place, write.q) ?? place)
}

/** Every way to corrupt a trace. */
export const CORRUPTIONS: readonly Corruption[] = [
  ...REQUESTS,
  ...TIMES,
  ...RECORDS,
  ...NOTES,
  ...STORE,
  ...TERMS,
  ...MALFORMATIONS,
]
