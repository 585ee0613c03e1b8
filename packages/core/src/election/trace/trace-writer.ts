import type { ElectorEffect } from '../machine/effect.ts'
import type { ElectorEvent } from '../machine/event.ts'
import { readAnswer, readOffer, readTransferNonce } from '../rules/transfer-notes.ts'
import { type LeaseRecord, leastEpochOf } from '../../lock/lease-record.ts'
import type { LockSnapshot } from '../../lock/lock.ts'
import type { TracedElector, TraceStep } from './trace-channel.ts'
import {
  TRACE_FORMAT,
  type TraceAct,
  type TraceHeader,
  type TraceLine,
  type TraceOther,
  type TraceRecord,
  type TraceVersion,
} from './trace-line.ts'

/** Options of a {@link TraceWriter}. */
export interface TraceWriterOptions {
  /** Names the machine. Times of traces with the same name are compared. */
  readonly machine: string
  /** Reads the monotonic clock of the machine in milliseconds. The elector is of the step that is written. */
  readonly machineTime: (elector: TracedElector) => number
  /** Receives one or more lines, each with a newline. */
  readonly write: (lines: string) => void
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
    const { elector } = step
    const known = this.#electors.get(elector)
    const place = known ?? { number: (this.#count += 1), steps: 0 }
    place.steps += 1
    const line = JSON.stringify(lineOf(step, place.number, place.steps, this.#decidedAt(step)))
    if (known !== undefined) return this.#options.write(`${line}\n`)
    this.#electors.set(elector, place)
    const header = JSON.stringify(headerOf(step, place.number, this.#options.machine))
    this.#options.write(`${header}\n${line}\n`)
  }

  /**
   * The time of the decision on the clock of the machine. The process may have been suspended since. The two clocks are not read at once: if
   * something came between, they are read again.
   */
  #decidedAt({ elector, at }: TraceStep): number {
    const { clock } = elector
    let machineMs = 0
    let before = clock.now()
    for (let left = MOST_READS; left > 0; left -= 1) {
      const machineNow = this.#options.machineTime(elector)
      const now = clock.now()
      machineMs = machineNow - (now - at.now)
      if (now - before < AT_ONCE_MS) break
      before = now
    }
    return machineMs
  }
}

/** How often the two clocks are read at most for one step. */
const MOST_READS = 4

/** Two clocks that are read within this time show the same moment. */
const AT_ONCE_MS = 0.2

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

function lineOf({ at, event, effects, state, config }: TraceStep, p: number, n: number, machineMs: number): TraceLine {
  const { coordination } = config
  const acts = effects.flatMap((effect) => actOf(effect) ?? [])
  return {
    p,
    n,
    m: rounded(machineMs),
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
  if (snapshot.kind === 'absent') return snapshot.version === undefined ? {} : { v: versionOf(snapshot.version) }
  const { version, epoch, record, deleting } = snapshot
  return {
    v: versionOf(version),
    ...(epoch !== undefined && epoch !== version && { k: versionOf(epoch) }),
    r: recordOf(record),
    ...(deleting && { x: true }),
  }
}

function actOf(effect: ElectorEffect): TraceAct | undefined {
  switch (effect.kind) {
    case 'write':
      return writeOf(effect)
    case 'read':
      return { u: 'read', q: effect.request }
    case 'begin-term':
      return { u: 'begin', k: versionOf(effect.epoch), until: rounded(effect.validUntil) }
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
  const replaced = base && { b: versionOf(base.version) }
  const isCheck = base?.record === record
  return { u: purpose, q: request, ...replaced, r: recordOf(record), ...(isCheck && { i: true }) }
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

function recordOf(record: LeaseRecord): TraceRecord {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions, preferredHolder } = record
  return {
    h: holderIdentity,
    ...(leaseDurationSeconds !== undefined && { d: leaseDurationSeconds }),
    ...(acquireTime !== undefined && { a: acquireTime }),
    ...(renewTime !== undefined && { r: renewTime }),
    ...(leaseTransitions !== undefined && { n: leaseTransitions }),
    ...(preferredHolder !== undefined && { p: preferredHolder }),
    ...notesOf(record),
  }
}

function notesOf(record: LeaseRecord): Partial<TraceRecord> {
  const least = leastEpochOf(record)
  const nonce = readTransferNonce(record)
  const answer = readAnswer(record)
  return {
    ...(least !== 0n && { e: versionOf(least) }),
    ...(nonce !== undefined && { x: nonce }),
    ...(answer !== undefined && { y: [answer.identity, answer.nonce] as const }),
    ...(readOffer(record) !== undefined && { o: true as const }),
  }
}

function versionOf(version: bigint): TraceVersion {
  return version <= MAX_SAFE ? Number(version) : String(version)
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
