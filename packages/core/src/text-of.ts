import type { InspectOptions } from 'node:util'
import { inspect } from './ports/node-modules.ts'

/** How to show a value in a message. Runs no code of the value: no getters, no `[inspect.custom]`, no traps of a Proxy. */
const SHOWN: InspectOptions = {
  depth: 1,
  customInspect: false,
  getters: false,
  showProxy: false,
  maxArrayLength: 5,
  maxStringLength: 200,
  breakLength: Infinity,
}
const MAX_LENGTH = 1000

/**
 * Describes any value for a message, such as a caught error: the message of an error, a primitive as it is, and the `toString()` or the
 * content of anything else. Never throws, whatever the value is: an object without a prototype, a Proxy, a getter or `toString()` that
 * throws.
 */
export function textOf(value: unknown): string {
  try {
    if (value instanceof Error) return errorText(value)
    const text = plainTextOf(value)
    return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  } catch {
    return shownAs(value)
  }
}

function plainTextOf(value: unknown): string {
  if (typeof value === 'function') return shownAs(value)
  // oxlint-disable-next-line typescript/no-base-to-string -- only primitives come here
  if (typeof value !== 'object') return String(value)
  // oxlint-disable-next-line typescript/no-base-to-string -- if it throws or says nothing, the content is shown instead
  const text = Array.isArray(value) ? '' : String(value)
  return text === '' || text.startsWith('[object ') ? shownAs(value) : text
}

/** An `AggregateError` may have no message of its own. */
function errorText(error: Error, isPart = false): string {
  const message: unknown = error.message
  if (typeof message === 'string' && message !== '') return message
  if (error instanceof AggregateError && !isPart && error.errors.length > 0) {
    return error.errors
      .map((part: unknown) => (part instanceof Error ? errorText(part, true) : textOf(part)))
      .join('; ')
  }
  const name: unknown = error.name
  return typeof name === 'string' && name !== '' ? name : shownAs(error)
}

function shownAs(value: unknown): string {
  try {
    // An error is shown with its stack.
    return inspect(value, SHOWN).replace(/\n.*/s, '').slice(0, MAX_LENGTH)
  } catch {
    return `a value of type ${typeof value} that has no text`
  }
}
