import { type Clock, type Logger } from '@tenure/core'
import { assertKnownKeys, silentLogger, systemClock, systemRandom, type Random } from '@tenure/core/internal'
import { ApiTransport } from '../../client/api-transport.ts'
import type { KubeConfigSource } from '../../client/current-settings.ts'
import type { ObjectReference } from '../../client/resource.ts'
import { defaultUserAgent } from '../../client/user-agent.ts'
import { NamespaceWatches, type ObjectSubscription } from '../../reflector/namespace-watches.ts'
import type { WatchSubscriptionOptions } from '../../reflector/watch-subscription.ts'

/** Options of a {@link LeaseClient}. */
export interface LeaseClientOptions {
  /** How to reach the API server: a kubeconfig, or a function that returns one at the first request. */
  readonly kubeConfig: KubeConfigSource
  /** The `User-Agent` header of every request. @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /** Times the reconnects of watches. @default the clock of this machine */
  readonly clock?: Clock
  /** Spreads the reconnects of watches. @default the random source of this process */
  readonly random?: Random
  /** Logs a watch that is disconnected or cannot be shared. @default a logger that drops every line */
  readonly logger?: Logger
}

/** The names of all {@link LeaseClientOptions}. */
export const LEASE_CLIENT_KEYS: readonly (keyof LeaseClientOptions)[] = [
  'kubeConfig',
  'userAgent',
  'clock',
  'random',
  'logger',
]

/**
 * The lease traffic of one process with one API server, for any number of locks: one pool of connections for their requests, and
 * one watch for the locks of a namespace.
 *
 * Shares its connections with nothing else, so that no other traffic of the process can delay a renewal. A lock alone in its
 * namespace watches its own object, which needs rights on that object only. Two or more share a watch of the namespace, which
 * needs the right to list and watch all objects of the resource there. Without that right, a log line says so, and each lock has
 * its own watch.
 *
 * @example
 * ```ts
 * const client = new LeaseClient({ kubeConfig: loadKubeConfig() })
 * const locks = ['north', 'south'].map((name) => new LeaseLock({ client, name, namespace: 'ops' }))
 * ```
 */
export class LeaseClient {
  /** Sends the requests of all locks. */
  readonly transport: ApiTransport
  readonly #options: Required<LeaseClientOptions>
  readonly #watches = new Map<string, NamespaceWatches>()

  /** Does no I/O. @throws OptionsError for an option that does not exist */
  constructor(options: LeaseClientOptions) {
    assertKnownKeys('the options of a LeaseClient', options, LEASE_CLIENT_KEYS)
    this.#options = {
      userAgent: defaultUserAgent(),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      ...options,
    }
    const { kubeConfig, userAgent, clock } = this.#options
    this.transport = new ApiTransport({ kubeConfig, userAgent, clock })
  }

  /** Follows an object until the subscription is closed. Reconnects automatically. */
  watch(reference: ObjectReference, subscription: Omit<WatchSubscriptionOptions, 'name'>): ObjectSubscription {
    const { name, ...collection } = reference
    const key = JSON.stringify(collection)
    const watches =
      this.#watches.get(key) ?? new NamespaceWatches({ ...this.#options, transport: this.transport, collection })
    this.#watches.set(key, watches)
    return watches.subscribe({ ...subscription, name })
  }

  /** Destroys all connections, ends all watches, and resolves when they are gone. No request may follow. */
  async close(): Promise<void> {
    const watches = [...this.#watches.values()]
    this.#watches.clear()
    await Promise.all([this.transport.close(), ...watches.map((watch) => watch.close())])
  }
}
