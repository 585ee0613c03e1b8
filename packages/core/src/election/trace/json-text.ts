/*
 * JSON, written by hand. A line of a trace is made while an elector decides, and `JSON.stringify` of its objects takes most of the time.
 */

/** What JSON escapes: anything but these. Of surrogates it escapes only those without the other half. */
const ESCAPED = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** A string as JSON. */
export function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** A field with a string, after another field; nothing if there is none. */
export function textField(key: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${key}":${quoted(text)}`
}

/** A field with a number, after another field; nothing if there is none. */
export function numberField(key: string, value: number | undefined): string {
  return value === undefined ? '' : `,"${key}":${Number.isFinite(value) ? value : 'null'}`
}

/** The digits of the microseconds within a millisecond. */
const MICROSECONDS: readonly string[] = Array.from({ length: 1000 }, (_, us) => String(us).padStart(3, '0'))

/** A time in milliseconds, to the microsecond. */
export function timeText(ms: number): string {
  const us = Math.round(ms * 1000)
  if (!Number.isSafeInteger(us) || us < 0) return Number.isFinite(ms) ? String(us / 1000) : 'null'
  const whole = Math.floor(us / 1000)
  const rest = us - whole * 1000
  return rest === 0 ? String(whole) : `${whole}.${MICROSECONDS[rest]}`
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** A version or an epoch: a number, or a string of digits beyond 2^53. */
export function versionText(version: bigint): string {
  return version <= MAX_SAFE ? String(version) : `"${version}"`
}
