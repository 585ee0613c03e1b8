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

/** Writes the steps of the electors of one process as lines of a trace. */
export class TraceWriter {
  readonly #options: TraceWriterOptions
  readonly #electors = new WeakMap<TracedElector, { readonly number: number; steps: number }>()
  #count = 0

  constructor(options: TraceWriterOptions) {
    this.#options = options
  }

  /** Writes a step; before the first one of an elector, its header. */
  take(step: TraceStep): void {
    const { machine, machineTime, write } = this.#options
    const { elector } = step
    const known = this.#electors.get(elector)
    const place = known ?? { number: (this.#count += 1), steps: 0 }
    place.steps += 1
    const acts = actsText(step.effects)
    // The elector decided, and this reads the clock of the machine, between two readings of the clock of the elector. The process may have been
    // interrupted or paused there.
    const machineMs = machineTime(elector)
    const apartMs = elector.clock.now() - step.at.now
    const line = `${lineText(step, { p: place.number, n: place.steps, machineMs, apartMs }, acts)}\n`
    if (known !== undefined) return write(line, acts !== '')
    this.#electors.set(elector, place)
    write(`${JSON.stringify(headerOf(step, place.number, machine))}\n${line}`, acts !== '')
  }
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
