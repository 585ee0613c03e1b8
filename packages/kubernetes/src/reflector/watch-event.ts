import type { ApiTarget } from '../client/api-request.ts'
import { integerAt, isJsonObject } from '../json-object.ts'
import { nameOf, parseVersion } from '../client/object-metadata.ts'
import { statusError } from '../client/status-error.ts'
import type { ObservedObject } from './observed-object.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** What one line of a watch says. */
export type WatchEvent =
  | { readonly kind: 'object'; readonly name: string; readonly seen: ObservedObject }
  | { readonly kind: 'progress'; readonly version: bigint }

/** Reads one line of a watch. @throws ApiRequestError for an ERROR event; WatchInterruptedError for anything that is not an event */
export function parseWatchEvent(line: string, target: ApiTarget): WatchEvent {
  const { type, object } = parseLine(line)
  if (type === 'ERROR') throw errorEvent(object, target)
  const version = parseVersion(object)
  if (version === undefined || !isJsonObject(object))
    throw new WatchInterruptedError(`The watch sent an event without a version: ${excerpt(line)}`)
  const name = nameOf(object)
  if (type === 'BOOKMARK' || name === undefined) return { kind: 'progress', version }
  if (type === 'DELETED') return { kind: 'object', name, seen: { kind: 'absent', version } }
  if (type === 'ADDED' || type === 'MODIFIED')
    return { kind: 'object', name, seen: { kind: 'present', version, object } }
  throw new WatchInterruptedError(`The watch sent an unknown event: ${excerpt(line)}`)
}

function parseLine(line: string): { readonly type: unknown; readonly object: unknown } {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch (cause) {
    throw new WatchInterruptedError(`The watch sent something that is not JSON: ${excerpt(line)}`, { cause })
  }
  if (!isJsonObject(event))
    throw new WatchInterruptedError(`The watch sent something that is not an event: ${excerpt(line)}`)
  return { type: event['type'], object: event['object'] }
}

function errorEvent(object: unknown, target: ApiTarget): Error {
  const statusCode = (isJsonObject(object) ? integerAt(object, 'code') : undefined) ?? 500
  return statusError(target, { statusCode, headers: {}, body: object })
}

function excerpt(line: string): string {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}
