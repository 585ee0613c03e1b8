import { ANNOTATION_PREFIX } from '@tenure/core'
import { isJsonObject, objectAt, type JsonObject } from '../json-object.ts'
import { findMember, isObjectAt, withMembers, withValue } from './json-splice.ts'

/** The annotation that holds the epoch of the term that last wrote an object, as a decimal number. */
export const EPOCH_ANNOTATION: string = `${ANNOTATION_PREFIX}epoch`

/**
 * The annotation of a Lease that states the least epoch of its next term, for a store whose versions do not continue those of the
 * former store.
 */
export const LEAST_EPOCH_ANNOTATION: string = `${ANNOTATION_PREFIX}least-epoch`

/** The annotation that names the lease whose epochs {@link EPOCH_ANNOTATION} counts. */
export const LEASE_ANNOTATION: string = `${ANNOTATION_PREFIX}lease`

/** The annotation that holds the identity of the replica that last wrote an object. */
export const HOLDER_ANNOTATION: string = `${ANNOTATION_PREFIX}holder`

/** The annotations that a gated client puts into everything it writes. */
export interface Stamp {
  readonly annotations: Readonly<Record<string, string>>
  /** Each of them as JSON, key and value. */
  readonly members: readonly { readonly key: string; readonly name: string; readonly value: string }[]
  /** All of them as members of a JSON object. */
  readonly text: string
}

/** Makes a stamp of annotations. */
export function createStamp(annotations: Readonly<Record<string, string>>): Stamp {
  const members = Object.entries(annotations).map(([key, value]) => ({
    key,
    name: JSON.stringify(key),
    value: JSON.stringify(value),
  }))
  return { annotations, members, text: members.map(({ name, value }) => `${name}:${value}`).join(',') }
}

/** A body with its stamp. */
export interface StampedBody {
  readonly body: string
  /**
   * What to send if the server answers 422 to `body`. A JSON patch can add a single annotation only to an object that has
   * annotations. This form is for an object without any: it tests that there are none, so it removes none.
   */
  readonly otherwise?: string
}

/** A request whose body may be stamped. */
export interface StampableRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * Puts the annotations of a stamp into the body of a write. Returns undefined for a body that carries no object of its own (that
 * of a deletion), is not JSON, or asks for all annotations to be removed.
 */
export function stampBody(request: StampableRequest, stamp: Stamp): StampedBody | undefined {
  const { method, body } = request
  if (method === 'DELETE' || typeof body !== 'string') return undefined
  const quick = stampText(body, stamp)
  if (quick !== undefined) return { body: quick }
  const parsed = tryParse(body)
  if (isJsonObject(parsed)) return stampObject(parsed, stamp)
  return Array.isArray(parsed) && isJsonPatch(request) ? stampPatch(parsed, stamp) : undefined
}

/** Stamps the text of a body without parsing it. Returns undefined when that takes a parser. */
function stampText(body: string, { members, text }: Stamp): string | undefined {
  if (!isObjectAt(body, 0)) return undefined
  const metadata = findMember(body, 0, 'metadata')
  if (metadata === undefined) return undefined
  if (metadata === 'none') return withMembers(body, 0, `"metadata":{"annotations":{${text}}}`)
  if (!isObjectAt(body, metadata.from)) return undefined
  const annotations = findMember(body, metadata.from, 'annotations')
  if (annotations === undefined) return undefined
  if (annotations === 'none') return withMembers(body, metadata.from, `"annotations":{${text}}`)
  if (!isObjectAt(body, annotations.from)) return undefined
  return stampAnnotations(body, annotations.from, members)
}

/** Sets one annotation after the other. No step moves the beginning of the annotations. */
function stampAnnotations(body: string, at: number, members: Stamp['members']): string | undefined {
  let stamped = body
  for (const { key, name, value } of members) {
    const found = findMember(stamped, at, key)
    if (found === undefined) return undefined
    stamped = found === 'none' ? withMembers(stamped, at, `${name}:${value}`) : withValue(stamped, found, value)
  }
  return stamped
}

/** Undefined when a merge patch sets the annotations, or the metadata, to null: that removes all of them. */
function stampObject(object: JsonObject, stamp: Stamp): StampedBody | undefined {
  const metadata = objectAt(object, 'metadata')
  if (object['metadata'] === null || metadata['annotations'] === null) return undefined
  const annotations = { ...objectAt(metadata, 'annotations'), ...stamp.annotations }
  return { body: JSON.stringify({ ...object, metadata: { ...metadata, annotations } }) }
}

const ANNOTATIONS = '/metadata/annotations'

function stampPatch(operations: readonly unknown[], stamp: Stamp): StampedBody {
  const adds = Object.entries(stamp.annotations).map(([key, value]) => ({
    op: 'add',
    path: `${ANNOTATIONS}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    value,
  }))
  const fresh = [
    { op: 'test', path: ANNOTATIONS, value: null },
    { op: 'add', path: ANNOTATIONS, value: stamp.annotations },
  ]
  return { body: JSON.stringify([...operations, ...adds]), otherwise: JSON.stringify([...fresh, ...operations]) }
}

function isJsonPatch({ method, headers }: StampableRequest): boolean {
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  return method === 'PATCH' && contentType?.startsWith('application/json-patch+json') === true
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
