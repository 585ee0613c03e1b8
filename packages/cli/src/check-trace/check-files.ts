import { isJsonObject, parseLease } from '@tenure/kubernetes/internal'
import { type TraceRecord, traceRecordOf } from '@tenure/core/internal'
import type { Finding } from './finding.ts'
import type { Version } from './records.ts'
import { TraceChecker, type TraceCheckerOptions } from './trace-checker.ts'
import { TraceFile } from './trace-file.ts'

/** What the check of some traces found. */
export interface TraceReport {
  readonly findings: readonly Finding[]
  readonly events: number
}

/** Checks the traces of a fleet, and recordings of `tenure watch` beside them, in one pass. */
export function checkFiles(files: readonly TraceFile[], options: TraceCheckerOptions = {}): TraceReport {
  const checker = new TraceChecker(options)
  for (const file of files) {
    file.advance()
    // Lines without a time come before all others.
    takeUntil(checker, file, -Infinity)
  }
  const merge = new Merge(files.filter(({ isOver }) => !isOver))
  for (let next = merge.next(); next !== undefined; next = merge.next()) takeUntil(checker, next.file, next.until)
  return { findings: checker.end(), events: checker.events }
}

/** Takes the lines of a file up to this time of the machine. */
function takeUntil(checker: TraceChecker, file: TraceFile, until: number): void {
  for (; !file.isOver && file.machineAt <= until; file.advance()) take(checker, file)
}

/** Files in the order of their lines. The files of a day are hundreds, one for each process, of which few are written at the same time. */
class Merge {
  /** The files of which no line was taken, the earliest last. */
  readonly #waiting: TraceFile[]
  /** The others, in the order in which they were given. */
  #begun: readonly TraceFile[] = []
  readonly #places: ReadonlyMap<TraceFile, number>

  constructor(files: readonly TraceFile[]) {
    this.#waiting = files.toSorted((a, b) => b.machineAt - a.machineAt)
    this.#places = new Map(files.map((file, place) => [file, place]))
  }

  /** The next file of which lines are taken, and until when. Undefined if all are over. */
  next(): Turn | undefined {
    if (this.#begun.some(({ isOver }) => isOver)) this.#begun = this.#begun.filter(({ isOver }) => !isOver)
    const turn = earliest(this.#begun)
    const waiting = this.#waiting.at(-1)
    if (waiting === undefined) return turn
    const { machineAt } = waiting
    if (turn !== undefined && turn.file.machineAt < machineAt)
      return { file: turn.file, until: Math.min(turn.until, machineAt) }
    this.#waiting.pop()
    this.#begun = [...this.#begun, waiting].toSorted((a, b) => this.#placeOf(a) - this.#placeOf(b))
    return this.next()
  }

  #placeOf(file: TraceFile): number {
    return this.#places.get(file) ?? 0
  }
}

/** A file whose lines are taken, up to this time of the machine. */
interface Turn {
  readonly file: TraceFile
  readonly until: number
}

/** The file with the earliest line, and the time of the earliest line of the others. */
function earliest(files: readonly TraceFile[]): Turn | undefined {
  let file: TraceFile | undefined
  let until = Infinity
  for (const other of files) {
    if (file !== undefined) until = Math.min(until, Math.max(file.machineAt, other.machineAt))
    if (file === undefined || other.machineAt < file.machineAt) file = other
  }
  return file && { file, until }
}

function take(checker: TraceChecker, { value, place }: TraceFile): void {
  if (checker.take(value, place)) return
  const sighting = sightingOf(value)
  if (sighting === undefined) checker.refuse(place)
  else if (sighting.record !== undefined) checker.takeVersion(sighting.lock, sighting.version, sighting.record, place)
}

/** A line of a recording of `tenure watch`. */
interface Recorded {
  readonly lock: string
  readonly version: Version
  /** Undefined if the lease did not exist. */
  readonly record: TraceRecord | undefined
}

function sightingOf(value: unknown): Recorded | undefined {
  if (!isJsonObject(value)) return undefined
  const { at, lease, object } = value
  if (typeof at !== 'string' || typeof lease !== 'string') return undefined
  const stored = isJsonObject(object) ? parseLease(object) : undefined
  if (stored === undefined) return { lock: lease, version: 0, record: undefined }
  const { version, record } = stored
  return {
    lock: `lease ${lease}`,
    version: version <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(version) : version,
    record: traceRecordOf(record),
  }
}
