import {
  answerTo,
  at,
  type Corruption,
  isStep,
  type Lines,
  neighbour,
  type Placed,
  stepsOf,
  writeIn,
} from './corruption.ts'

/** Changes a line in a way that its type does not allow. */
function force(place: Placed, fields: Readonly<Record<string, unknown>>): void {
  Object.assign(place.line, fields)
}

function isAnsweredWrite(place: Placed, lines: Lines): boolean {
  const write = writeIn(place.line, 'acquire', 'renew')
  return write !== undefined && answerTo(lines, place, write.q) !== undefined
}

/** A corruption of the first header. */
function setting(id: string, why: string, settings: object): Corruption {
  return {
    id,
    why,
    apply(lines) {
      const header = lines.find((line) => !isStep(line))
      if (header !== undefined) Object.assign(header, settings)
      return header !== undefined
    },
  }
}

/** The corruptions that make lines which no elector writes. */
export const MALFORMATIONS: readonly Corruption[] = [
  at('event-unknown', 'format: an elector handles only known events', {
    where: ({ line }) => line.e === 'observed',
    change: (place) => force(place, { e: 'seen' }),
  }),
  at('event-exchanged', 'format: only a line of a sighting or an answer shows the lease', {
    where: ({ line }) => line.e === 'observed' && line.v !== undefined,
    change: ({ line }) => (line.e = 'wake'),
  }),
  at('state-unknown', 'format: an elector is in a known state', {
    where: ({ line }) => line.s === 'following',
    change: (place) => force(place, { s: 'waiting' }),
  }),
  at('failure-unknown', 'format: a request fails for a known reason', {
    where: ({ line }) => line.f !== undefined,
    change: (place) => force(place, { f: 'lost' }),
  }),
  at('record-without-version', 'format: a record has a version', {
    where: ({ line }) => line.e === 'observed' && line.r !== undefined,
    change: ({ line }) => void delete line.v,
  }),
  at('version-negative', 'format: a version is a whole number of at least 0', {
    where: ({ line }) => line.e === 'observed' && typeof line.v === 'number',
    change: (place) => force(place, { v: -Number(place.line.v) }),
  }),
  at('answer-of-numbers', 'format: an answer has the name of a replica and a nonce', {
    where: ({ line }) => line.e === 'observed' && line.r !== undefined,
    change: ({ line: { v } }, lines) => {
      for (const { line } of stepsOf(lines)) if (line.v === v) Object.assign(line.r ?? {}, { y: [1, 2] })
    },
  }),
  at('deletion-in-words', 'format: a lease is being deleted, or the line does not say so', {
    where: ({ line }) => line.e === 'observed' && line.r !== undefined,
    change: (place) => force(place, { x: 'yes' }),
  }),
  at('started-twice', 'order: an elector starts once', {
    where: (place, lines) => place.line.e === 'wake' && neighbour(lines, place, -1) !== undefined,
    change: ({ line }) => (line.e = 'start'),
  }),
  at('request-renumbered', 'request: an elector numbers its requests in turn', {
    where: isAnsweredWrite,
    change: (place, lines) => {
      const write = writeIn(place.line, 'acquire', 'renew')
      const answer = write && answerTo(lines, place, write.q)
      if (write === undefined || answer === undefined) return
      write.q += 1000
      answer.line.q = write.q
    },
  }),
  at('decider-forgotten', 'format: who decides is in every line of an elector, or in none', {
    where: (place, lines) => place.line.c !== undefined && neighbour(lines, place, -1) !== undefined,
    change: ({ line }) => void delete line.c,
  }),
  setting('settings-unknown', 'format: the settings of an elector are known ones', { onWedged: 'wait' }),
  setting('tolerance-of-one', 'format: a clock that may stand still measures nothing', { tolerance: 1 }),
  setting('request-negative', 'format: a request takes some time', { requestMs: -5 }),
]
