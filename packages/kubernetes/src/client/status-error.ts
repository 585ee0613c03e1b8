import type { IncomingHttpHeaders } from 'node:http'
import type { LockFailure } from '@tenure/core'
import { ApiRequestError } from './api-request-error.ts'
import { describeTarget, type ApiTarget } from './api-request.ts'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** An answer with an error status. */
export interface FailedResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  /** The parsed body, which need not be a `Status`. */
  readonly body: unknown
}

/** The error for a failed answer. It says whether a write can have taken effect, and how to fix the cause. */
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

/** What a status code means for a write. The outcome is unknown unless the server certainly refused the write. */
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
  'the server received no credentials that it knows (403 for `system:anonymous`); give the user of the kubeconfig a token, a ' +
  'client certificate or a credential plugin'

/** An anonymous request needs credentials, not a Role. */
function isAnonymous(status: JsonObject): boolean {
  return status['code'] === 403 && stringAt(status, 'message')?.includes('User "system:anonymous"') === true
}

function messageOf(target: ApiTarget, statusCode: number, status: JsonObject): string {
  const said = stringAt(status, 'message')
  return (
    `Could not ${describeTarget(target)}: ${isAnonymous(status) ? ANONYMOUS : explain(target, statusCode, status)}` +
    (said ? `; the server said: ${said}` : '')
  )
}

function roleOf({ namespace }: ApiTarget): string {
  return namespace === '' ? 'a ClusterRole' : `the Role in namespace ${namespace}`
}

function explain(target: ApiTarget, statusCode: number, status: JsonObject): string {
  if (isTerminating(status)) {
    return `namespace ${target.namespace} is being deleted (${statusCode}), so no object can be created in it`
  }
  switch (statusCode) {
    case 401:
      return 'the server does not accept the credentials (401); is the token or the client certificate still valid?'
    case 403:
      return (
        `the credentials lack a permission (403); ${roleOf(target)} must grant the verb ` +
        `"${target.verb}" on the resource "${target.resource}" of API group "${target.group}"`
      )
    case 404:
      return explainNotFound(target, status)
    case 409:
      return 'it already exists, or it changed after it was read (409)'
    case 410:
      return 'the server no longer keeps that version (410)'
    case 429:
      return 'the server throttles requests (429)'
    default:
      return statusCode >= 500 ? `the server failed (${statusCode})` : `the server refused it (${statusCode})`
  }
}

/** The server says if the namespace is missing. A list of a served resource succeeds even if it is empty. */
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

/** The API server answers 403 to every create request in a namespace that is being deleted, whatever the Role grants. */
function isTerminating(status: JsonObject): boolean {
  const causes = objectAt(status, 'details')['causes']
  return (
    Array.isArray(causes) && causes.some((cause) => isJsonObject(cause) && cause['reason'] === 'NamespaceTerminating')
  )
}

/** The maximum time that a server or a proxy can make requests wait. Watches and informers obey it too. */
const MAX_RETRY_AFTER_MS = 15_000

/** `Retry-After` in seconds takes precedence over the `Status` detail. A date in `Retry-After` is ignored. */
function retryAfter(headers: IncomingHttpHeaders, status: JsonObject): number | undefined {
  const header = headers['retry-after']?.trim()
  const isGiven = header !== undefined && /^\d+$/.test(header)
  const seconds = isGiven ? Number(header) : integerAt(objectAt(status, 'details'), 'retryAfterSeconds')
  return seconds === undefined || seconds < 0 ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
}
