/**
 * A real control plane for tests: one etcd and one kube-apiserver on loopback ports.
 *
 * It owns two processes and a temporary folder, and both are gone after `stop()`, or soon after this process has died.
 * Without a controller manager nothing collects garbage, makes service accounts, or empties a deleted namespace.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateAuthority } from '../../packages/api-server/src/certificate-authority.ts'
import { type Access, AccessBook, admin, prober, type User } from './access.ts'
import { ApiClient, type ApiRequest, type ApiResponse, type KubernetesObject } from './api-client.ts'
import { startApiServer } from './api-server.ts'
import { type AuditEntry, type AuditLevel, readAuditLog } from './audit-log.ts'
import { writeControlPlaneFiles } from './control-plane-files.ts'
import { type ControllerManagerOptions, startControllerManager } from './controller-manager.ts'
import { etcdData, startEtcd } from './etcd.ts'
import { type KubernetesVersion, wantedVersions } from './kubernetes-version.ts'
import { OrphanGuard } from './orphan-guard.ts'
import type { ServerProcess } from './server-process.ts'
import type { StartedServer } from './start-server.ts'

/** The options of the control plane. */
export interface ControlPlaneOptions {
  /** The version of its servers. @default the first in `TENURE_KUBERNETES`, otherwise 1.36.3 */
  readonly kubernetes?: KubernetesVersion
  /** Feature gates of kube-apiserver. @default none */
  readonly featureGates?: Readonly<Record<string, boolean>>
  /** API versions to serve or not to serve, such as `{ 'coordination.k8s.io/v1beta1': true }`. @default none */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>
  /** Further arguments of kube-apiserver. @default none */
  readonly apiServerArguments?: readonly string[]
  /** Whether etcd writes to disk before it answers, for benchmarks. @default false */
  readonly durable?: boolean
  /** Whether Leases have an etcd of their own, with its own versions (`--etcd-servers-overrides`). @default false */
  readonly leasesApart?: boolean
  /** How much the audit log keeps of each request. @default 'Metadata' */
  readonly auditLevel?: AuditLevel
}

type ResolvedOptions = Required<ControlPlaneOptions>

/** The flags with which an API server may start again. */
type ApiServerFlags = Pick<ControlPlaneOptions, 'featureGates' | 'runtimeConfig'>

/** A further API server. */
export interface FurtherApiServer {
  /** The loopback address that it binds: 127.0.0.1, .2 or .3. @default '127.0.0.1' */
  readonly host?: string
  /** @default any free port */
  readonly port?: number
  /** Further arguments. They take the place of those with the same name. @default none */
  readonly apiServerArguments?: readonly string[]
}

/** A further API server that runs. */
export interface AddedApiServer {
  readonly url: string
  readonly process: ServerProcess
}

/** What the control plane is made of. */
interface Parts {
  readonly options: ResolvedOptions
  readonly folder: string
  readonly guard: OrphanGuard
  readonly access: AccessBook
  readonly etcd: StartedServer
  /** The etcd of the Leases, where they have one of their own. */
  readonly leaseEtcd: StartedServer | undefined
}

/**
 * Starts a control plane, which takes a few seconds; building its programs comes first if that was never done.
 *
 * @throws Error with what the failing program printed.
 *
 * @example await using controlPlane = await startControlPlane()
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const resolved = resolveOptions(options)
  const folder = await mkdtemp(join(tmpdir(), 'tenure-control-plane-'))
  const guard = OrphanGuard.start(folder)
  let etcd: StartedServer | undefined
  let leaseEtcd: StartedServer | undefined
  try {
    const authority = CertificateAuthority.create('control-plane')
    await writeControlPlaneFiles({ folder, authority, auditLevel: resolved.auditLevel })
    etcd = await startEtcd({ folder, guard, version: resolved.kubernetes, durable: resolved.durable })
    if (resolved.leasesApart) {
      const { kubernetes: version, durable } = resolved
      leaseEtcd = await startEtcd({ folder: join(folder, 'leases'), guard, version, durable })
    }
    const parts = { options: resolved, folder, guard, etcd, leaseEtcd, access: new AccessBook(authority) }
    return await ControlPlane.start(parts)
  } catch (error) {
    await Promise.all([etcd?.process.stop(), leaseEtcd?.process.stop()])
    await cleanUp(folder, guard)
    throw error
  }
}

async function cleanUp(folder: string, guard: OrphanGuard): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  guard.close()
}

function resolveOptions(options: ControlPlaneOptions): ResolvedOptions {
  return {
    kubernetes: options.kubernetes ?? wantedVersions()[0],
    featureGates: options.featureGates ?? {},
    runtimeConfig: options.runtimeConfig ?? {},
    apiServerArguments: options.apiServerArguments ?? [],
    durable: options.durable ?? false,
    leasesApart: options.leasesApart ?? false,
    auditLevel: options.auditLevel ?? 'Metadata',
  }
}

/** A running control plane. */
export class ControlPlane implements AsyncDisposable {
  readonly #parts: Parts
  #apiServer: StartedServer
  #etcd: StartedServer
  readonly #further: StartedServer[] = []
  readonly #managers: ServerProcess[] = []
  readonly #client: ApiClient

  private constructor(parts: Parts, apiServer: StartedServer) {
    this.#parts = parts
    this.#apiServer = apiServer
    this.#etcd = parts.etcd
    this.#client = new ApiClient(this.access(admin))
  }

  /** Starts the API server in front of etcd. Use {@link startControlPlane}. */
  static async start(parts: Parts): Promise<ControlPlane> {
    return new ControlPlane(parts, await startApiServerOf(parts))
  }

  /** The URL of the API server. It stays the same after a restart. */
  get url(): string {
    return urlOf(this.#port)
  }

  get #port(): number {
    return this.#apiServer.ports[0] ?? 0
  }

  /** The process of etcd. */
  get etcd(): ServerProcess {
    return this.#etcd.process
  }

  /** The process of kube-apiserver. A restart replaces it. */
  get apiServer(): ServerProcess {
    return this.#apiServer.process
  }

  /** The URL, the certificates and the key with which `user` reaches the API server. */
  access(user: User): Access {
    return this.#parts.access.accessFor(user, this.url)
  }

  /** A kubeconfig for an administrator. */
  adminKubeConfig(): string {
    return this.kubeConfig(admin)
  }

  /**
   * A kubeconfig for `user`, who may do what the roles bound to the name or a group allow: at first, nothing.
   *
   * @param url where the user reaches the API server, when there is a proxy on another loopback port in front of it.
   */
  kubeConfig(user: User, url: string = this.url): string {
    return this.#parts.access.kubeConfigFor(user, url)
  }

  /**
   * A kubeconfig for a service account, with a token that is good for an hour, as Pods have. The API server remembers for a while
   * whom a token belongs to; it verifies a client certificate with every request, a tenth of what a small write costs it.
   */
  async serviceAccountKubeConfig(name: string, namespace: string): Promise<string> {
    await this.apply([{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }])
    const answer = await this.#client.expect(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
      method: 'POST',
      body: { spec: { expirationSeconds: 3600 } },
    })
    const { status }: { readonly status: { readonly token: string } } = JSON.parse(answer)
    return this.#parts.access.kubeConfigWithToken(status.token, this.url)
  }

  /** Writes the kubeconfig of `user`, or of the admin, to a file that only its owner can read. */
  async writeKubeConfig(path: string, user: User = admin): Promise<void> {
    await writeFile(path, this.kubeConfig(user), { mode: 0o600 })
  }

  /** Sends a request as the admin. Every HTTP status is an answer. */
  async request(path: string, options?: ApiRequest): Promise<ApiResponse> {
    return await this.#client.request(path, options)
  }

  /**
   * Creates the objects as the admin, or brings them to what is given, one after another.
   *
   * @throws Error with the answer when the API server refuses one.
   */
  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    await this.#client.apply(objects)
  }

  /**
   * The requests of all users so far, without those that only serve to run the API server. An entry follows its answer by a moment.
   */
  async audit(): Promise<AuditEntry[]> {
    return await readAuditLog(join(this.#parts.folder, 'audit.log'))
  }

  /** Pauses etcd. The API server still accepts requests but cannot answer them. */
  pauseEtcd(): void {
    this.etcd.pause()
  }

  /** Ends `pauseEtcd()`. */
  resumeEtcd(): void {
    this.etcd.resume()
  }

  /** Ends etcd by SIGKILL, and fulfils when it is gone. The API server then cannot answer. */
  async stopEtcd(): Promise<void> {
    await this.etcd.kill()
  }

  /** Starts etcd again on the same ports, with the same data. */
  async startEtcd(): Promise<void> {
    const { folder, guard, options } = this.#parts
    const { kubernetes: version, durable } = options
    this.#etcd = await startEtcd({ folder, guard, version, durable, ports: this.#etcd.ports })
  }

  /** Copies the data of etcd as it is at this moment, and fulfils with the folder of the copy. */
  async backUpEtcd(): Promise<string> {
    const { folder } = this.#parts
    const copy = await mkdtemp(join(folder, 'backup-'))
    this.etcd.pause()
    try {
      await cp(etcdData(folder), copy, { recursive: true })
    } finally {
      this.etcd.resume()
    }
    return copy
  }

  /**
   * Restores etcd from a copy, as operators do: ends the API server and etcd, replaces the data, and starts both with the same
   * addresses. Versions go back to those of the copy.
   */
  async restoreEtcd(copy: string): Promise<void> {
    const { folder } = this.#parts
    await this.stopApiServer({ kill: true })
    await this.stopEtcd()
    await rm(etcdData(folder), { recursive: true, maxRetries: 5 })
    await cp(copy, etcdData(folder), { recursive: true })
    await this.startEtcd()
    await this.startApiServer()
  }

  /**
   * Ends the API server, in order or by SIGKILL, and fulfils when it is gone. In order, it refuses connections at once
   * and waits for open watches, but is killed after 5 seconds.
   */
  async stopApiServer({ kill = false }: { readonly kill?: boolean } = {}): Promise<void> {
    await (kill ? this.apiServer.kill() : this.apiServer.stop())
  }

  /** Starts the API server again on the same port, with the same data, and with other flags if they are given. */
  async startApiServer(flags: ApiServerFlags = {}): Promise<void> {
    const parts = { ...this.#parts, options: { ...this.#parts.options, ...flags } }
    this.#apiServer = await startApiServerOf(parts, { port: this.#port })
  }

  /** Ends the API server and starts it again, with other flags if they are given. */
  async restartApiServer({ kill = false, ...flags }: { readonly kill?: boolean } & ApiServerFlags = {}): Promise<void> {
    await this.stopApiServer({ kill })
    await this.startApiServer(flags)
  }

  /** Starts a further API server over the same etcd, which keeps its own caches; it ends with the control plane. */
  async addApiServer(options: FurtherApiServer = {}): Promise<AddedApiServer> {
    const { host = '127.0.0.1', port, apiServerArguments = [] } = options
    const number = this.#further.length + 2
    const furtherArguments = [
      `--audit-log-path=${join(this.#parts.folder, `audit-${number}.log`)}`,
      `--bind-address=${host}`,
      ...apiServerArguments,
    ]
    const server = await startApiServerOf(this.#parts, { host, port, furtherArguments })
    this.#further.push(server)
    return { url: urlOf(server.ports[0] ?? 0, host), process: server.process }
  }

  /** Starts a kube-controller-manager, which stands for election; it ends with the control plane. */
  async startControllerManager(options: ControllerManagerOptions = {}): Promise<ServerProcess> {
    const {
      folder,
      guard,
      options: { kubernetes: version },
    } = this.#parts
    const kubeConfig = join(folder, `controller-manager-${this.#managers.length + 1}`)
    await this.writeKubeConfig(kubeConfig)
    const started = await startControllerManager({ ...options, guard, version, kubeConfig })
    this.#managers.push(started)
    return started
  }

  /** Ends all processes and removes the folder with all data. May be called twice. */
  async stop(): Promise<void> {
    this.#client.close()
    // No data is kept, so the processes need no orderly stop.
    const servers = [...this.#further, this.#apiServer, this.#etcd, this.#parts.leaseEtcd].map(
      (server) => server?.process,
    )
    await Promise.all([...this.#managers, ...servers].map(async (server) => await server?.kill()))
    await cleanUp(this.#parts.folder, this.#parts.guard)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

async function startApiServerOf(
  parts: Parts,
  start: {
    readonly host?: string
    readonly port?: number | undefined
    readonly furtherArguments?: readonly string[]
  } = {},
): Promise<StartedServer> {
  const { host, port, furtherArguments = [] } = start
  const { options, folder, guard, access, etcd } = parts
  return await startApiServer({
    folder,
    guard,
    port,
    version: options.kubernetes,
    etcdPort: etcd.ports[0] ?? 0,
    featureGates: options.featureGates,
    runtimeConfig: options.runtimeConfig,
    extraArguments: [...options.apiServerArguments, ...leaseArguments(parts), ...furtherArguments],
    isReady: async (candidate) => await isReady(access.accessFor(prober, urlOf(candidate, host))),
  })
}

function leaseArguments({ leaseEtcd }: Parts): readonly string[] {
  if (leaseEtcd === undefined) return []
  return [`--etcd-servers-overrides=coordination.k8s.io/leases#http://127.0.0.1:${leaseEtcd.ports[0]}`]
}

/** Waits for the first namespaces, which the API server creates after it reports that it is ready. */
async function isReady(access: Access): Promise<boolean> {
  const client = new ApiClient(access)
  try {
    const answers = await Promise.all([client.request('/readyz'), client.request('/api/v1/namespaces/default')])
    return answers.every(({ status }) => status === 200)
  } finally {
    client.close()
  }
}

function urlOf(port: number, host = '127.0.0.1'): string {
  return `https://${host}:${port}`
}
