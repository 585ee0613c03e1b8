import type { AddressInfo } from 'node:net'
import { type Clock, type HealthProbe, type Logger, OptionsError } from '@tenure/core'
import { AlreadyStartedError } from '@tenure/core/internal'
import { loadFastify } from '#fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BoundedWaits } from './bounded-waits.ts'
import { type ExplainedCandidacy, explanationOf } from './explanation.ts'
import { type HealthAnswer, HealthEndpoint } from './health-endpoint.ts'

/** What an {@link OpsServer} is made of. */
export interface OpsServerOptions {
  readonly host: string
  readonly port: number
  readonly checkTimeoutMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** Makes the page that `/metrics` serves. */
  readonly metricsPage: (waits: BoundedWaits) => Promise<MetricsPage>
}

/** A page of metrics. */
export interface MetricsPage {
  /** The `Content-Type` header of the page. */
  readonly contentType: string
  /** The page in the text format of Prometheus. */
  readonly body: string
}

/** What the endpoints serve. */
export interface ServedState {
  readonly livez: HealthProbe
  readonly readyz: HealthProbe
  readonly candidacies: readonly ExplainedCandidacy[]
}

/** Where a server listens. */
export interface OpsAddress {
  readonly host: string
  readonly port: number
}

/**
 * Serves `/livez`, `/readyz`, `/healthz`, `/explain` and `/metrics`.
 *
 * `/healthz` serves the checks of `/livez`. Older manifests use it as a liveness probe, so it must not fail for a follower or for a
 * process that shuts down in order.
 *
 * 1. The port is open only from `start()` until `stop()` resolves. It is closed if `start()` rejects.
 * 2. `stop()` does not wait for clients: it closes open connections.
 */
export class OpsServer {
  readonly #options: OpsServerOptions
  #running: { readonly app: FastifyInstance; readonly waits: BoundedWaits } | undefined

  constructor(options: OpsServerOptions) {
    this.#options = options
  }

  /** Where the server listens; undefined while it is stopped. */
  get address(): OpsAddress | undefined {
    const address = this.#running?.app.server.address() as AddressInfo | null | undefined
    return address ? { host: address.address, port: address.port } : undefined
  }

  /**
   * Opens the port and serves this.
   * @throws OptionsError if the port is in use, or this process may not listen on it.
   */
  async start(served: ServedState): Promise<void> {
    if (this.#running !== undefined) throw new AlreadyStartedError('Expected the operations port to be started once')
    const { host, port, logger, clock, checkTimeoutMs } = this.#options
    const waits = new BoundedWaits(clock, checkTimeoutMs)
    const app = this.#createApp(served, waits)
    this.#running = { app, waits }
    try {
      await app.listen({ host, port })
    } catch (cause) {
      await this.stop()
      throw listenError(this.#options, cause)
    }
    logger.info({ event: 'ops-listening', ...this.address }, 'operations port is open')
  }

  /** Closes the port and every connection. Does nothing when the server is not running. */
  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    try {
      await running?.app.close()
    } finally {
      running?.waits.close()
    }
  }

  #createApp({ livez, readyz, candidacies }: ServedState, waits: BoundedWaits): FastifyInstance {
    const app = loadFastify()({
      forceCloseConnections: true,
      routerOptions: { maxParamLength: MAX_CHECK_NAME },
    })
    app.addHook('onSend', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    })
    app.setNotFoundHandler((_request, reply) => sendText(reply, { status: 404, body: 'not found\n' }))
    app.setErrorHandler((error, request, reply) => this.#onError(error, request, reply))
    const { logger, metricsPage } = this.#options
    for (const [name, probe] of Object.entries({ livez, readyz, healthz: livez })) {
      addHealthRoutes(app, name, new HealthEndpoint({ name, probe, waits, logger }))
    }
    app.get('/explain', async (_request, reply) => sendText(reply, { status: 200, body: explanationOf(candidacies) }))
    app.get('/metrics', async (_request, reply) => {
      const { contentType, body } = await metricsPage(waits)
      return reply.type(contentType).send(body)
    })
    return app
  }

  #onError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const status = statusOf(error)
    if (status === 500)
      this.#options.logger.error({ event: 'ops-error', path: request.url.split('?')[0], err: error }, 'request failed')
    const body = status === 500 ? 'internal server error\n' : 'bad request\n'
    return reply.code(status).send(body)
  }
}

/** Node's own limit for a request head. The name of a check contains the name of its lease (up to 253 characters) and a name that the user chose. */
const MAX_CHECK_NAME = 16_384

function addHealthRoutes(app: FastifyInstance, name: string, endpoint: HealthEndpoint): void {
  app.get(`/${name}`, async (request, reply) => {
    const query = new URLSearchParams(request.url.split('?')[1])
    const answer = await endpoint.answer({ verbose: query.has('verbose'), exclude: query.getAll('exclude') })
    return sendText(reply, answer)
  })
  app.get<{ Params: { check: string } }>(`/${name}/:check`, async (request, reply) =>
    sendText(reply, await endpoint.answerOne(request.params.check)),
  )
}

function sendText(reply: FastifyReply, { status, body }: HealthAnswer): FastifyReply {
  return reply.code(status).send(body)
}

function statusOf(error: unknown): number {
  try {
    const status: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined
    return typeof status === 'number' && status >= 400 ? status : 500
  } catch {
    return 500
  }
}

function listenError({ host, port }: OpsServerOptions, cause: unknown): unknown {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new OptionsError(
        `Expected \`ops.port\` to be a free port, but something listens on ${host} port ${port} already; ` +
          'choose another one, or 0 for any that is free',
        { cause },
      )
    case 'EACCES':
      return new OptionsError(`Expected \`ops.port\` to be a port that this process may listen on, got \`${port}\``, {
        cause,
      })
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new OptionsError(`Expected \`ops.host\` to be an address of this machine, got \`${host}\``, { cause })
    default:
      return cause
  }
}
