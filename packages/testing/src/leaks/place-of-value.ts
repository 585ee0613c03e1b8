import { Session } from 'node:inspector'
import type { Trace } from './trace.ts'
import { unobserved } from './unobserved.ts'

interface Location {
  readonly scriptId: string
  readonly lineNumber: number
  readonly columnNumber: number
}

interface InternalProperty {
  readonly name: string
  readonly value?: { readonly value?: unknown }
}

/** The temporary global name by which the inspector finds a value. */
const SHOWN = '__tenureLeakShown'

/**
 * The place where a function, the class of an object, or its first method is defined. Used when the assignment of the value was not
 * recorded. Empty for plain data, or if V8 does not know the place.
 */
export function placeOfValue(value: unknown): Trace {
  const code = codeOf(value)
  if (code === undefined) return []
  try {
    return unobserved(() => locate(code))
  } catch {
    return [] // No inspector in this Node.
  }
}

function codeOf(value: unknown): object | undefined {
  if (typeof value === 'function') return value
  if (typeof value !== 'object' || value === null) return undefined
  const { constructor } = value
  if (typeof constructor === 'function' && !isNative(constructor)) return constructor
  return Object.values(Object.getOwnPropertyDescriptors(value))
    .map(({ value }) => value as unknown)
    .find((method): method is () => void => typeof method === 'function' && !isNative(method))
}

function isNative(code: object): boolean {
  return Function.prototype.toString.call(code).includes('[native code]')
}

/** A session of this thread answers before `post()` returns. */
function locate(code: object): Trace {
  const session = new Session()
  const urls = new Map<string, string>()
  session.connect()
  try {
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    session.post('Debugger.enable')
    const location = locationOf(session, code)
    const url = location === undefined ? undefined : urls.get(location.scriptId)
    if (location === undefined || url === undefined || url === '') return []
    const { lineNumber, columnNumber } = location
    return [{ functionName: '', scriptName: url, lineNumber: lineNumber + 1, columnNumber: columnNumber + 1 }]
  } finally {
    session.disconnect()
  }
}

function locationOf(session: Session, code: object): Location | undefined {
  Object.defineProperty(globalThis, SHOWN, { value: code, configurable: true })
  let location: Location | undefined
  try {
    session.post('Runtime.evaluate', { expression: SHOWN }, (_error, { result }) => {
      session.post('Runtime.getProperties', { objectId: result.objectId ?? '' }, (_failure, { internalProperties }) => {
        const found = (internalProperties as InternalProperty[] | undefined)?.find(
          ({ name }) => name === '[[FunctionLocation]]',
        )
        location = found?.value?.value as Location | undefined
      })
    })
  } finally {
    Reflect.deleteProperty(globalThis, SHOWN)
  }
  return location
}
