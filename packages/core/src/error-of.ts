import { textOf } from './text-of.ts'

/**
 * Returns an error for any value: the value itself if it is an error whose fields can be read, otherwise a new error that describes the
 * value and has it as its cause. Never throws.
 */
export function errorOf(value: unknown): Error {
  return isReadable(value) ? value : new Error(textOf(value), { cause: value })
}

/** `value instanceof type`; false for a Proxy whose trap throws. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

function isReadable(value: unknown): value is Error {
  try {
    if (!(value instanceof Error)) return false
    const { name, message, stack }: { name: unknown; message: unknown; stack?: unknown } = value
    return typeof name === 'string' && typeof message === 'string' && (stack === undefined || typeof stack === 'string')
  } catch {
    return false
  }
}
