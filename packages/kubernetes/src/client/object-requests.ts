import type { ApiRequest, ApiTarget } from './api-request.ts'
import { collectionPath, objectPath, type ObjectReference, type ObjectSelection } from './resource.ts'

/** How long the server may keep a watch, in seconds. Spread, as in client-go, so that not all watches end at once. */
const WATCH_SECONDS = { least: 240, most: 480 }

/** Reads one object, with a consistent read. */
export function getObject(reference: ObjectReference, signal: AbortSignal): ApiRequest {
  return { method: 'GET', path: objectPath(reference), target: target('get', reference), signal }
}

/** Creates one object. */
export function createObject(reference: ObjectReference, body: unknown, signal: AbortSignal): ApiRequest {
  return { method: 'POST', path: collectionPath(reference), body, target: target('create', reference), signal }
}

/** Replaces one object. */
export function updateObject(reference: ObjectReference, body: unknown, signal: AbortSignal): ApiRequest {
  return { method: 'PUT', path: objectPath(reference), body, target: target('update', reference), signal }
}

/** Lists the selected objects and the version of the store, with a consistent read. */
export function listObjects(selection: ObjectSelection, signal: AbortSignal): ApiRequest {
  return {
    method: 'GET',
    path: collectionPath(selection),
    query: selectorOf(selection),
    target: target('list', selection),
    signal,
  }
}

/** Where and for how long to watch. */
export interface WatchFrom {
  readonly version: string
  /** How long the server may keep the watch, from the shortest to the longest time, in [0, 1). */
  readonly spread: number
}

/** Watches the selected objects from a version on. */
export function watchObjects(selection: ObjectSelection, from: WatchFrom, signal: AbortSignal): ApiRequest {
  return {
    method: 'GET',
    path: collectionPath(selection),
    query: { ...selectorOf(selection), ...watchQuery(from) },
    target: target('watch', selection),
    signal,
  }
}

/** The query of a watch request. */
export interface WatchQuery {
  readonly watch: 'true'
  readonly allowWatchBookmarks: 'true'
  readonly resourceVersion: string
  /** How long the server may keep the watch. */
  readonly timeoutSeconds: string
}

/** The query of a watch with bookmarks and a bounded time. */
export function watchQuery({ version, spread }: WatchFrom): WatchQuery {
  const seconds = WATCH_SECONDS.least + spread * (WATCH_SECONDS.most - WATCH_SECONDS.least)
  return {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: version,
    timeoutSeconds: String(Math.floor(seconds)),
  }
}

/** What a request does to the selected objects, in the terms of Kubernetes authorization. */
export function target(verb: string, { group, resource, namespace, name = '' }: ObjectSelection): ApiTarget {
  return { verb, group, resource, namespace, name }
}

function selectorOf({ name, labelSelector }: ObjectSelection): Record<string, string> {
  return {
    ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
    ...(labelSelector !== undefined && { labelSelector }),
  }
}

/** Conditions of a deletion: the object is still the same, or still at the same version. */
export interface DeletePreconditions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/** Deletes one object if it meets the conditions. */
export function deleteObject(
  reference: ObjectReference,
  preconditions: DeletePreconditions,
  signal: AbortSignal,
): ApiRequest {
  const body = { preconditions }
  return { method: 'DELETE', path: objectPath(reference), body, target: target('delete', reference), signal }
}
