import { ANNOTATION_PREFIX } from '@tenure/core'
import { isJsonObject, objectAt, type JsonObject } from '../transport/json-object.ts'
import { addMembers, findMember, isObjectAt, spliced, type Splice } from './json-splice.ts'

/** The annotation that holds the epoch of the term that last wrote an object, as a decimal number. */
export const EPOCH_ANNOTATION: string = `${ANNOTATION_PREFIX}epoch`

/** The annotation that names the lease whose epochs {@link EPOCH_ANNOTATION} counts. */
export const LEASE_ANNOTATION: string = `${ANNOTATION_PREFIX}lease`

/** The annotation that holds the identity of the replica that last wrote an object. */
export const HOLDER_ANNOTATION: string = `${ANNOTATION_PREFIX}holder`

/** The annotations that a gated client puts into everything it writes. */
export interface Stamp {
  readonly annotations: Readonly<Record<string, string>>
  /** Each of them as JSON, key and value. */
  readonly members: readonly { readonly key: string; readonly name: string; readonly value: string }[]
}

/** Makes a stamp of annotations. */
export function createStamp(annotations: Readonly<Record<string, string>>): Stamp {
  const members = Object.entries(annotations).map(([key, value]) => ({
    key,
    name: JSON.stringify(key),
    value: JSON.stringify(value),
  }))
  return { annotations, members }
}

/** A body as it is to be sent. */
export interface StampedBody {
  readonly body: string
  /**
   * What to send once if the server answers 422: a JSON patch can add a single annotation only where there are annotations
   * already, and this is the form for where there are none. It tests that, and so it cannot wipe any.
   */
  readonly otherwise?: string
}

/** A request whose body may be stamped. */
export interface StampableRequest {
  readonly method: string
  readonly contentType: string
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
  if (Array.isArray(parsed)) {
    return method === 'PATCH' && request.contentType.startsWith('application/json-patch+json')
      ? stampPatch(parsed, stamp)
      : undefined
  }
  if (!isJsonObject(parsed)) return undefined
  const metadata = parsed['metadata']
  if (metadata === null || (isJsonObject(metadata) && metadata['annotations'] === null)) return undefined
  return { body: JSON.stringify(stampObject(parsed, stamp)) }
}

/** The body as text, stamped; undefined where that takes a parser. */
function stampText(body: string, { members }: Stamp): string | undefined {
  if (!isObjectAt(body, 0)) return undefined
  const added = members.map(({ name, value }) => `${name}:${value}`).join(',')
  const metadata = findMember(body, 0, 'metadata')
  if (metadata === undefined) return undefined
  if (metadata === 'none') return spliced(body, [addMembers(body, 0, `"metadata":{"annotations":{${added}}}`)])
  if (!isObjectAt(body, metadata.from)) return undefined
  const annotations = findMember(body, metadata.from, 'annotations')
  if (annotations === undefined) return undefined
  if (annotations === 'none') return spliced(body, [addMembers(body, metadata.from, `"annotations":{${added}}`)])
  if (!isObjectAt(body, annotations.from)) return undefined
  return stampAnnotations(body, annotations.from, members)
}

function stampAnnotations(body: string, at: number, members: Stamp['members']): string | undefined {
  const splices: Splice[] = []
  const missing: string[] = []
  for (const { key, name, value } of members) {
    const found = findMember(body, at, key)
    if (found === undefined) return undefined
    if (found === 'none') missing.push(`${name}:${value}`)
    else splices.push({ ...found, text: value })
  }
  if (missing.length > 0) splices.push(addMembers(body, at, missing.join(',')))
  return spliced(body, splices)
}

function stampObject(object: JsonObject, stamp: Stamp): JsonObject {
  const metadata = objectAt(object, 'metadata')
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...objectAt(metadata, 'annotations'), ...stamp.annotations } },
  }
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

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
