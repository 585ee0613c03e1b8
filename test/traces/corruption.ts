import type { TraceAct, TraceHeader, TraceLine, TraceRecord, TraceWrite } from '@tenure/core/internal'

/** Lines of a trace that can be changed. */
export type Lines = (Mutable<TraceLine> | TraceHeader)[]

/** A value without its read-only marks, at every depth. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Mutable<T[K]> : T[K] }

/** The steps of a trace, with their places. */
export interface Placed {
  readonly index: number
  readonly line: Mutable<TraceLine>
}

/** One way to corrupt a trace, after which it is no behaviour of the specification. */
export interface Corruption {
  readonly id: string
  /** The rule that it breaks, and why no other run explains the trace. */
  readonly why: string
  /** Corrupts the lines at a random place; false if there is no such place. */
  readonly apply: (lines: Lines, random: () => number) => boolean
}

/** A corruption of one step of a kind. */
export function at(
  id: string,
  why: string,
  {
    where,
    change,
  }: {
    readonly where: (place: Placed, lines: Lines) => boolean
    readonly change: (place: Placed, lines: Lines) => void
  },
): Corruption {
  return {
    id,
    why,
    apply(lines, random) {
      const place = pick(
        stepsOf(lines).filter((one) => where(one, lines)),
        random,
      )
      if (place === undefined) return false
      change(place, lines)
      renumber(lines)
      return true
    },
  }
}

/** All steps. */
export function stepsOf(lines: Lines): readonly Placed[] {
  return lines.flatMap((line, index) => (isStep(line) ? [{ index, line }] : []))
}

/** Whether a line is a step. */
export function isStep(line: Mutable<TraceLine> | TraceHeader): line is Mutable<TraceLine> {
  return 'p' in line
}

/** One of the places at random. */
export function pick<T>(places: readonly T[], random: () => number): T | undefined {
  return places[Math.floor(random() * places.length)]
}

/** The step of the same elector before or after a place. */
export function neighbour(lines: Lines, { index, line }: Placed, direction: -1 | 1): Placed | undefined {
  for (let at = index + direction; at >= 0 && at < lines.length; at += direction) {
    const other = lines[at]
    if (other !== undefined && isStep(other) && other.p === line.p) return { index: at, line: other }
  }
  return undefined
}

/** Numbers the steps of every elector again, as a forger would. */
export function renumber(lines: Lines): void {
  const counts = new Map<number, number>()
  for (const line of lines) {
    if (!isStep(line)) continue
    const n = (counts.get(line.p) ?? 0) + 1
    counts.set(line.p, n)
    line.n = n
  }
}

/** The write of one of these purposes in a step. */
export function writeIn(
  line: TraceLine | Mutable<TraceLine>,
  ...purposes: TraceWrite['u'][]
): Mutable<TraceWrite> | undefined {
  const acts: readonly TraceAct[] = line.d ?? []
  return acts.find(({ u }) => purposes.some((purpose) => purpose === u)) as Mutable<TraceWrite> | undefined
}

/** The act of this kind in a step. */
export function actIn<U extends TraceAct['u']>(
  line: TraceLine | Mutable<TraceLine>,
  u: U,
): Mutable<Extract<TraceAct, { u: U }>> | undefined {
  const acts: readonly TraceAct[] = line.d ?? []
  return acts.find((act) => act.u === u) as Mutable<Extract<TraceAct, { u: U }>> | undefined
}

/** The identity of an elector. */
export function identityOf(lines: Lines, p: number): string {
  const header = lines.find((line) => !isStep(line) && line.elector === p) as TraceHeader | undefined
  return header?.identity ?? ''
}

/** The record of a version, as any step has seen it. */
export function recordAt(lines: Lines, version: TraceWrite['b']): TraceRecord | undefined {
  return stepsOf(lines).find(({ line }) => line.v === version && line.r !== undefined)?.line.r
}

/** The answer to a request of the step. */
export function answerTo(lines: Lines, { line }: Placed, q: number): Placed | undefined {
  return stepsOf(lines).find((other) => other.line.p === line.p && other.line.q === q)
}

/** Whether a step answers a write that has happened. */
export function isAcknowledged({ line }: Placed): boolean {
  return line.e === 'write-answer' && line.f === undefined && line.r !== undefined
}

/** Takes the given act out of a step. */
export function without(line: Mutable<TraceLine>, act: unknown): void {
  line.d = (line.d ?? []).filter((one) => one !== act)
}

/** Whether a step shows a record of the same renewal. */
export function isOf({ r }: { readonly r?: TraceRecord | undefined }, record: TraceRecord | undefined): boolean {
  return r !== undefined && record !== undefined && r.h === record.h && r.a === record.a && r.r === record.r
}

/** The write that a step answers. */
export function writeAnsweredBy({ line }: Placed, lines: Lines) {
  const sender = stepsOf(lines).find((one) => one.line.p === line.p && writeWith(one.line, line.q) !== undefined)
  return sender && writeWith(sender.line, line.q)
}

function writeWith(line: Mutable<TraceLine>, q: number | undefined) {
  const write = writeIn(line, 'acquire', 'renew', 'release', 'transfer', 'answer', 'announce')
  return write?.q === q ? write : undefined
}

/** Whether another replica has seen the version that a step shows. */
export function isSeenByOthers(lines: Lines, { line }: Placed): boolean {
  return stepsOf(lines).some(
    (other) => other.line.p !== line.p && other.line.v === line.v && other.line.r !== undefined,
  )
}

/** Changes a record that a step writes wherever anybody sees it, so that nothing contradicts it. */
export function rewrite(lines: Lines, write: Mutable<TraceWrite>, fields: Partial<TraceRecord>): void {
  const { r: before } = structuredClone(write)
  for (const { line } of stepsOf(lines)) {
    const followed = writeIn(line, 'answer', 'announce')
    for (const record of [line.r, followed?.r])
      if (record !== undefined && isOf({ r: record }, before)) Object.assign(record, fields)
  }
  Object.assign(write.r, fields)
}
