import { ANNOTATION_PREFIX } from '@tenure/core'
import { isJsonObject, objectAt, type JsonObject } from '../transport/json-object.ts'

/** The annotation that holds the epoch of the term that last wrote an object, as a decimal number. */
export const EPOCH_ANNOTATION: string = `${ANNOTATION_PREFIX}epoch`

/** The annotation that names the lease whose epochs {@link EPOCH_ANNOTATION} counts. */
export const LEASE_ANNOTATION: string = `${ANNOTATION_PREFIX}lease`

/** The annotation that holds the identity of the replica that last wrote an object. */
export const HOLDER_ANNOTATION: string = `${ANNOTATION_PREFIX}holder`

/** The annotations that a gated client puts into everything it writes. */
export type Stamp = Readonly<Record<string, string>>

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
export function stampBody({ method, contentType, body }: StampableRequest, stamp: Stamp): StampedBody | undefined {
  if (method === 'DELETE' || typeof body !== 'string') return undefined
  const parsed = tryParse(body)
  if (Array.isArray(parsed)) {
    return method === 'PATCH' && contentType.startsWith('application/json-patch+json')
      ? stampPatch(parsed, stamp)
      : undefined
  }
  if (!isJsonObject(parsed)) return undefined
  const metadata = parsed['metadata']
  if (metadata === null || (isJsonObject(metadata) && metadata['annotations'] === null)) return undefined
  return { body: JSON.stringify(stampObject(parsed, stamp)) }
}

function stampObject(object: JsonObject, stamp: Stamp): JsonObject {
  const metadata = objectAt(object, 'metadata')
  return { ...object, metadata: { ...metadata, annotations: { ...objectAt(metadata, 'annotations'), ...stamp } } }
}

const ANNOTATIONS = '/metadata/annotations'

function stampPatch(operations: readonly unknown[], stamp: Stamp): StampedBody {
  const adds = Object.entries(stamp).map(([key, value]) => ({
    op: 'add',
    path: `${ANNOTATIONS}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    value,
  }))
  const fresh = [
    { op: 'test', path: ANNOTATIONS, value: null },
    { op: 'add', path: ANNOTATIONS, value: stamp },
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
