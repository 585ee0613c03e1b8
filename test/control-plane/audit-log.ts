import { readFile } from 'node:fs/promises'
import { prober } from './access.ts'

/** The detail of the audit log: the metadata of a request, or also the bodies of request and answer. */
export type AuditLevel = 'None' | 'Metadata' | 'RequestResponse'

/** A request that the API server received. */
export interface AuditEntry {
  /** When the request came in, in RFC 3339 with microseconds. */
  readonly time: string
  readonly user: string
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`. */
  readonly verb: string
  /** The plural, with the subresource after a slash; empty for paths such as `/readyz`. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly userAgent: string
  /** The HTTP status of the answer. */
  readonly code: number
  /** The path with its query. */
  readonly uri: string
  /** The bodies, at the level `RequestResponse`. */
  readonly requestObject?: unknown
  readonly responseObject?: unknown
}

/** A property of an entry by which requests can be counted. */
export type AuditKey = 'user' | 'verb' | 'resource' | 'namespace' | 'name' | 'userAgent' | 'code'

interface AuditEvent {
  readonly auditID: string
  readonly requestReceivedTimestamp: string
  readonly user: { readonly username: string }
  readonly verb: string
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; namespace?: string; name?: string }
  readonly userAgent?: string
  readonly responseStatus?: { readonly code?: number }
  readonly requestURI: string
  readonly requestObject?: unknown
  readonly responseObject?: unknown
}

/** The audit policy that `readAuditLog` expects: every request except those of the API server itself. */
export function auditPolicy(level: AuditLevel): object {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      { level: 'None', users: ['system:apiserver', prober.name] },
      // A watch is written down when it begins; it may not end while somebody counts.
      { level: 'Metadata', verbs: ['watch'] },
      { level, omitStages: ['ResponseStarted'] },
    ],
  }
}

/**
 * Reads the requests in the order in which they were written down, each once.
 *
 * A request is written down when it has been answered, and a moment after its client has the answer.
 */
export async function readAuditLog(file: string): Promise<AuditEntry[]> {
  const events = new Map<string, AuditEvent>()
  const lines = (await readFile(file, 'utf8')).split('\n')
  // The last piece is empty, or a line that is still being written.
  for (const line of lines.slice(0, -1)) {
    const event: AuditEvent = JSON.parse(line)
    if (!events.has(event.auditID)) events.set(event.auditID, event)
  }
  return [...events.values()].map(toEntry)
}

/**
 * Counts requests by the given properties, whose values are joined by spaces.
 *
 * @example countRequests(await controlPlane.audit(), ['user', 'verb'])['alice update']
 */
export function countRequests(entries: readonly AuditEntry[], keys: readonly AuditKey[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const entry of entries) {
    const label = keys.map((key) => entry[key]).join(' ')
    counts[label] = (counts[label] ?? 0) + 1
  }
  return counts
}

function toEntry(event: AuditEvent): AuditEntry {
  const { resource, subresource, namespace, name } = event.objectRef ?? {}
  return {
    time: event.requestReceivedTimestamp,
    user: event.user.username,
    verb: event.verb,
    resource: [resource, subresource].filter(Boolean).join('/'),
    namespace: namespace ?? '',
    name: name ?? '',
    userAgent: event.userAgent ?? '',
    code: event.responseStatus?.code ?? 0,
    uri: event.requestURI,
    ...(event.requestObject === undefined ? {} : { requestObject: event.requestObject }),
    ...(event.responseObject === undefined ? {} : { responseObject: event.responseObject }),
  }
}
