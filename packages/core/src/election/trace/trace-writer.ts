import { actsText, lineText } from './line-text.ts'
import type { TracedElector, TraceStep } from './trace-channel.ts'
import { TRACE_FORMAT, type TraceHeader } from './trace-line.ts'

/** Options of a {@link TraceWriter}. */
export interface TraceWriterOptions {
  /** Names the machine. Times of traces with the same name are compared. */
  readonly machine: string
  /** Reads the monotonic clock of the machine in milliseconds. The elector is of the step that is written. */
  readonly machineTime: (elector: TracedElector) => number
  /** Receives one or more lines, each with a newline, and whether they say that the elector acts. */
  readonly write: (lines: string, isActing: boolean) => void
}

/** What was written of an elector. */
interface Written {
  readonly number: number
  steps: number
  /** By how much its wall clock is ahead of its clock, as last written. */
  wallAheadMs: number
}

/** Writes the steps of the electors of one process as lines of a trace. */
export class TraceWriter {
  readonly #options: TraceWriterOptions
  readonly #electors = new WeakMap<TracedElector, Written>()
  #count = 0

  constructor(options: TraceWriterOptions) {
    this.#options = options
  }

  /** Writes a step; before the first one of an elector, its header. */
  take(step: TraceStep): void {
    const { machine, machineTime, write } = this.#options
    const { elector } = step
    const known = this.#electors.get(elector)
    const written = known ?? { number: (this.#count += 1), steps: 0, wallAheadMs: Infinity }
    written.steps += 1
    const acts = actsText(step.effects)
    // The elector decided, and this reads the clock of the machine, between two readings of the clock of the elector. The process may have been
    // interrupted or paused there.
    const machineMs = machineTime(elector)
    const apartMs = elector.clock.now() - step.at.now
    const line = `${lineText(step, { p: written.number, n: written.steps, machineMs, apartMs, hasWall: hasStepped(written, step) }, acts)}\n`
    if (known !== undefined) return write(line, acts !== '')
    this.#electors.set(elector, written)
    write(`${JSON.stringify(headerOf(step, written.number, machine))}\n${line}`, acts !== '')
  }
}

/** By how much a wall clock may leave the other one unnoticed. */
const WALL_SLACK_MS = 2

/** Whether the wall clock has not gone on with the clock of the elector since it was last written. It is not written in every line, which takes long. */
function hasStepped(written: Written, { at }: TraceStep): boolean {
  const wallAheadMs = at.wallTime - at.now
  if (Math.abs(wallAheadMs - written.wallAheadMs) <= WALL_SLACK_MS) return false
  written.wallAheadMs = wallAheadMs
  return true
}

function headerOf({ elector, config }: TraceStep, number: number, machine: string): TraceHeader {
  const { identity, timing, heldForLife = false, onWedged = 'exit' } = config
  return {
    elector: number,
    format: TRACE_FORMAT,
    machine,
    lock: elector.lock,
    identity,
    leaseMs: timing.leaseDurationMs,
    tolerance: timing.clockRateTolerance,
    requestMs: timing.requestTimeoutMs,
    acquireDelayMs: timing.acquireDelayMs,
    wholeSeconds: timing.wholeSecondPeers,
    missingLease: config.missingLease ?? (heldForLife ? 'wait' : 'create'),
    heldForLife,
    onWedged,
  }
}
