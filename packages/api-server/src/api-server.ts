/**
 * The embedded API server: the part of the Kubernetes API that leader election and its users need, in this process, over HTTPS on
 * loopback. A contract suite compares its behaviour with the real server.
 *
 * What a real cluster does and this server does not:
 * - Controllers: there is no garbage collection, whatever propagation policy a deletion asks for. Nothing runs pods or deployments;
 *   only the deletion of a namespace removes the objects in it. The election controller runs where it is on, as in kube-apiserver.
 * - Admission: admission policies and the CEL rules of custom resources are stored but not evaluated.
 * - Priority and fairness: FlowSchemas and PriorityLevelConfigurations are stored, but no request is queued.
 * - Services: they get cluster addresses of IPv4 from 10.0.0.0/24, but no node ports and no load balancers, and there is no service
 *   `kubernetes`. Their traffic policies and session affinity are not validated.
 * - Defaults and validation of kinds that it only stores: pods, endpoints, deployments, disruption budgets, quotas,
 *   flow schemas, admission policies. Deployments have no `scale` subresource.
 * - RBAC: a user who may write roles may grant any permission. Roles are not aggregated.
 * - Encodings: answers are never protobuf, so a client that accepts only protobuf gets 406. Protobuf bodies are read for built-in
 *   kinds except CustomResourceDefinitions. YAML bodies are not read.
 * - OpenAPI documents have no descriptions. Events do not expire.
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
import {
  type CoordinationOptions,
  type CoordinationSettings,
  elects,
  resolveCoordination,
} from './coordination/coordination-settings.ts'
import { type ElectionController, startElections } from './coordination/election-controller.ts'
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
export interface ApiServerOptions extends CoordinationOptions {
  /** The TCP port. @default 0 (any free port) */
  readonly port?: number
  /**
   * The file that keeps the objects and the certificate authority, so that kubeconfigs stay valid across restarts. Only one server
   * may use a file.
   *
   * @default none: all state is lost when the server stops
   */
  readonly file?: string
  /**
   * Whether the first write into a missing namespace creates the namespace, as the admission plugin `NamespaceAutoProvision` does.
   * Without the plugin, a cluster answers 404.
   *
   * @default false
   */
  readonly autoProvisionNamespaces?: boolean
  /** Users with bearer tokens. Users with client certificates need not be listed. @default [] */
  readonly users?: readonly TokenUser[]
  /** Receives the log lines of the server. @default silentLogger */
  readonly logger?: Logger
  /** The clock for timestamps, timeouts, bookmarks and the delays of faults. @default systemClock */
  readonly clock?: Clock
  /** Generates the suffixes of names from `generateName`. @default systemRandom */
  readonly random?: Random
  /** The interval between the bookmarks of a watch. @default 60000 */
  readonly bookmarkIntervalMs?: number
  /** The minimum number of past changes from which watches and lists can start. @default 5000 */
  readonly historyLimit?: number
  /** The minimum number of requests that the log keeps. @default 10000 */
  readonly requestLogLimit?: number
}

/** A running embedded API server. */
export interface ApiServer extends AsyncDisposable {
  /** The URL of the server, such as `https://127.0.0.1:6443`. */
  readonly url: string
  /** The CA certificate (PEM) that clients must trust. */
  readonly caCert: string
  /** Makes requests and watches fail on demand. */
  readonly faults: Faults
  /** The log of requests. */
  readonly requests: RequestLog
  /** The stored objects. Watchers see direct writes to the store, but the server does not validate them. */
  readonly store: Store
  /** Returns a kubeconfig for a user, with its token from `users` or a new client certificate. @default an administrator */
  kubeConfig(user?: ApiUser): string
  /** Writes {@link kubeConfig} to a file that only its owner can read. */
  writeKubeConfig(path: string, user?: ApiUser): Promise<void>
  /** Closes every connection. Resolves when the server has stopped. */
  stop(): Promise<void>
}

const CA_NAME = 'tenure-embedded-ca'
const ADMIN: ApiUser = { name: 'kubernetes-admin', groups: [ADMIN_GROUP] }
const HOST = '127.0.0.1'
const BAD_REQUEST =
  'HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n400 Bad Request'
/** Longer than any client keeps an idle connection: the server must not close a connection that a client is about to reuse. */
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
  'featureGates',
  'runtimeConfig',
] as const satisfies (keyof ApiServerOptions)[]

/** Starts an embedded API server on loopback. @throws the error of the system if the port or the file cannot be used */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  assertKnownKeys('`startApiServer()`', options, OPTION_NAMES)
  const { logger = silentLogger } = options
  const coordination = resolveCoordination(options)
  const state = openState(options)
  const { pipeline, faults, requests, controller } = createParts(options, state.store, coordination)
  const server = createHttpsServer(state.authority, pipeline)
  const sockets = trackSockets(server)
  const port = await listen(server, options.port ?? 0).catch((error: unknown) => {
    controller?.stop()
    state.closeFile()
    throw error
  })
  const url = `https://${HOST}:${port}`
  logger.info({ url }, 'embedded API server is listening')
  const kubeConfig = (user: ApiUser = ADMIN): string =>
    kubeConfigFor(user, { url, ...state, users: options.users ?? [] })
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    controller?.stop()
    return (stopped ??= close(server, pipeline, sockets).finally(state.closeFile))
  }
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

interface ServerParts {
  readonly pipeline: RequestPipeline
  readonly faults: Faults
  readonly requests: RequestLog
  readonly controller: ElectionController | undefined
}

/** Assembles the parts between a connection and the store, and the election controller if it is on. */
function createParts(options: ApiServerOptions, store: Store, coordination: CoordinationSettings): ServerParts {
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = options
  const authenticator = new Authenticator()
  for (const user of options.users ?? []) authenticator.addToken(user)
  const catalog = new ResourceCatalog(coordination)
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
    // The controller waits for an API that is not served, and the server for the controller.
    isReady: !coordination.isOn || elects(coordination),
  }
  const controller = startElections(coordination, { store, objects, clock, random, catalog })
  return { pipeline: new RequestPipeline(parts), faults, requests, controller }
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

/** Tracks all connections, including those in their TLS handshake, which the server itself does not track. */
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

/** Loads the state from the file, or creates a new state. The history is not saved: watches cannot start from before a restart. */
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
  // A client may disconnect during a request or a handshake. That is not an error of the server.
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

/** Writes a file that only its owner can read. Restricts the permissions of an existing file. */
async function writeSecret(path: string, content: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(content)
  } finally {
    await file.close()
  }
}
