import type { ApiRequest, ApiTarget } from '../transport/api-request.ts'
import { leasesPath } from './lease-object.ts'

/** Which lease a request is about. */
export interface LeaseReference {
  readonly name: string
  readonly namespace: string
}

/** How often, in seconds, a watch may be asked to end by the server, as client-go does: spread so that not all end at once. */
const WATCH_SECONDS = { least: 240, most: 480 }

/** Reads one lease, from a quorum of the store. */
export function getLease(lease: LeaseReference, signal: AbortSignal): ApiRequest {
  return { method: 'GET', path: `${leasesPath(lease.namespace)}/${lease.name}`, target: target('get', lease), signal }
}

/** Creates one lease. */
export function createLease(lease: LeaseReference, body: unknown, signal: AbortSignal): ApiRequest {
  return { method: 'POST', path: leasesPath(lease.namespace), body, target: target('create', lease), signal }
}

/** Replaces one lease. */
export function updateLease(lease: LeaseReference, body: unknown, signal: AbortSignal): ApiRequest {
  const path = `${leasesPath(lease.namespace)}/${lease.name}`
  return { method: 'PUT', path, body, target: target('update', lease), signal }
}

/** Lists the leases of that name: one or none, with the version of the store, from a quorum of it. */
export function listLease(lease: LeaseReference, signal: AbortSignal): ApiRequest {
  return {
    method: 'GET',
    path: leasesPath(lease.namespace),
    query: { fieldSelector: `metadata.name=${lease.name}` },
    target: target('list', lease),
    signal,
  }
}

/** Where and for how long to watch. */
export interface WatchFrom {
  readonly version: bigint
  /** In [0, 1): how long the server may keep the watch, from the shortest to the longest. */
  readonly spread: number
}

/** Watches the lease of that name from a version on. */
export function watchLease(lease: LeaseReference, from: WatchFrom, signal: AbortSignal): ApiRequest {
  const seconds = WATCH_SECONDS.least + from.spread * (WATCH_SECONDS.most - WATCH_SECONDS.least)
  return {
    method: 'GET',
    path: leasesPath(lease.namespace),
    query: {
      fieldSelector: `metadata.name=${lease.name}`,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: String(from.version),
      timeoutSeconds: String(Math.floor(seconds)),
    },
    target: target('watch', lease),
    signal,
  }
}

function target(verb: string, lease: LeaseReference): ApiTarget {
  return { verb, group: 'coordination.k8s.io', resource: 'leases', namespace: lease.namespace, name: lease.name }
}
