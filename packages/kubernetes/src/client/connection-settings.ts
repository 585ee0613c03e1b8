import { Agent, validateHeaderValue } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { Cluster, KubeConfig } from '@kubernetes/client-node'
import type { Clock } from '@tenure/core'
import { assertServer } from './kubeconfig/assert-server.ts'
import { FoundKubeConfig } from './kubeconfig/found-kube-config.ts'
import { KubeConfigError } from './kubeconfig/kube-config-error.ts'
import { RELOAD } from './kubeconfig/loaded-kube-config.ts'
import { plainOptions } from './plain-options.ts'
import { currentUser, reload, type CurrentUser, type IssuedCredential } from './credentials.ts'

/** Where and how to connect, as a kubeconfig says at one moment. Tokens and certificates may change. */
export interface ConnectionSettings {
  readonly server: URL
  readonly headers: Readonly<Record<string, string>>
  /** `user:password` of basic authentication. */
  readonly auth: string | undefined
  readonly tls: TlsMaterial
  readonly proxyUrl: string | undefined
  /** An agent that connects through the proxy, if there is one. Shared with nobody. */
  readonly proxyAgent: Agent | undefined
  /** The kubeconfig with the cluster and the user of that moment, and with its own agents. */
  readonly view: () => KubeConfig
  /** The output of a credential plugin, if one was used. */
  readonly issued: IssuedCredential | undefined
}

const TLS_KEYS = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'] as const

/** The TLS options that a kubeconfig can set. */
type TlsMaterial = Pick<RequestOptions, (typeof TLS_KEYS)[number]>

/**
 * Reads from a kubeconfig how to connect now, with its current credentials.
 *
 * @throws KubeConfigError if there is no current cluster, a plugin fails, or something is not supported. @throws Error if a file
 * cannot be read.
 */
export async function resolveConnectionSettings(
  given: KubeConfig | FoundKubeConfig,
  clock: Clock,
): Promise<ConnectionSettings> {
  const kubeConfig = given instanceof FoundKubeConfig ? (given.completed ?? given) : given
  reload(kubeConfig)
  const cluster = kubeConfig.getCurrentCluster()
  if (cluster === null) throw new KubeConfigError('The kubeconfig has no cluster for its current context')
  const server = assertServer(cluster)
  const usable = plainHttpAllowed(cluster, server)
  const current = await currentUser(kubeConfig, usable, clock)
  const { options, view } = await httpsOptions(kubeConfig, usable, current)
  return {
    server,
    headers: stringHeaders(options.headers),
    auth: options.auth ?? undefined,
    tls: Object.fromEntries(TLS_KEYS.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]]))),
    proxyUrl: cluster.proxyUrl,
    proxyAgent: cluster.proxyUrl !== undefined && options.agent instanceof Agent ? options.agent : undefined,
    view,
    issued: current.issued,
  }
}

type Resolved = Pick<ConnectionSettings, 'view'> & { readonly options: RequestOptions }

async function httpsOptions(
  kubeConfig: KubeConfig | FoundKubeConfig,
  cluster: Cluster,
  current: CurrentUser,
): Promise<Resolved> {
  if (!(kubeConfig instanceof FoundKubeConfig)) return optionsOfClientNode(kubeConfig, cluster, current)
  const options = plainOptions(cluster, current.user)
  if (options === undefined) return optionsOfClientNode(await kubeConfig.completeLater(), cluster, current)
  return { options, view: () => viewOf(kubeConfig.complete(), cluster, current) }
}

async function optionsOfClientNode(kubeConfig: KubeConfig, cluster: Cluster, current: CurrentUser): Promise<Resolved> {
  const view = viewOf(kubeConfig, cluster, current)
  const options: RequestOptions = {}
  await (needsNoAgent(cluster) ? withoutAgent(view) : view).applyToHTTPSOptions(options)
  return { options, view: () => view }
}

/** Whether both settings can share connections. Headers are sent with each request and do not count. */
export function sameConnection(a: ConnectionSettings, b: ConnectionSettings): boolean {
  return (
    a.server.origin === b.server.origin &&
    a.proxyUrl === b.proxyUrl &&
    TLS_KEYS.every((key) => sameMaterial(a.tls[key], b.tls[key]))
  )
}

function sameMaterial(a: unknown, b: unknown): boolean {
  return a === b || (Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b))
}

/**
 * The same kubeconfig with another cluster and user, and with its own cache of agents. client-node shares one agent among all users of a
 * kubeconfig, but an election must not share its connections.
 */
function viewOf(kubeConfig: KubeConfig, cluster: Cluster, { user }: CurrentUser): KubeConfig {
  const view: KubeConfig = Object.create(kubeConfig, {
    agentCache: { value: new Map() },
    getCurrentCluster: { value: () => cluster },
    getCurrentUser: { value: () => user },
    // The view was made of the reloaded kubeconfig.
    [RELOAD]: { value: () => {} },
  })
  return view
}

/** Creating an agent costs as much as the rest of a request, and only the agent for a proxy is used. */
function withoutAgent(view: KubeConfig): KubeConfig {
  const bare: KubeConfig = Object.create(view, { createAgent: { value: () => undefined } })
  return bare
}

/** client-node refuses plain HTTP when it creates the agent. */
function needsNoAgent({ proxyUrl, server }: Cluster): boolean {
  return !proxyUrl && server.startsWith('https:')
}

/** client-node refuses plain HTTP unless TLS verification is off. Nobody can intercept the loopback interface. */
function plainHttpAllowed(cluster: Cluster, server: URL): Cluster {
  return server.protocol === 'http:' && isLoopback(server.hostname) ? { ...cluster, skipTLSVerify: true } : cluster
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.[\d.]+$/.test(hostname)
}

function stringHeaders(headers: RequestOptions['headers']): Record<string, string> {
  const entries = Array.isArray(headers) ? [] : Object.entries(headers ?? {})
  const texts = entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value).trim()] as const]))
  for (const [name, value] of texts) assertHeader(name, value)
  return Object.fromEntries(texts)
}

/** Checked here because Node would quote the value in its error. */
function assertHeader(name: string, value: string): void {
  try {
    validateHeaderValue(name, value)
  } catch {
    throw new KubeConfigError(`The credentials of the kubeconfig hold characters that the header ${name} cannot`)
  }
}
