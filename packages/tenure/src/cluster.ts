import { pid } from 'node:process'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Extension, LeaseOptions, Lock, Logger } from '@tenure/core'
import { resolveTimingOptions, systemClock, systemRandom } from '@tenure/core/internal'
import { KubeConfigError, type KubeConfigLike, LeaseLock, type LeaseLockOptions } from '@tenure/kubernetes'
import {
  CoordinatedLock,
  findKubeConfig,
  followKubeConfig,
  FoundKubeConfig,
  inClusterNamespace,
  LeaseClient,
  PodDeathProof,
  PodDeparture,
  supportedKubeConfig,
} from '@tenure/kubernetes/internal'
import { type JoinedDev, joinDev } from './join-dev.ts'

/** Whether the election controller of an API server may decide about a lease: it knows one strategy. */
export function mayBeCoordinated({ strategy, coordination }: Partial<LeaseOptions>): boolean {
  return strategy === 'OldestEmulationVersion' && coordination !== 'peers'
}

/** Whether `KUBECONFIG` names an embedded API server, as for the replicas that `tenure dev` starts. */
function isEmbedded(env: NodeJS.ProcessEnv): boolean {
  try {
    return Boolean(env['KUBECONFIG']) && findKubeConfig({ env }).getCurrentContext() === EMBEDDED_CONTEXT
  } catch {
    return false
  }
}

/** The context in the kubeconfigs of the embedded API server. */
const EMBEDDED_CONTEXT = 'embedded'

/** How to find a {@link Cluster}. */
export interface ClusterOptions {
  /** Takes precedence over any kubeconfig file. */
  readonly kubeConfig: KubeConfigLike | undefined
  readonly kubeConfigPath: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** The identity of the replica, which also names its LeaseCandidate. */
  readonly identity: string
  readonly logger: Logger
  /** The operations port when this starts; undefined if there is none. */
  readonly opsPort: () => number | undefined
}

/**
 * The cluster that stores the leases. The kubeconfig is read at the start.
 *
 * Owns the connections for lease requests. All leases share them, and nothing else uses them.
 */
export class Cluster implements Extension {
  readonly name = 'cluster'
  readonly #options: ClusterOptions
  #kubeConfig: KubeConfig | FoundKubeConfig | undefined
  #client: LeaseClient | undefined
  #deathProof: PodDeathProof | undefined
  #departure: PodDeparture | undefined
  #dev: JoinedDev | undefined

  constructor(options: ClusterOptions) {
    this.#options = options
    this.#kubeConfig = options.kubeConfig && supportedKubeConfig(options.kubeConfig)
  }

  /** @throws KubeConfigError (as a rejection) when there is no usable kubeconfig. */
  async start(): Promise<void> {
    this.#kubeConfig ??= await this.#findKubeConfig()
    const { logger } = this.#options
    logger.info({ event: 'cluster', server: this.server }, 'cluster found')
  }

  async stop(): Promise<void> {
    await Promise.all([this.#deathProof?.close(), this.#departure?.close()])
    await this.#client?.close()
    await this.#dev?.leave()
  }

  async #findKubeConfig(): Promise<FoundKubeConfig> {
    const { env, kubeConfigPath, identity, opsPort, logger } = this.#options
    if (kubeConfigPath !== undefined) return findKubeConfig({ env, kubeConfigPath })
    if (env['TENURE_DEV'] !== '1' || isEmbedded(env)) return findKubeConfig({ env })
    const port = opsPort()
    const dev = await joinDev(env, { identity, pid, ...(port !== undefined && { opsPort: port }) }, logger)
    this.#dev = dev
    return followKubeConfig(() => dev.kubeConfigPath, env)
  }

  /** The kubeconfig for clients of client-node, which this loads if the kubeconfig was found. @throws KubeConfigError before the start. */
  get kubeConfig(): KubeConfig {
    const { access } = this
    return access instanceof FoundKubeConfig ? access.complete() : access
  }

  /** How the traffic of the leases reaches the API server. @throws KubeConfigError before the start. */
  get access(): KubeConfig | FoundKubeConfig {
    if (this.#kubeConfig === undefined) throw new KubeConfigError('The kubeconfig is read when the manager starts')
    return this.#kubeConfig
  }

  /** The address of the server for logs, without credentials and query; undefined before the start. */
  get server(): string | undefined {
    const server = this.#kubeConfig?.getCurrentCluster()?.server
    if (server === undefined || !URL.canParse(server)) return undefined
    const { origin, pathname } = new URL(server)
    return pathname === '/' ? origin : `${origin}${pathname}`
  }

  /** The namespace of a lease: its option, or that of the Pod, or of the kubeconfig's context, or `default`. */
  namespaceOf(lease: LeaseOptions): string {
    if (lease.namespace !== undefined) return lease.namespace
    const context = this.access.getContextObject(this.access.getCurrentContext())
    return inClusterNamespace() ?? context?.namespace ?? 'default'
  }

  /** Makes the lock of a lease. @throws OptionsError for a name or namespace that Kubernetes does not accept. */
  lock(lease: LeaseOptions): Lock {
    const options = {
      client: this.#leaseClient,
      deathProof: lease.proveDeath === true ? this.#proofOfDeath() : undefined,
      departure: this.#ownDeparture(),
      name: lease.name,
      namespace: this.namespaceOf(lease),
      labels: lease.labels ?? {},
      silenceMs: 2 * (lease.retryPeriodMs ?? 2000),
    }
    return mayBeCoordinated(lease) ? this.#coordinatedLock(lease, options) : new LeaseLock(options)
  }

  #coordinatedLock(lease: LeaseOptions, options: LeaseLockOptions): CoordinatedLock {
    const { coordination, binaryVersion = '', emulationVersion = binaryVersion } = lease
    const { identity, logger } = this.#options
    const { name, uid } = this.#pod
    return new CoordinatedLock({
      ...options,
      identity,
      facts: { binaryVersion, emulationVersion },
      leaseDurationMs: resolveTimingOptions(lease).leaseDurationMs,
      coordination: coordination === 'server' ? 'server' : 'auto',
      pod: name && uid ? { name, uid } : undefined,
      clock: systemClock,
      random: systemRandom,
      logger,
    })
  }

  /** @throws KubeConfigError before the start. */
  get #leaseClient(): LeaseClient {
    this.#client ??= new LeaseClient({ kubeConfig: this.access, logger: this.#options.logger })
    return this.#client
  }

  /** The Pod of this process, as far as its environment says. */
  get #pod(): {
    readonly name: string | undefined
    readonly namespace: string | undefined
    readonly uid: string | undefined
  } {
    const { env } = this.#options
    const [name, namespace, uid] = [env['POD_NAME'], env['POD_NAMESPACE'], env['POD_UID']]
    return { name: name || undefined, namespace: namespace || inClusterNamespace(), uid: uid || undefined }
  }

  /** One for all leases of the process; undefined where the Pod is not known. The first call starts to follow the Pod. */
  #ownDeparture(): PodDeparture | undefined {
    const { name, namespace, uid } = this.#pod
    if (this.#departure !== undefined || name === undefined || namespace === undefined) return this.#departure
    const { logger } = this.#options
    this.#departure = new PodDeparture({ client: this.#leaseClient, pod: { name, namespace, uid }, logger })
    this.#departure.start()
    return this.#departure
  }

  /** One for all leases of the process. The first call starts to identify the container of this process. */
  #proofOfDeath(): PodDeathProof {
    if (this.#deathProof === undefined) {
      const { env, logger } = this.#options
      const { name, namespace } = this.#pod
      const pod = name && namespace ? { name, namespace } : undefined
      this.#deathProof = new PodDeathProof({
        client: this.#leaseClient,
        pod,
        container: env['CONTAINER_NAME'] || undefined,
        logger,
      })
      this.#deathProof.start()
    }
    return this.#deathProof
  }
}
