import type { Cluster, Context, KubeConfig, User } from '@kubernetes/client-node'
import { importClientNode } from '#client-node'
import type { KubeConfigLike } from './kube-config-like.ts'
import { createLoadedKubeConfig, type KubeConfigParts } from './loaded-kube-config.ts'

/**
 * A kubeconfig as it was found. Most elections need no more than its parts, so that client-node, most of the memory and of the time of a
 * start, is loaded only for {@link FoundKubeConfig.complete}. From then on the complete kubeconfig decides, because its user may set
 * another context or add an authenticator.
 */
export class FoundKubeConfig implements KubeConfigLike {
  readonly #read: () => KubeConfigParts | undefined
  #parts: KubeConfigParts
  #completed: KubeConfig | undefined

  /** @param read reads the parts; returns undefined if nothing has changed since the last call */
  constructor(parts: KubeConfigParts, read: () => KubeConfigParts | undefined) {
    this.#parts = parts
    this.#read = read
  }

  /** The complete kubeconfig, if something needed it. */
  get completed(): KubeConfig | undefined {
    return this.#completed
  }

  /** Returns the same kubeconfig as a `KubeConfig`. The first call loads client-node. */
  complete(): KubeConfig {
    this.#completed ??= createLoadedKubeConfig(this.#parts, () => this.#readChange())
    return this.#completed
  }

  /** As {@link FoundKubeConfig.complete}, also while something else imports client-node. */
  async completeLater(): Promise<KubeConfig> {
    await importClientNode()
    return this.complete()
  }

  /** Applies changes of the files. Keeps the current state if they cannot be read, as in the middle of a rewrite. */
  reload(): void {
    this.#parts = this.#readChange() ?? this.#parts
  }

  /** All users. Users that were added to the complete kubeconfig are missing. */
  get users(): User[] {
    return this.#parts.users
  }

  getCurrentContext(): string {
    return this.#completed?.getCurrentContext() ?? this.#parts.currentContext
  }

  getContextObject(name: string): Context | null {
    if (this.#completed !== undefined) return this.#completed.getContextObject(name)
    return named(this.#parts.contexts, name)
  }

  getCurrentCluster(): Cluster | null {
    if (this.#completed !== undefined) return this.#completed.getCurrentCluster()
    return named(this.#parts.clusters, this.#context?.cluster)
  }

  /** The user of the current context, as it was found. */
  getCurrentUser(): User | null {
    return named(this.#parts.users, this.#context?.user)
  }

  makeApiClient: KubeConfigLike['makeApiClient'] = (client) => (this.complete() as KubeConfigLike).makeApiClient(client)

  async applyToHTTPSOptions(options: object): Promise<void> {
    await this.complete().applyToHTTPSOptions(options)
  }

  async applySecurityAuthentication(request: never): Promise<void> {
    await this.complete().applySecurityAuthentication(request)
  }

  get #context(): Context | null {
    return this.getContextObject(this.getCurrentContext())
  }

  #readChange(): KubeConfigParts | undefined {
    try {
      return this.#read()
    } catch {
      return undefined
    }
  }
}

function named<T extends { readonly name: string }>(entries: readonly T[], name: string | undefined): T | null {
  return entries.find((entry) => entry.name === name) ?? null
}
