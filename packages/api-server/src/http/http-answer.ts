import { ApiStatusError } from '../objects/api-status.ts'

/** The media types of the OpenAPI v2 document in protobuf. */
export const OPENAPI_V2_PROTOBUF = {
  asked: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  // A media type must not contain `@`.
  answered: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
} as const

/** The answer to a request. */
export interface HttpAnswer {
  readonly status: number
  readonly body: string | Buffer
  readonly contentType: 'application/json' | 'text/plain; charset=utf-8' | typeof OPENAPI_V2_PROTOBUF.answered
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer in JSON. */
export function jsonAnswer(status: number, body: string | object): HttpAnswer {
  return { status, body: typeof body === 'string' ? body : JSON.stringify(body), contentType: 'application/json' }
}

/** An answer in plain text. */
export function textAnswer(status: number, body: string): HttpAnswer {
  return { status, body, contentType: 'text/plain; charset=utf-8' }
}

/** 404 for an unknown path. */
export function pageNotFound(): HttpAnswer {
  return textAnswer(404, '404 page not found\n')
}

/** 404 for a resource that its group does not have. */
export function unknownResource(): HttpAnswer {
  const message = 'the server could not find the requested resource'
  return errorAnswer(new ApiStatusError(404, 'NotFound', message, { details: {} }))
}

/** The `Status` of a failed request. */
export function errorAnswer(error: ApiStatusError): HttpAnswer {
  const answer = jsonAnswer(error.httpStatus, error.body)
  if (error.retryAfterSeconds === undefined) return answer
  return { ...answer, headers: { 'retry-after': String(error.retryAfterSeconds) } }
}
