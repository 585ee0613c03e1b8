import { TenureError } from '@tenure/core'
import type { JsonObject } from './json-value.ts'

/** The object or resource that the message and details of a status name. */
export interface StatusSubject {
  readonly group: string
  /** The plural, such as `leases`. */
  readonly resource: string
  readonly kind: string
  readonly name: string
}

/** One reason why the server refuses an object. */
export interface FieldCause {
  readonly field: string
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueTypeInvalid'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate'
  readonly message: string
}

/** The `Status` object in the answer to a failed request. */
export interface StatusBody extends JsonObject {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: JsonObject
  status: 'Failure' | 'Success'
}

/** A failed request, answered with a `Status` object. The messages are those of the real API server. */
export class ApiStatusError extends TenureError {
  /** The reason of the status, such as `NotFound`. */
  override readonly code: string
  readonly httpStatus: number
  readonly details: JsonObject | undefined
  readonly listMetadata: JsonObject
  readonly retryAfterSeconds: number | undefined

  constructor(httpStatus: number, reason: string, message: string, options: StatusErrorOptions = {}) {
    super(message)
    this.httpStatus = httpStatus
    this.code = reason
    this.listMetadata = options.listMetadata ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details =
      options.retryAfterSeconds === undefined
        ? options.details
        : { ...options.details, retryAfterSeconds: options.retryAfterSeconds }
  }

  /** The answer as the API server writes it. */
  get body(): StatusBody {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.listMetadata,
      status: 'Failure',
      message: this.message,
      ...(this.code === '' ? {} : { reason: this.code }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.httpStatus,
    }
  }
}

/** The optional parts of an {@link ApiStatusError}. */
export interface StatusErrorOptions {
  readonly details?: JsonObject
  readonly listMetadata?: JsonObject
  readonly retryAfterSeconds?: number
}

/** `leases.coordination.k8s.io`, or `pods` for the core group. */
function qualifiedResource(subject: { readonly group: string; readonly resource: string }): string {
  return subject.group === '' ? subject.resource : `${subject.resource}.${subject.group}`
}

function detailsOf(subject: StatusSubject): JsonObject {
  return {
    ...(subject.name === '' ? {} : { name: subject.name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    kind: subject.resource,
  }
}

/** 404 for an object. */
export function notFound(subject: StatusSubject): ApiStatusError {
  const message = `${qualifiedResource(subject)} "${subject.name}" not found`
  return new ApiStatusError(404, 'NotFound', message, { details: detailsOf(subject) })
}

/** 409 for creating an object that exists. */
export function alreadyExists(subject: StatusSubject): ApiStatusError {
  const message = `${qualifiedResource(subject)} "${subject.name}" already exists`
  return new ApiStatusError(409, 'AlreadyExists', message, { details: detailsOf(subject) })
}

/** The message of the API server for a write based on an old version. */
const OUTDATED_WRITE = 'the object has been modified; please apply your changes to the latest version and try again'

/** 409 for a write that conflicts with the stored object. */
export function conflict(subject: StatusSubject, why: string = OUTDATED_WRITE): ApiStatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(subject)} "${subject.name}": ${why}`
  return new ApiStatusError(409, 'Conflict', message, { details: detailsOf(subject) })
}

/** 400 without details. */
export function badRequest(message: string): ApiStatusError {
  return new ApiStatusError(400, 'BadRequest', message)
}

/** 422, naming each invalid field. */
export function invalid(subject: StatusSubject, causes: readonly FieldCause[]): ApiStatusError {
  const told = causes.map((cause) => `${cause.field}: ${cause.message}`)
  const reasons = told.length === 1 ? told.join('') : `[${told.join(', ')}]`
  const kind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`
  return new ApiStatusError(422, 'Invalid', `${kind} "${subject.name}" is invalid: ${reasons}`, {
    details: {
      ...(subject.name === '' ? {} : { name: subject.name }),
      ...(subject.group === '' ? {} : { group: subject.group }),
      ...(subject.kind === '' ? {} : { kind: subject.kind }),
      causes: causes.map((cause) => ({ reason: cause.reason, message: cause.message, field: cause.field })),
    },
  })
}

/** 403 for an object. */
export function forbidden(subject: StatusSubject, why: string): ApiStatusError {
  const name = subject.name === '' ? '' : ` "${subject.name}"`
  const message = `${qualifiedResource(subject)}${name} is forbidden: ${why}`
  return new ApiStatusError(403, 'Forbidden', message, { details: detailsOf(subject) })
}

/** 401. */
export function unauthorized(): ApiStatusError {
  return new ApiStatusError(401, 'Unauthorized', 'Unauthorized')
}

/** 410: the history does not reach back to `version`. */
export function tooOldVersion(version: number, oldest: number): ApiStatusError {
  return new ApiStatusError(410, 'Expired', `too old resource version: ${version} (${oldest})`)
}

/** 405. */
export function methodNotAllowed(): ApiStatusError {
  const message = 'the server does not allow this method on the requested resource'
  return new ApiStatusError(405, 'MethodNotAllowed', message, { details: {} })
}

/** 415. */
export function unsupportedMediaType(accepted: readonly string[]): ApiStatusError {
  const message =
    `the body of the request was in an unknown format - accepted media types include: ` + accepted.join(', ')
  return new ApiStatusError(415, 'UnsupportedMediaType', message)
}
