import type { RequestContext, ResponseContext } from '@kubernetes/client-node'
import { clientNode } from '#client-node'
import { type GatedTerm, OTHER_COLLECTIONS, type WriteGate } from '@tenure/core/internal'
import { stringAt, isJsonObject, objectAt } from '../json-object.ts'
import { isJson, textOfResponse } from './response-text.ts'

/** A term that keeps how far it has written, as those of the core do. */
interface WritingTerm extends GatedTerm {
  /** Notes an acknowledged write. `version` is empty if it is not known. */
  noteVersion?(collection: string, version: string): void
}

/** The server may have a path of its own before it. `status` and `finalize` are the subresources of a namespace. */
const PATH =
  /\/(?:api\/v1|apis\/(?<group>[^/]+)\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/(?!(?:status|finalize)$)))?\/(?<resource>[^/]+)(?<object>\/)?/

interface Collection {
  readonly group: string
  readonly resource: string
  /** Empty for all namespaces, and for objects without one. */
  readonly namespace: string
}

/** The name of a collection: `pods/ops`, `deployments.apps/ops`, `nodes`. */
function collectionName({ group, resource, namespace }: Collection): string {
  return `${resource}${group === '' ? '' : `.${group}`}${namespace === '' ? '' : `/${namespace}`}`
}

/**
 * The versions that terms have written of a collection, by name; empty for what is not known. That of all namespaces contains those of
 * each namespace. Nothing is known without `versions`.
 */
export function writtenVersions(
  collection: Collection,
  versions: ReadonlyMap<string, string> = new Map([[OTHER_COLLECTIONS, '']]),
): ReadonlyMap<string, string> {
  const name = collectionName(collection)
  const isPart = (key: string) => key === name || key.startsWith(`${name}/`)
  const written = new Map([...versions].filter(([key]) => isPart(key)))
  return versions.has(OTHER_COLLECTIONS) && !written.has(name) ? written.set(name, '') : written
}

/** What a write changes. */
interface Written {
  readonly collection: string
  /** Whether its path names an object, and not the collection. */
  readonly isOfObject: boolean
}

/** What a write changes; undefined if it changes no object, as a dry run or a request that is not for an object. */
function writtenAt(url: string): Written | undefined {
  // The target of a tunnel is no URL.
  const parsed = URL.parse(url, 'http://localhost')
  if (parsed === null || parsed.searchParams.has('dryRun')) return undefined
  const parts = PATH.exec(parsed.pathname)?.groups
  if (parts === undefined) return undefined
  const { group = '', namespace = '', object } = parts
  const { resource = '' } = parts
  return { collection: collectionName({ group, resource, namespace }), isOfObject: object !== undefined }
}

/** Notes a write whose version is not known: its response was lost, or is not read. */
export function noteUnknownWrite({ term }: WriteGate, url: string): void {
  const written = writtenAt(url)
  if (written !== undefined) note(term, written.collection, '')
}

/**
 * Notes the version that a write has made, by its response. Returns the response, which can still be read. A response to the deletion of a
 * whole collection is not read: it may be large, and has no version.
 */
export async function noteWrite(
  { term }: WriteGate,
  request: Pick<RequestContext, 'getUrl' | 'getHttpMethod'>,
  response: ResponseContext,
): Promise<ResponseContext> {
  const { httpStatusCode: status } = response
  if (status >= 300 && status < 500) return response
  const written = writtenAt(request.getUrl())
  if (written === undefined) return response
  const { collection, isOfObject } = written
  const isOfOne = isOfObject || request.getHttpMethod() === clientNode().HttpMethod.POST
  if (status >= 500 || !isOfOne || !isJson(response)) {
    note(term, collection, '')
    return response
  }
  note(term, collection, versionIn(await textOfResponse(response)))
  return response
}

function note(term: WritingTerm, collection: string, version: string): void {
  term.noteVersion?.(collection, version)
}

/** The version of the object in a response; empty for a `Status`, a list, and anything else. */
function versionIn(text: string): string {
  try {
    const object: unknown = JSON.parse(text)
    if (!isJsonObject(object) || Array.isArray(object['items'])) return ''
    return stringAt(objectAt(object, 'metadata'), 'resourceVersion') ?? ''
  } catch {
    return ''
  }
}
