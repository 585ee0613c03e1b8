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
  for (const file of files) file.advance()
  for (let running = files.filter(({ isOver }) => !isOver); running.length > 0;) {
    const [file, until] = earliest(running)
    do {
      take(checker, file)
      file.advance()
    } while (!file.isOver && file.machineAt <= until)
    if (file.isOver) running = running.filter(({ isOver }) => !isOver)
  }
  return { findings: checker.end(), events: checker.events }
}

/** The file with the earliest line, and the time of the earliest line of the others. */
function earliest(files: readonly TraceFile[]): readonly [TraceFile, number] {
  let first: TraceFile | undefined
  let until = Infinity
  for (const file of files) {
    if (first === undefined) first = file
    else if (file.machineAt >= first.machineAt) until = Math.min(until, file.machineAt)
    else {
      until = Math.min(until, first.machineAt)
      first = file
    }
  }
  if (first === undefined) throw new Error('There is no file')
  return [first, until]
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
