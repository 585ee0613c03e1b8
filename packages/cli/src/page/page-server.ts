import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Terminal } from '../terminal.ts'
import type { BoardNews, LeaseBoard } from './lease-board.ts'
import type { PageActions } from './page-actions.ts'
import { guardRequests, HOST, isToken } from './page-guard.ts'

/** The files of the page: beside `src` and beside `dist`. */
const FOLDER = join(import.meta.dirname, '../../page')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A page that does not read is disconnected when this much waits for it. It connects again and gets the present state. */
const MOST_UNREAD_BYTES = 16 * 2 ** 20

/** A replica of `tenure dev` as the page shows it. */
export interface PageReplica {
  readonly name: string
  readonly state: string
  readonly isCutOff: boolean
}

/** Options of {@link startPage}. */
export interface PageOptions {
  readonly board: LeaseBoard
  readonly actions: PageActions
  /** Whether the buttons work. */
  readonly allowsActions: boolean
  /** The replicas of this process, if it runs any. */
  readonly replicas: () => readonly PageReplica[]
  /** What the page shows. */
  readonly title: string
  readonly token: string
  /** 0 for any free port. */
  readonly port: number
  /** Whether another free port will do if this one is in use. @default false */
  readonly orFreePort?: boolean
  readonly terminal: Pick<Terminal, 'clock'>
}

/** A running server of the page. */
export interface PageServer {
  /** With the token, which browsers do not send. */
  readonly url: string
  readonly port: number
  /** Sends the replicas to every page. */
  showReplicas(): void
  /** Says to every page whether the API server answers. Empty if it does. */
  showProblem(text: string): void
  stop(): Promise<void>
}

/** Serves the page on loopback. @throws OptionsError if the port is in use */
export async function startPage(options: PageOptions): Promise<PageServer> {
  const { token } = options
  const app = fastify({ logger: false, forceCloseConnections: true })
  const streams = new PageStreams(options)
  guardRequests(app)
  serveFiles(app)
  serveData(app, options, streams)
  try {
    await listen(app, options)
  } catch (cause) {
    await app.close()
    throw new OptionsError(`Could not serve the page: ${textOf(cause)}. Choose another port, or omit it`, { cause })
  }
  const { port } = app.server.address() as AddressInfo
  return {
    url: `http://${HOST}:${port}/#${token}`,
    port,
    showReplicas: () => streams.send('replicas', { replicas: options.replicas() }),
    showProblem: (problem) => streams.show(problem),
    stop: async () => {
      streams.close()
      await app.close()
    },
  }
}

async function listen(app: FastifyInstance, { port, orFreePort = false }: PageOptions): Promise<void> {
  try {
    await app.listen({ host: HOST, port })
  } catch (error) {
    const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!isInUse || !orFreePort) throw error
    await app.listen({ host: HOST, port: 0 })
  }
}

function serveFiles(app: FastifyInstance): void {
  const files = readdirSync(FOLDER).filter((name) => extname(name) in TYPES)
  for (const name of files) {
    const content = readFileSync(join(FOLDER, name))
    const send = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
      reply.type(TYPES[extname(name)] ?? '').send(content)
    app.get(`/${name}`, send)
    if (name === 'index.html') app.get('/', send)
  }
}

function serveData(app: FastifyInstance, { actions, allowsActions, token }: PageOptions, streams: PageStreams): void {
  // EventSource cannot send a header.
  app.get<{ Querystring: { token?: unknown } }>('/events', (request, reply) => {
    if (!isToken(request.query.token, token)) return refuse(reply, WRONG_TOKEN)
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? '')
    streams.add(reply.raw)
    return reply
  })
  app.get<{ Querystring: { lease?: string } }>('/explain', async (request, reply) => {
    if (!isToken(request.headers['x-tenure-token'], token)) return refuse(reply, WRONG_TOKEN)
    return answer(reply, async () => ({ sentences: await actions.explain(String(request.query.lease ?? '')) }))
  })
  app.post('/actions', async (request, reply) => {
    if (!isToken(request.headers['x-tenure-token'], token)) return refuse(reply, WRONG_TOKEN)
    if (!allowsActions) return refuse(reply, 'Start the command with `--allow-actions` for this.')
    return answer(reply, () => actions.act(request.body))
  })
}

const WRONG_TOKEN = 'Open the address that the command prints: it contains the token of this server.'

function refuse(reply: FastifyReply, text: string): FastifyReply {
  return reply.code(403).send({ isDone: false, text })
}

async function answer(reply: FastifyReply, make: () => Promise<object>): Promise<FastifyReply> {
  try {
    return reply.send(await make())
  } catch (error) {
    return reply.code(error instanceof OptionsError ? 400 : 502).send({ isDone: false, text: textOf(error) })
  }
}

/** The pages that are open. */
class PageStreams {
  readonly #options: PageOptions
  readonly #open = new Set<ServerResponse>()
  readonly #forget: () => void
  /** A page that sees another value knows that the server was restarted. */
  readonly #server = randomUUID()
  #problem = ''

  constructor(options: PageOptions) {
    this.#options = options
    this.#forget = options.board.subscribe((news) => this.#sendNews(news))
  }

  /** Sends the present state, and from then on what is new. */
  add(response: ServerResponse): void {
    const { board, replicas, title, allowsActions } = this.#options
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    this.#open.add(response)
    response.once('close', () => this.#open.delete(response))
    const state = { server: this.#server, title, allowsActions, problem: this.#problem }
    // How long a page waits before it connects again.
    response.write('retry: 500\n\n')
    response.write(this.#frame('snapshot', { ...state, leases: board.leases, replicas: replicas() }))
  }

  show(problem: string): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.send('problem', { problem })
  }

  send(event: string, data: object): void {
    const text = this.#frame(event, data)
    for (const response of this.#open) {
      if (response.writableLength > MOST_UNREAD_BYTES) response.destroy()
      else response.write(text)
    }
  }

  close(): void {
    this.#forget()
    for (const response of this.#open) response.destroy()
  }

  /** Of a lease that changed, a page has the older bands. */
  #sendNews({ leases, renewals }: BoardNews): void {
    const changed = leases.map((lease) => ({ ...lease, bands: lease.bands.slice(-3) }))
    this.send('news', { leases: changed, renewals })
  }

  #frame(event: string, data: object): string {
    const now = this.#options.terminal.clock.wallTime()
    return `event: ${event}\ndata: ${JSON.stringify({ now, ...data })}\n\n`
  }
}
