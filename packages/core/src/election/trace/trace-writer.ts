import type { ElectorEffect } from '../machine/effect.ts'
import type { ElectorEvent } from '../machine/event.ts'
import type { LockSnapshot } from '../../lock/lock.ts'
import type { TracedElector, TraceStep } from './trace-channel.ts'
import { TRACE_FORMAT, type TraceAct, type TraceHeader, type TraceLine, type TraceOther } from './trace-line.ts'
import { traceRecordOf, traceVersionOf } from './trace-record.ts'

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
    const { machine, write } = this.#options
    const { elector } = step
    const known = this.#electors.get(elector)
    const place = known ?? { number: (this.#count += 1), steps: 0 }
    place.steps += 1
    const line = lineOf(step, place.number, place.steps, this.#readClocks(step))
    const text = `${JSON.stringify(line)}\n`
    const isActing = line.d !== undefined
    if (known !== undefined) return write(text, isActing)
    this.#electors.set(elector, place)
    write(`${JSON.stringify(headerOf(step, place.number, machine))}\n${text}`, isActing)
  }

  /**
   * Reads the clock of the machine, then that of the elector again. The decision and the reading both lie between its two readings: the
   * process may have been interrupted or paused there.
   */
  #readClocks({ elector, at }: TraceStep): Pick<TraceLine, 'm' | 'j'> {
    const machineMs = this.#options.machineTime(elector)
    const apartMs = elector.clock.now() - at.now
    return { m: rounded(machineMs), ...(apartMs > 0 && { j: Math.ceil(apartMs * 1000 + ROUNDING) / 1000 }) }
  }
}

/** Two rounded times are nearer to each other than the times by at most this, in microseconds. */
const ROUNDING = 1

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

function lineOf(
  { at, event, effects, state, config }: TraceStep,
  p: number,
  n: number,
  clocks: Pick<TraceLine, 'm' | 'j'>,
): TraceLine {
  const { coordination } = config
  const acts = effects.flatMap((effect) => actOf(effect) ?? [])
  return {
    p,
    n,
    ...clocks,
    t: rounded(at.now),
    w: Math.round(at.wallTime),
    e: event.kind,
    s: state.kind,
    ...detailsOf(event),
    ...(coordination !== undefined && { c: coordination }),
    ...(acts.length > 0 && { d: acts }),
  }
}

function detailsOf(event: ElectorEvent): Partial<TraceLine> {
  switch (event.kind) {
    case 'observed':
      return seen(event.snapshot)
    case 'write-answer':
      if (event.result.kind === 'failed') return { q: event.request, f: event.result.failure }
      return { q: event.request, ...seen(event.result.lease) }
    case 'read-answer':
      if (event.result.kind === 'failed') return { q: event.request, f: event.result.failure }
      return { q: event.request, ...seen(event.result.snapshot) }
    case 'holder-dead': {
      const { identity, acquireTime } = event.holder
      return { h: identity, ...(acquireTime !== undefined && { a: acquireTime }) }
    }
    default:
      return {}
  }
}

function seen(snapshot: LockSnapshot): Partial<TraceLine> {
  if (snapshot.kind === 'absent') return snapshot.version === undefined ? {} : { v: traceVersionOf(snapshot.version) }
  const { version, epoch, record, deleting, replaced } = snapshot
  return {
    v: traceVersionOf(version),
    ...(epoch !== undefined && epoch !== version && { k: traceVersionOf(epoch) }),
    r: traceRecordOf(record),
    ...(deleting && { x: true }),
    ...(replaced && { g: traceRecordOf(replaced) }),
  }
}

function actOf(effect: ElectorEffect): TraceAct | undefined {
  switch (effect.kind) {
    case 'write':
      return writeOf(effect)
    case 'read':
      return { u: 'read', q: effect.request }
    case 'begin-term':
      return { u: 'begin', k: traceVersionOf(effect.epoch), until: rounded(effect.validUntil) }
    case 'extend-validity':
    case 'shorten-validity':
      return { u: 'until', until: rounded(effect.validUntil) }
    case 'end-term':
      return { u: 'end', why: effect.reason, voluntary: effect.voluntary }
    case 'term-over':
      return { u: 'over', outcome: effect.outcome }
    default:
      return isOther(effect.kind) ? { u: effect.kind } : undefined
  }
}

function writeOf({ request, write }: Extract<ElectorEffect, { kind: 'write' }>): TraceAct {
  const { purpose, base, record } = write
  const replaced = base && { b: traceVersionOf(base.version) }
  const isCheck = base?.record === record
  return { u: purpose, q: request, ...replaced, r: traceRecordOf(record), ...(isCheck && { i: true }) }
}

/** The effects of which only the kind is written. */
const OTHERS: ReadonlySet<string> = new Set<TraceOther['u']>([
  'close-gate',
  'hard-abort',
  'wedged',
  'exit',
  'stopped',
  'identity-taken',
])

function isOther(kind: string): kind is TraceOther['u'] {
  return OTHERS.has(kind)
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
