import type { TraceHeader, TraceLine } from '@tenure/core/internal'
import { areSettings, isKnownStep, isOutcome, isReason } from './vocabulary.ts'

/*
 * Whether a parsed value is a line of a trace. Only what the checker relies on is tested, and without tables of tests for single fields, because it
 * tests every line.
 */

/** An object of which nothing is known but the names of its fields. */
type Unknown<K extends string> = { readonly [Key in K]?: unknown }

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isOptionalNumber(value: unknown): boolean {
  return value === undefined || typeof value === 'number'
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isVersion(value: unknown): boolean {
  return (Number.isSafeInteger(value) && Number(value) >= 0) || (typeof value === 'string' && /^\d{1,20}$/.test(value))
}

function isOptionalVersion(value: unknown): boolean {
  return value === undefined || isVersion(value)
}

function isRecord(value: unknown): boolean {
  if (!isObject(value)) return false
  const { h, d, a, r, n, e, x, y, o, p }: Unknown<'h' | 'd' | 'a' | 'r' | 'n' | 'e' | 'x' | 'y' | 'o' | 'p'> = value
  const hasTexts = typeof h === 'string' && isOptionalText(a) && isOptionalText(r) && isOptionalText(p)
  const hasNumbers = isOptionalNumber(d) && isOptionalNumber(n) && isOptionalVersion(e)
  return hasTexts && hasNumbers && hasNotes({ x, y, o })
}

function hasNotes({ x, y, o }: Unknown<'x' | 'y' | 'o'>): boolean {
  return isOptionalText(x) && isOptionalPair(y) && isOptionalTrue(o)
}

function isOptionalRecord(value: unknown): boolean {
  return value === undefined || isRecord(value)
}

function isOptionalPair(value: unknown): boolean {
  return (
    value === undefined ||
    (Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && typeof value[1] === 'string')
  )
}

function isOptionalTrue(value: unknown): boolean {
  return value === undefined || value === true
}

/** What an act says beside its kind. */
type Act = Unknown<'u' | 'q' | 'b' | 'r' | 'i' | 'k' | 'until' | 'why' | 'voluntary' | 'outcome'>

function isWrite({ q, b, r, i }: Act): boolean {
  return typeof q === 'number' && isOptionalVersion(b) && isRecord(r) && isOptionalTrue(i)
}

function saysNothing(): boolean {
  return true
}

/** What every kind of act must say. */
const ACTS: ReadonlyMap<unknown, (act: Act) => boolean> = new Map([
  ...['acquire', 'renew', 'release', 'transfer', 'answer', 'announce'].map((purpose) => [purpose, isWrite] as const),
  ...['close-gate', 'hard-abort', 'wedged', 'exit', 'stopped', 'identity-taken'].map(
    (kind) => [kind, saysNothing] as const,
  ),
  ['read', ({ q }) => typeof q === 'number'],
  ['begin', ({ k, until }) => isVersion(k) && typeof until === 'number'],
  ['until', ({ until }) => typeof until === 'number'],
  ['end', ({ why, voluntary }) => isReason(why) && typeof voluntary === 'boolean'],
  ['over', ({ outcome }) => isOutcome(outcome)],
])

function isAct(value: unknown): boolean {
  if (!isObject(value)) return false
  const act: Act = value
  return ACTS.get(act.u)?.(act) ?? false
}

function areActs(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isAct))
}

function isLine(value: Unknown<keyof TraceLine>): value is Line {
  return hasPlace(value) && isKnownStep(value) && hasSighting(value)
}

function hasPlace({ p, n, m, j, t }: Unknown<'p' | 'n' | 'm' | 'j' | 't'>): boolean {
  const isCounted = typeof p === 'number' && typeof n === 'number'
  const isTimed = Number.isFinite(m) && Number.isFinite(t) && (j === undefined || (typeof j === 'number' && j >= 0))
  return isCounted && isTimed
}

function hasSighting({ v, k, r, x, g, d }: Unknown<'v' | 'k' | 'r' | 'x' | 'g' | 'd'>): boolean {
  return (
    isOptionalTrue(x) &&
    isOptionalVersion(v) &&
    isOptionalVersion(k) &&
    isOptionalRecord(r) &&
    isOptionalRecord(g) &&
    areActs(d)
  )
}

/** What every line of an elector says. */
type Said = 'p' | 'n' | 'm' | 't' | 'e' | 's'

/** A step of an elector. Fields that the line does not have are undefined. */
export type Line = Pick<TraceLine, Said> & {
  readonly [Key in Exclude<keyof TraceLine, Said | 'w'>]: TraceLine[Key] | undefined
}

/**
 * Reads one line after the other into the same object. The objects that JSON makes have many shapes, one for each set of fields, and a field of an
 * object that may have many shapes is slow to read.
 */
export class LineReader {
  readonly #line: { -readonly [Key in keyof Line]: unknown } = {
    p: 0,
    n: 0,
    m: 0,
    j: undefined,
    t: 0,
    e: '',
    s: '',
    q: undefined,
    f: undefined,
    v: undefined,
    k: undefined,
    r: undefined,
    x: undefined,
    g: undefined,
    h: undefined,
    a: undefined,
    c: undefined,
    d: undefined,
  }

  /** The step of an elector that a parsed value is, until the next one is read. Undefined if it is none. */
  read(value: unknown): Line | undefined {
    if (!isObject(value)) return undefined
    const { p, n, m, j, t, e, s, q, f, v, k, r, x, g, h, a, c, d }: Unknown<keyof Line> = value
    const line = this.#line
    line.p = p
    line.n = n
    line.m = m
    line.j = j
    line.t = t
    line.e = e
    line.s = s
    line.q = q
    line.f = f
    line.v = v
    line.k = k
    line.r = r
    line.x = x
    line.g = g
    line.h = h
    line.a = a
    line.c = c
    line.d = d
    return isLine(line) ? line : undefined
  }
}

/** What the simulator says about a moment of a run, beside the lines of the electors. */
export interface Note {
  readonly m: number
  readonly by: string
  readonly note: string
}

/** Whether a value is a note, which the checker passes over. */
export function isNote(value: unknown): value is Note {
  if (!isObject(value)) return false
  const { m, by, note }: Unknown<keyof Note> = value
  return typeof m === 'number' && typeof by === 'string' && typeof note === 'string'
}

/** What every header says. */
const HEADER: Readonly<Partial<Record<keyof TraceHeader, string>>> = {
  elector: 'number',
  format: 'number',
  leaseMs: 'number',
  tolerance: 'number',
  requestMs: 'number',
  acquireDelayMs: 'number',
  machine: 'string',
  lock: 'string',
  identity: 'string',
  missingLease: 'string',
  onWedged: 'string',
  wholeSeconds: 'boolean',
  heldForLife: 'boolean',
}

/** Whether a value is the header of an elector. */
export function isHeader(value: unknown): value is TraceHeader {
  if (!isObject(value)) return false
  const header: Unknown<keyof TraceHeader> = value
  return (
    Object.entries(HEADER).every(([key, type]) => typeof header[key as keyof TraceHeader] === type) &&
    areSettings(header)
  )
}
