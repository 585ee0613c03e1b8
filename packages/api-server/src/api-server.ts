/**
 * The embedded API server: the part of the Kubernetes API that leader election and its users touch, in this process, over
 * HTTPS on loopback. A contract suite holds it to the behaviour of the real server.
 *
 * What a real cluster does and this server does not:
 * - Controllers: owner references are stored and nothing is collected, whatever a deletion says about dependents; nothing runs
 *   pods or deployments; nobody coordinates lease candidates. Only namespaces are emptied when they are deleted.
 * - Admission: policies are stored and not evaluated, and so are the CEL rules of custom resources.
 * - Priority and fairness: FlowSchemas and PriorityLevelConfigurations are stored, and no request is queued.
 * - Defaults and validation of kinds that it only stores: pods, services, endpoints, deployments, disruption budgets, quotas,
 *   flow schemas, admission policies. Deployments have no subresource `scale`.
 * - RBAC: a user that may write roles may grant anything; roles are not aggregated.
 * - Answers in protobuf: a client that takes nothing else gets 406. Bodies in protobuf are read for built-in kinds but
 *   CustomResourceDefinitions, and bodies in YAML are not read.
 * - Descriptions in OpenAPI documents, which are made of the kinds that are served. The expiry of events.
 */
import { type Clock, type Logger } from '@tenure/core'
import { assertKnownKeys, silentLogger, systemClock, systemRandom, type Random } from '@tenure/core/internal'
import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import { Authenticator, ADMIN_GROUP, type ApiUser, type TokenUser } from './access/authentication.ts'
import { Authorizer } from './access/authorization.ts'
import { CertificateAuthority } from './certificate-authority.ts'
import { Faults } from './http/faults.ts'
import { formatKubeConfig } from './kube-config.ts'
import { serveCustomResources } from './resources/custom-resources.ts'
import { ObjectApi } from './objects/object-api.ts'
import { createPresetObjects } from './resources/preset-objects.ts'
import { RequestLog } from './http/request-log.ts'
import { RequestPipeline } from './http/request-pipeline.ts'
import { ResourceCatalog } from './resources/resource-catalog.ts'
import { ResourceHandler } from './http/resource-handler.ts'
import { openStateFile, readStateFile } from './storage/state-file.ts'
import { Store } from './storage/store.ts'

/** Options of {@link startApiServer}. */
export interface ApiServerOptions {
  /** The port to listen on. @default 0, a free one */
  readonly port?: number
  /**
   * Keeps the objects, and the certificate authority that makes the kubeconfigs good, over restarts. One server per file.
   *
   * @default none: everything is forgotten at the end
   */
  readonly file?: string
  /**
   * Creates a namespace with the first object that is written into it, as the admission plugin `NamespaceAutoProvision` does. Other
   * clusters answer 404 there.
   *
   * @default false
   */
  readonly autoProvisionNamespaces?: boolean
  /** Users who show a bearer token. Users with client certificates need not be listed. @default [] */
  readonly users?: readonly TokenUser[]
  /** Receives the log lines of the server. @default silentLogger */
  readonly logger?: Logger
  /** Decides about timestamps, timeouts, bookmarks and the delays of faults. @default systemClock */
  readonly clock?: Clock
  /** Makes the names of `generateName`. @default systemRandom */
  readonly random?: Random
  /** How often a watch with bookmarks gets one. @default 60000 */
  readonly bookmarkIntervalMs?: number
  /** How many past changes watches and lists can start from, at least. @default 5000 */
  readonly historyLimit?: number
  /** How many requests the log keeps, at least. @default 10000 */
  readonly requestLogLimit?: number
}

/** A running embedded API server. */
export interface ApiServer extends AsyncDisposable {
  /** Where it listens, for example `https://127.0.0.1:6443`. */
  readonly url: string
  /** The certificate that clients have to trust. PEM. */
  readonly caCert: string
  /** Makes requests and watches fail on demand. */
  readonly faults: Faults
  /** What was asked so far. */
  readonly requests: RequestLog
  /** What is stored. Writes that bypass the API are seen by watchers, but not checked. */
  readonly store: Store
  /** A kubeconfig for a user: the one token that was given for the name, or a new client certificate. @default an administrator */
  kubeConfig(user?: ApiUser): string
  /** Writes {@link kubeConfig} into a file that only its owner can read. */
  writeKubeConfig(path: string, user?: ApiUser): Promise<void>
  /** Closes every connection; resolves when nothing is left. */
  stop(): Promise<void>
}

const CA_NAME = 'tenure-embedded-ca'
const ADMIN: ApiUser = { name: 'kubernetes-admin', groups: [ADMIN_GROUP] }
const HOST = '127.0.0.1'
const BAD_REQUEST =
  'HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n400 Bad Request'
/** Longer than any client keeps an idle connection, so that no request meets a connection that is being closed. */
const KEEP_ALIVE_MS = 10 * 60 * 1000

const OPTION_NAMES = [
  'port',
  'file',
  'autoProvisionNamespaces',
  'users',
  'logger',
  'clock',
  'random',
  'bookmarkIntervalMs',
  'historyLimit',
  'requestLogLimit',
] as const satisfies (keyof ApiServerOptions)[]

/** Starts an embedded API server on loopback. @throws the error of the socket when the port cannot be had */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  assertKnownKeys('`startApiServer()`', options, OPTION_NAMES)
  const { logger = silentLogger } = options
  const state = openState(options)
  const { pipeline, faults, requests } = createPipeline(options, state.store)
  const server = createHttpsServer(state.authority, pipeline)
  const sockets = trackSockets(server)
  const port = await listen(server, options.port ?? 0).catch((error: unknown) => {
    state.closeFile()
    throw error
  })
  const url = `https://${HOST}:${port}`
  logger.info({ url }, 'embedded API server is listening')
  const kubeConfig = (user: ApiUser = ADMIN): string =>
    kubeConfigFor(user, { url, ...state, users: options.users ?? [] })
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= close(server, pipeline, sockets).finally(state.closeFile))
  return {
    url,
    caCert: state.authority.root.cert,
    faults,
    requests,
    store: state.store,
    kubeConfig,
    writeKubeConfig: (path, user) => writeSecret(path, kubeConfig(user)),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Puts the parts together that are between a connection and the store. */
function createPipeline(
  options: ApiServerOptions,
  store: Store,
): { readonly pipeline: RequestPipeline; readonly faults: Faults; readonly requests: RequestLog } {
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = options
  const authenticator = new Authenticator()
  for (const user of options.users ?? []) authenticator.addToken(user)
  const catalog = new ResourceCatalog()
  serveCustomResources(store, catalog)
  const { autoProvisionNamespaces = false } = options
  const objects = new ObjectApi({ store, clock, random, createUid: randomUUID, autoProvisionNamespaces })
  const authorizer = new Authorizer(store)
  const handler = new ResourceHandler({ store, catalog, objects, authorizer })
  const faults = new Faults()
  const requests = new RequestLog(options.requestLogLimit ?? 10_000)
  const bookmarkIntervalMs = options.bookmarkIntervalMs ?? 60_000
  const parts = {
    store,
    clock,
    logger,
    catalog,
    authenticator,
    authorizer,
    handler,
    faults,
    requests,
    bookmarkIntervalMs,
  }
  return { pipeline: new RequestPipeline(parts), faults, requests }
}

function kubeConfigFor(
  user: ApiUser,
  server: { readonly url: string; readonly authority: CertificateAuthority; readonly users: readonly TokenUser[] },
): string {
  const { url, authority } = server
  const token = server.users.find((each) => each.name === user.name)?.token
  const subject = { commonName: user.name, organizations: user.groups ?? [] }
  const credential = token === undefined ? authority.issueClientCertificate(subject) : { token }
  return formatKubeConfig({ url, caCert: authority.root.cert, user: user.name, credential })
}

/** All connections, also those whose handshake is under way, which the server itself does not count. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

function close(server: Server, pipeline: RequestPipeline, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)))
    pipeline.close()
    server.closeAllConnections()
    for (const socket of sockets) socket.destroy()
  })
}

interface ServerState {
  readonly store: Store
  readonly authority: CertificateAuthority
  readonly closeFile: () => void
}

/** The state of the file, if there is one, or a new one. Watches cannot start from before: their history is not kept. */
function openState(options: ApiServerOptions): ServerState {
  const store = new Store(options.historyLimit === undefined ? {} : { historyLimit: options.historyLimit })
  const saved = options.file === undefined ? undefined : readStateFile(options.file)
  if (saved !== undefined) store.restore(saved.objects.values(), saved.version)
  createPresetObjects(store, options.clock ?? systemClock, randomUUID)
  store.compact()
  const authority =
    saved === undefined ? CertificateAuthority.create(CA_NAME) : CertificateAuthority.from(saved.authority, CA_NAME)
  const closeFile = options.file === undefined ? () => {} : openStateFile(options.file, store, authority.root)
  return { store, authority, closeFile }
}

function createHttpsServer(authority: CertificateAuthority, pipeline: RequestPipeline): Server {
  const server = createServer(
    {
      ...authority.issueServerCertificate(['localhost', HOST]),
      ca: authority.root.cert,
      requestCert: true,
      rejectUnauthorized: false,
      noDelay: true,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: 0,
    },
    (request, response) => pipeline.accept(request, response),
  )
  // A client that gives up in the middle of a request or a handshake is no concern of the server.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end(BAD_REQUEST)
    else socket.destroy()
  })
  return server
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

/** Writes a file that its owner alone may read, also where there is one already that others may. */
async function writeSecret(path: string, content: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(content)
  } finally {
    await file.close()
  }
}
