import { ApiStatusError, badRequest } from '../objects/api-status.ts'
import type { IncludeObject } from '../tables/object-table.ts'

/** The form of an answer, always in JSON. */
export type Representation =
  | { readonly kind: 'object' }
  | { readonly kind: 'metadata' }
  | { readonly kind: 'table'; readonly includeObject: IncludeObject }

const JSON_RANGES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*'])

/**
 * Returns the supported form that the client prefers.
 *
 * @throws ApiStatusError 406 if the client accepts no supported form, such as only protobuf
 */
export function negotiate(accept: string | undefined, query: URLSearchParams): Representation {
  if (accept === undefined || accept.trim() === '') return { kind: 'object' }
  for (const range of byQuality(accept)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const representation = JSON_RANGES.has(type) ? representationOf(parameters, query) : undefined
    if (representation !== undefined) return representation
  }
  throw notAcceptable()
}

/** 406, with the supported media types. */
function notAcceptable(): ApiStatusError {
  const message = 'only the following media types are accepted: application/json'
  return new ApiStatusError(406, 'NotAcceptable', message)
}

function byQuality(accept: string): string[] {
  const ranges = accept.split(',').map((range) => range.trim())
  return ranges.toSorted((left, right) => qualityOf(right) - qualityOf(left))
}

function qualityOf(range: string): number {
  const quality = /;\s*q=([\d.]+)/.exec(range)?.[1]
  return quality === undefined ? 1 : Number(quality)
}

function representationOf(parameters: readonly string[], query: URLSearchParams): Representation | undefined {
  const value = (name: string): string | undefined =>
    parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1)
  const as = value('as')
  if (as === undefined) return { kind: 'object' }
  if (value('g') !== 'meta.k8s.io' || value('v') !== 'v1') return undefined
  if (as === 'Table') return { kind: 'table', includeObject: readIncludeObject(query.get('includeObject')) }
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' ? { kind: 'metadata' } : undefined
}

function readIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === '') return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  throw badRequest(`unrecognized value for includeObject: ${JSON.stringify(value)}`)
}
