import type { ApiTarget } from '../client/api-request.ts'
import { parseDecimal } from '../client/object-metadata.ts'
import { statusError } from '../client/status-error.ts'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** One event of a watch. Versions are opaque here. */
export type WatchEvent = ObjectEvent | { readonly kind: 'progress'; readonly version: string }

/** A change of one object. */
export interface ObjectEvent {
  readonly kind: 'present' | 'gone'
  /** A deleted object as it was last. */
  readonly object: JsonObject
  readonly version: string
}

const KINDS: Readonly<Record<string, WatchEvent['kind'] | undefined>> = {
  ADDED: 'present',
  MODIFIED: 'present',
  DELETED: 'gone',
  BOOKMARK: 'progress',
}

/** Parses one line of a watch. @throws ApiRequestError for an ERROR event; WatchInterruptedError for anything that is not an event */
export function parseWatchEvent(line: string, target: ApiTarget): WatchEvent {
  const { type, object } = parseLine(line)
  if (type === 'ERROR')
    throw statusError(target, { statusCode: integerAt(object, 'code') ?? 500, headers: {}, body: object })
  const kind = KINDS[type]
  if (kind === undefined) throw unusable('an event of an unknown type', line)
  const version = versionOf(object)
  if (version === undefined) throw unusable('an event without a resource version', line)
  return kind === 'progress' ? { kind, version } : { kind, object, version }
}

/** The resource version of an object or a list. */
export function versionOf(object: JsonObject): string | undefined {
  return stringAt(objectAt(object, 'metadata'), 'resourceVersion') || undefined
}

/** The version of an event as a number. @throws WatchInterruptedError if it is not a decimal number */
export function decimalVersionOf({ version }: WatchEvent): bigint {
  const decimal = parseDecimal(version)
  if (decimal === undefined)
    throw new WatchInterruptedError(
      `The watch sent an event whose resource version is not a decimal number: ${version}`,
    )
  return decimal
}

function parseLine(line: string): { readonly type: string; readonly object: JsonObject } {
  const event = tryParse(line)
  if (event === undefined) throw unusable('a line that is not JSON', line)
  const { type, object } = isJsonObject(event) ? event : {}
  if (typeof type !== 'string' || !isJsonObject(object)) throw unusable('a line that is not an event', line)
  return { type, object }
}

/** The error of the parser is dropped: it quotes the text around the fault, which may be a secret. */
function tryParse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function unusable(what: string, line: string): WatchInterruptedError {
  return new WatchInterruptedError(`The watch sent ${what}: ${excerpt(line)}`)
}

/** The beginning of a line. An object may hold secrets, so an event is quoted up to its type and kind only. */
function excerpt(line: string): string {
  const length = line.startsWith('{') ? 60 : 200
  return line.length > length ? `${line.slice(0, length)}…` : line
}
