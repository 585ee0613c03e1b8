import { textOf } from '@tenure/core/internal'
import type { ApiTarget } from '../client/api-request.ts'
import { integerAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import { statusError } from '../client/status-error.ts'
import { WatchInterruptedError } from '../reflector/watch-interrupted-error.ts'

/** What one line of a watch says of a collection. */
export type InformerEvent =
  | { readonly kind: 'present' | 'gone'; readonly object: JsonObject; readonly version: string }
  | { readonly kind: 'progress'; readonly version: string }

/** Reads one line of a watch. @throws ApiRequestError for an ERROR event; WatchInterruptedError for anything that is not an event */
export function parseInformerEvent(line: string, target: ApiTarget): InformerEvent {
  const { type, object } = parse(line)
  if (type === 'ERROR')
    throw statusError(target, { statusCode: integerAt(object, 'code') ?? 500, headers: {}, body: object })
  const version = versionOf(object)
  if (type === 'BOOKMARK') return { kind: 'progress', version }
  if (type === 'DELETED') return { kind: 'gone', object, version }
  if (type === 'ADDED' || type === 'MODIFIED') return { kind: 'present', object, version }
  throw new WatchInterruptedError(`The watch sent an event of the unknown type ${textOf(type)}`)
}

/** The version of an object or a list, which is opaque here. @throws WatchInterruptedError when it has none */
export function versionOf(object: JsonObject): string {
  const version = stringAt(objectAt(object, 'metadata'), 'resourceVersion')
  if (version === undefined || version === '') throw new WatchInterruptedError('The server sent no resource version')
  return version
}

function parse(line: string): { readonly type: unknown; readonly object: JsonObject } {
  try {
    const event: unknown = JSON.parse(line)
    const object = isJsonObject(event) ? event['object'] : undefined
    if (isJsonObject(event) && isJsonObject(object)) return { type: event['type'], object }
  } catch (cause) {
    throw new WatchInterruptedError('The watch sent something that is not JSON', { cause })
  }
  throw new WatchInterruptedError('The watch sent something that is not an event')
}
