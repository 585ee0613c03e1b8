/**
 * The steps of a request through the server: body, user, fault, permission, handler, answer, log entry.
 *
 * Owns the delays of faults and the running watches. Everything else belongs to its parts.
 */
import { type Clock, type Logger } from '@tenure/core'
import { type Timer, textOf } from '@tenure/core/internal'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiStatusError } from '../objects/api-status.ts'
import { ANONYMOUS, type AuthenticatedUser, type Authenticator } from '../access/authentication.ts'
import { impersonated } from '../access/impersonation.ts'
import type { Authorizer } from '../access/authorization.ts'
import type { FaultEffect, Faults, FaultSubject } from './faults.ts'
import { errorAnswer, pageNotFound, type HttpAnswer } from './http-answer.ts'
import { negotiate, type Representation } from './negotiation.ts'
import { readListOptions } from '../objects/list-options.ts'
import { answerPlainPath } from './plain-paths.ts'
import { readRequestInfo, type RequestInfo, type RequestTarget } from './request-info.ts'
import type { RequestLog } from './request-log.ts'
import type { ResourceCatalog } from '../resources/resource-catalog.ts'
import { namespaceScope, type ResourceHandler } from './resource-handler.ts'
import type { Store } from '../storage/store.ts'
import { WatchStream } from './watch-stream.ts'

/** The parts of a {@link RequestPipeline}. */
export interface PipelineParts {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly catalog: ResourceCatalog
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  readonly handler: ResourceHandler
  readonly faults: Faults
  readonly requests: RequestLog
  readonly bookmarkIntervalMs: number
  /** Whether `/readyz` passes. */
  readonly isReady: boolean
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly info: RequestInfo
  readonly userAgent: string
  readonly startedAt: number
  readonly startedWallTime: number
  user: AuthenticatedUser
}

const MAX_BODY_BYTES = 3 * 1024 * 1024
/** The fields of a log entry for a non-resource path. */
const NO_RESOURCE = { group: '', resource: '', subresource: '', namespace: '', name: '' }

/** Answers the requests of one server. */
export class RequestPipeline {
  readonly #parts: PipelineParts
  readonly #delays = new Set<Timer>()
  readonly #watches = new Set<WatchStream>()

  constructor(parts: PipelineParts) {
    this.#parts = parts
  }

  /** Handles a request whose headers have arrived. */
  accept(request: IncomingMessage, response: ServerResponse): void {
    const { clock } = this.#parts
    const exchange: Exchange = {
      request,
      response,
      info: readRequestInfo(request.method ?? 'GET', request.url ?? '/'),
      userAgent: request.headers['user-agent'] ?? '',
      startedAt: clock.now(),
      startedWallTime: clock.wallTime(),
      user: ANONYMOUS,
    }
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
    })
    request.on('end', () => this.#begin(exchange, size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks)))
  }

  /** Ends all watches and cancels all delays. */
  close(): void {
    for (const delay of this.#delays) delay.cancel()
    this.#delays.clear()
    for (const watch of this.#watches) watch.end()
  }

  #begin(exchange: Exchange, body: Buffer | undefined): void {
    const { authenticator, authorizer, faults } = this.#parts
    try {
      const sender = authenticator.authenticate(exchange.request)
      exchange.user = impersonated(sender, exchange.request.headers, authorizer)
    } catch (error) {
      this.#send(exchange, this.#answerFor(error, exchange))
      return
    }
    const effect = faults.take(subjectOf(exchange))
    switch (effect?.kind) {
      case 'delay-before':
        this.#later(effect.ms, () => this.#process(exchange, body))
        return
      case 'drop-before':
        this.#lose(exchange)
        exchange.request.socket.destroy()
        return
      case 'black-hole':
        this.#lose(exchange)
        return
      case 'answer':
        this.#send(exchange, errorAnswer(faultError(effect)))
        return
      default:
        this.#process(exchange, body, effect)
    }
  }

  #process(exchange: Exchange, body: Buffer | undefined, effect?: FaultEffect): void {
    const answer = this.#answer(exchange, body)
    if (answer === undefined) return
    switch (effect?.kind) {
      case 'delay-after':
        this.#later(effect.ms, () => this.#send(exchange, answer))
        return
      case 'drop-after':
        this.#lose(exchange)
        exchange.request.socket.destroy()
        return
      case 'black-hole-after':
        this.#lose(exchange)
        return
      default:
        this.#send(exchange, answer)
    }
  }

  /** Returns the answer, or `undefined` if a watch has started instead. */
  #answer(exchange: Exchange, body: Buffer | undefined): HttpAnswer | undefined {
    try {
      const { info } = exchange
      this.#parts.authorizer.assertAllowed(exchange.user, info)
      if (body === undefined) throw new ApiStatusError(413, 'RequestEntityTooLarge', BODY_TOO_LARGE)
      const { target } = info
      const { accept } = exchange.request.headers
      if (target === undefined) {
        return info.verb === 'get' ? answerPlainPath({ path: info.path, accept }, this.#parts) : pageNotFound()
      }
      const representation = negotiate(accept, info.query)
      if (info.verb === 'watch') return this.#watch(exchange, target, representation)
      const contentType = (exchange.request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? ''
      return this.#parts.handler.handle({
        info,
        target,
        contentType,
        form: { representation, now: this.#parts.clock.wallTime() },
        userAgent: exchange.userAgent,
        user: exchange.user,
        body,
      })
    } catch (error) {
      return this.#answerFor(error, exchange)
    }
  }

  #watch(exchange: Exchange, target: RequestTarget, representation: Representation): HttpAnswer | undefined {
    const { handler, store, clock, faults, bookmarkIntervalMs } = this.#parts
    const { response } = exchange
    const definition = handler.find(target)
    if (definition === undefined) return this.#parts.catalog.answerUnknown(target.group, target.version)
    const options = readListOptions(exchange.info.query, definition, true)
    const request = { definition, namespace: namespaceScope(definition, target), options, representation }
    const watch = new WatchStream(request, { store, clock, bookmarkIntervalMs, response })
    this.#watches.add(watch)
    const untrack = faults.track({
      subject: subjectOf(exchange),
      hold: () => watch.hold(),
      unhold: () => watch.unhold(),
      end: () => watch.end(),
      destroy: () => exchange.request.socket.destroy(),
    })
    response.once('close', () => {
      untrack()
      this.#watches.delete(watch)
    })
    this.#log(exchange, 200)
    watch.start()
    return undefined
  }

  #answerFor(error: unknown, exchange: Exchange): HttpAnswer {
    if (error instanceof ApiStatusError) return errorAnswer(error)
    this.#parts.logger.error({ err: error, path: exchange.info.path }, 'unexpected error while handling a request')
    const message = `Internal error occurred: ${textOf(error)}`
    return errorAnswer(new ApiStatusError(500, 'InternalError', message))
  }

  #send(exchange: Exchange, answer: HttpAnswer): void {
    const { response } = exchange
    this.#log(exchange, answer.status)
    if (response.destroyed) return
    response.writeHead(answer.status, {
      'audit-id': randomUUID(),
      'cache-control': 'no-cache, private',
      'content-type': answer.contentType,
      'content-length': Buffer.byteLength(answer.body),
      ...answer.headers,
    })
    response.end(exchange.request.method === 'HEAD' ? undefined : answer.body)
  }

  /** Logs that the client gets no answer. */
  #lose(exchange: Exchange): void {
    this.#log(exchange, 0)
  }

  #log(exchange: Exchange, status: number): void {
    const { info, user, userAgent, startedAt, startedWallTime } = exchange
    const { group, resource, subresource, namespace, name } = info.target ?? NO_RESOURCE
    const entry = {
      user: user.name,
      verb: info.verb,
      group,
      resource,
      subresource,
      namespace,
      name,
      path: info.path,
      userAgent,
      status,
      startedAt: startedWallTime,
      durationMs: this.#parts.clock.now() - startedAt,
    }
    this.#parts.requests.add(entry)
    this.#parts.logger.debug(entry, 'request')
  }

  #later(delayMs: number, callback: () => void): void {
    const timer = this.#parts.clock.setTimer(delayMs, () => {
      this.#delays.delete(timer)
      callback()
    })
    this.#delays.add(timer)
  }
}

const BODY_TOO_LARGE = `Request entity too large: limit is ${MAX_BODY_BYTES}`

function subjectOf({ user, userAgent, info }: Exchange): FaultSubject {
  return { user: user.name, userAgent, info }
}

const FAULT_REASONS = {
  409: ['Conflict', 'the object has been modified; please apply your changes to the latest version and try again'],
  429: ['TooManyRequests', 'too many requests, please try again later'],
  500: ['InternalError', 'Internal error occurred: injected fault'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
} as const

function faultError(effect: Extract<FaultEffect, { kind: 'answer' }>): ApiStatusError {
  const [reason, message] = FAULT_REASONS[effect.status]
  const { retryAfterSeconds } = effect
  return new ApiStatusError(
    effect.status,
    reason,
    message,
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  )
}
