import type { TraceHeader, TraceLine } from '@tenure/core/internal'

/*
 * Whether a parsed value is a line of a trace. Only what the checker relies on is tested, because it tests every line.
 */

/** Whether a value is a step of an elector. */
export function isLine(value: unknown): value is TraceLine {
  if (typeof value !== 'object' || value === null) return false
  const { p, n, m, t, e, s, v, k, r, d } = value as Readonly<Record<string, unknown>>
  return (
    typeof p === 'number' &&
    typeof n === 'number' &&
    typeof m === 'number' &&
    typeof t === 'number' &&
    typeof e === 'string' &&
    typeof s === 'string' &&
    (v === undefined || isVersion(v)) &&
    (k === undefined || isVersion(k)) &&
    (r === undefined || isRecord(r)) &&
    (d === undefined || (Array.isArray(d) && d.every(isAct)))
  )
}

/** Whether a value is the header of an elector. */
export function isHeader(value: unknown): value is TraceHeader {
  if (typeof value !== 'object' || value === null) return false
  const header = value as Readonly<Record<string, unknown>>
  return (
    NUMBERS.every((key) => typeof header[key] === 'number') &&
    TEXTS.every((key) => typeof header[key] === 'string') &&
    typeof header['wholeSeconds'] === 'boolean' &&
    typeof header['heldForLife'] === 'boolean'
  )
}

const NUMBERS: readonly (keyof TraceHeader)[] = [
  'elector',
  'format',
  'leaseMs',
  'tolerance',
  'requestMs',
  'acquireDelayMs',
]

const TEXTS: readonly (keyof TraceHeader)[] = ['machine', 'lock', 'identity', 'missingLease', 'onWedged']

const PURPOSES: ReadonlySet<unknown> = new Set(['acquire', 'renew', 'release', 'transfer', 'answer', 'announce'])

const SIMPLE: ReadonlySet<unknown> = new Set([
  'close-gate',
  'hard-abort',
  'wedged',
  'exit',
  'stopped',
  'identity-taken',
])

function isAct(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { u, q, b, r, k, until, why, voluntary, outcome } = value as Readonly<Record<string, unknown>>
  if (PURPOSES.has(u)) return typeof q === 'number' && (b === undefined || isVersion(b)) && isRecord(r)
  if (u === 'read') return typeof q === 'number'
  if (u === 'begin') return isVersion(k) && typeof until === 'number'
  if (u === 'until') return typeof until === 'number'
  if (u === 'end') return typeof why === 'string' && typeof voluntary === 'boolean'
  return u === 'over' ? typeof outcome === 'string' : SIMPLE.has(u)
}

function isVersion(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^\d{1,20}$/.test(value))
}

function isRecord(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { h, d, a, r, n, e, x, y } = value as Readonly<Record<string, unknown>>
  return (
    typeof h === 'string' &&
    (d === undefined || typeof d === 'number') &&
    (a === undefined || typeof a === 'string') &&
    (r === undefined || typeof r === 'string') &&
    (n === undefined || typeof n === 'number') &&
    (e === undefined || isVersion(e)) &&
    (x === undefined || typeof x === 'string') &&
    (y === undefined || (Array.isArray(y) && y.length === 2))
  )
}
