import type { IncomingHttpHeaders } from 'node:http'
import type { LockFailure } from '@tenure/core'
import { ApiRequestError } from './api-request-error.ts'
import { describeTarget, type ApiTarget } from './api-request.ts'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** An answer that is not a success. */
export interface FailedResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  /** The parsed body, which need not be a `Status`. */
  readonly body: unknown
}

/** Tells what a failed answer means: whether the write can have happened, and what to do about it. */
export function statusError(target: ApiTarget, response: FailedResponse): ApiRequestError {
  const status = isJsonObject(response.body) ? response.body : {}
  const retryAfterMs = retryAfter(response.headers, status)
  const reason = stringAt(status, 'reason')
  const failure = isAnonymous(status) ? 'unauthenticated' : failureOf(response.statusCode)
  return new ApiRequestError(failure, messageOf(target, response.statusCode, status), {
    statusCode: response.statusCode,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(reason === undefined ? {} : { reason }),
  })
}

/** What a status code means for a write. Everything that may come from behind the point of no return is an unknown outcome. */
function failureOf(statusCode: number): LockFailure {
  switch (statusCode) {
    case 401:
      return 'unauthenticated'
    case 403:
      return 'forbidden'
    case 404:
      return 'not-found'
    case 409:
      return 'conflict'
    case 429:
      return 'throttled'
    default:
      return statusCode >= 500 || statusCode < 300 ? 'unknown-outcome' : 'rejected'
  }
}

const ANONYMOUS =
  'the request went without credentials that the server knows (403 for `system:anonymous`); give the user of the kubeconfig a ' +
  'token, a client certificate or a credential plugin'

/** A Role for nobody in particular is not what is missing. */
function isAnonymous(status: JsonObject): boolean {
  return status['code'] === 403 && (stringAt(status, 'message') ?? '').includes('User "system:anonymous"')
}

function messageOf(target: ApiTarget, statusCode: number, status: JsonObject): string {
  const said = stringAt(status, 'message')
  return (
    `Could not ${describeTarget(target)}: ${isAnonymous(status) ? ANONYMOUS : explain(target, statusCode, status)}` +
    (said ? `; the server said: ${said}` : '')
  )
}

function explain(target: ApiTarget, statusCode: number, status: JsonObject): string {
  if (isTerminating(status)) {
    return `namespace ${target.namespace} is being deleted (${statusCode}), so nothing can be created in it`
  }
  switch (statusCode) {
    case 401:
      return 'the server does not accept the credentials (401); is the token or the client certificate still valid?'
    case 403:
      return (
        `the credentials lack a permission (403); the Role in namespace ${target.namespace} must grant the verb ` +
        `"${target.verb}" on the resource "${target.resource}" of API group "${target.group}"`
      )
    case 404:
      return explainNotFound(target, status)
    case 409:
      return 'it exists already, or has changed since it was read (409)'
    case 410:
      return 'that version is no longer kept (410)'
    case 429:
      return 'the server asks to come back later (429)'
    default:
      return statusCode >= 500 ? `the server failed (${statusCode})` : `the server refused it (${statusCode})`
  }
}

/** The server names the namespace where that is what is missing. A collection is there, though empty, when its resource is served. */
function explainNotFound(target: ApiTarget, status: JsonObject): string {
  const { namespace, resource, group } = target
  if (stringAt(objectAt(status, 'details'), 'kind') === 'namespaces') {
    return `namespace "${namespace}" does not exist (404); create it: kubectl create namespace ${namespace}`
  }
  if (target.verb !== 'list' && target.verb !== 'watch') return 'it does not exist, or its namespace does not (404)'
  return (
    `the server does not serve the resource "${resource}" of API group "${group}" in this version (404); correct the ` +
    'path, or install the CustomResourceDefinition'
  )
}

/** The API server answers 403 to every creation in a namespace that is being deleted, whatever the Role grants. */
function isTerminating(status: JsonObject): boolean {
  const causes = objectAt(status, 'details')['causes']
  return (
    Array.isArray(causes) && causes.some((cause) => isJsonObject(cause) && cause['reason'] === 'NamespaceTerminating')
  )
}

/** A server or a proxy that asks for more gets this. Watches and informers obey it, too. */
const MAX_RETRY_AFTER_MS = 15_000

/** `Retry-After` in seconds wins over the `Status` detail of the same meaning. A date in `Retry-After` is not understood. */
function retryAfter(headers: IncomingHttpHeaders, status: JsonObject): number | undefined {
  const header = headers['retry-after']?.trim() ?? ''
  const seconds = /^\d+$/.test(header) ? Number(header) : integerAt(objectAt(status, 'details'), 'retryAfterSeconds')
  return seconds === undefined || seconds < 0 ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
}
