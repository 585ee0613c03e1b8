import {
  actIn,
  at,
  type Corruption,
  isAcknowledged,
  isOf,
  isSeenByOthers,
  type Lines,
  type Mutable,
  type Placed,
  stepsOf,
  without,
  writeAnsweredBy,
  writeIn,
} from './corruption.ts'
import type { TraceLine, TraceWrite } from '@tenure/core/internal'

/** The corruptions of what the store makes of writes. */
export const STORE: readonly Corruption[] = [
  at('unknown-outcome-refused', 'store: a write that was refused leaves no record', {
    where: (place, lines) => place.line.f === 'unknown-outcome' && hasLeftItsRecord(place, lines),
    change: ({ line }) => (line.f = 'conflict'),
  }),
  at('renewal-refused', 'store: a write that was refused leaves no record', {
    where: (place, lines) =>
      isAcknowledged(place) &&
      place.line.s === 'leading' &&
      actIn(place.line, 'begin') === undefined &&
      isSeenByOthers(lines, place) &&
      hasLeftItsRecord(place, lines),
    change: ({ line }) => {
      without(line, actIn(line, 'until'))
      refuse(line)
    },
  }),
  at('two-writes-on-one-version', 'store: a write replaces the newest version, and there was another one in between', {
    where: (place, lines) => place.line.f === 'conflict' && versionAfterAnother(place, lines) !== undefined,
    change: (place, lines) => {
      const [version, write] = [versionAfterAnother(place, lines), followersWrite(place, lines)]
      delete place.line.f
      Object.assign(place.line, { v: version, r: structuredClone(write?.r) })
    },
  }),
]

/** Turns the answer to a write into its refusal. */
function refuse(line: Mutable<TraceLine>): void {
  for (const field of ['v', 'k', 'r', 'x', 'g'] as const) delete line[field]
  line.f = 'forbidden'
}

/** Whether a replica saw the record of the write that a step answers, which was sent once. */
function hasLeftItsRecord(place: Placed, lines: Lines): boolean {
  const write = writeAnsweredBy(place, lines)
  if (write === undefined || write.i === true || !OF_TERM.has(write.u)) return false
  const steps = stepsOf(lines)
  const sent = steps.filter(({ line }) => isOf(writeIn(line, 'acquire', 'renew', 'release', 'transfer') ?? {}, write.r))
  return sent.length === 1 && steps.some((one) => one.line !== place.line && isOf(one.line, write.r))
}

/** The purposes of writes whose records nobody else writes. */
const OF_TERM: ReadonlySet<string> = new Set(['acquire', 'renew', 'release', 'transfer'])

/** The write of a follower that a step answers. */
function followersWrite(place: Placed, lines: Lines): Mutable<TraceWrite> | undefined {
  const write = writeAnsweredBy(place, lines)
  return write?.u === 'announce' || write?.u === 'answer' ? write : undefined
}

/** An unused version, after a version that somebody has seen since the base of the write that a step answers. */
function versionAfterAnother(place: Placed, lines: Lines): number | undefined {
  const write = followersWrite(place, lines)
  if (write?.b === undefined) return undefined
  const seen = new Set(stepsOf(lines).flatMap(({ line }) => (line.r === undefined ? [] : [Number(line.v)])))
  const base = Number(write.b)
  const between = Math.min(...[...seen].filter((version) => version > base))
  if (between === Infinity) return undefined
  let version = between + 1
  while (seen.has(version)) version += 1
  return version
}
