import { textOf } from './text-of.ts'

/**
 * The value itself where it is an error whose fields can be read, otherwise an error that says what the value is and has it as its
 * cause. Never throws.
 */
export function errorOf(value: unknown): Error {
  return isReadable(value) ? value : new Error(textOf(value), { cause: value })
}

/** `value instanceof type`, and false for a Proxy that throws when it is asked. */
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
