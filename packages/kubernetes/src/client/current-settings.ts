import type { KubeConfig } from '@kubernetes/client-node'
import type { Clock } from '@tenure/core'
import { FoundKubeConfig } from './kubeconfig/found-kube-config.ts'
import { type KubeConfigLike, supportedKubeConfig } from './kubeconfig/kube-config-like.ts'
import { type ConnectionSettings, resolveConnectionSettings } from './connection-settings.ts'
import { withdraw } from './credentials.ts'

/** A kubeconfig, or a function that loads one at the first request. */
export type KubeConfigSource = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)

/** How long settings are reused. Resolving them reads files, decodes keys and looks up tokens: a good part of the cost of a request. */
const FRESH_MS = 5000

interface Asked {
  readonly since: number
  readonly context: string | undefined
  readonly settings: Promise<ConnectionSettings>
}

/**
 * How to connect, as a kubeconfig said at most 5 s ago.
 *
 * A changed token or certificate is used that much later. If the server refuses the credentials, call {@link CurrentSettings.renew}. If
 * an address is unreachable, call {@link CurrentSettings.forget}. Then the next request gets the current settings.
 */
export class CurrentSettings {
  readonly #source: KubeConfigSource
  readonly #clock: Clock
  #kubeConfig: Promise<KubeConfig | FoundKubeConfig> | undefined
  #loaded: KubeConfig | FoundKubeConfig | undefined
  #asked: Asked | undefined
  #known: ConnectionSettings | undefined

  /** @throws OptionsError for a kubeconfig of another version of client-node */
  constructor(source: KubeConfigSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
    if (typeof source !== 'function') this.#loaded = usable(source)
  }

  /** The settings, if they are fresh. */
  get known(): ConnectionSettings | undefined {
    return this.#isFresh() ? this.#known : undefined
  }

  /** The settings. Concurrent callers get the same ones. @throws Error what the kubeconfig threw */
  async get(): Promise<ConnectionSettings> {
    const asked = this.#isFresh() && this.#asked !== undefined ? this.#asked : this.#ask()
    try {
      const settings = await asked.settings
      if (this.#asked === asked) this.#known = settings
      return settings
    } catch (error) {
      if (this.#asked === asked) this.#asked = undefined
      throw error
    }
  }

  /** Makes the next request read the kubeconfig again, unless that has happened since it gave these settings. */
  forget(settings: ConnectionSettings): void {
    if (this.#known === undefined || this.#known === settings) this.#drop()
  }

  /**
   * {@link CurrentSettings.forget | Forgets} settings whose credentials the server refused. If a plugin issued them, it runs again.
   * Returns whether the next settings may differ although the kubeconfig was read just now.
   */
  renew(settings: ConnectionSettings): boolean {
    this.forget(settings)
    const kubeConfig = this.#loaded
    return kubeConfig !== undefined && withdraw(kubeConfig, settings.issued, this.#clock)
  }

  #drop(): void {
    this.#asked = undefined
    this.#known = undefined
  }

  #ask(): Asked {
    this.#drop()
    const settings = this.#resolve()
    const asked = { since: this.#clock.now(), context: this.#loaded?.getCurrentContext(), settings }
    this.#asked = asked
    return asked
  }

  async #resolve(): Promise<ConnectionSettings> {
    this.#loaded ??= await this.#loadKubeConfig()
    return resolveConnectionSettings(this.#loaded, this.#clock)
  }

  /** Settings of another context are stale: it may have another cluster or user, which must not get these credentials. */
  #isFresh(): boolean {
    const asked = this.#asked
    if (asked === undefined || this.#clock.now() - asked.since >= FRESH_MS) return false
    return asked.context === undefined || asked.context === this.#loaded?.getCurrentContext()
  }

  /** Loads the kubeconfig once. After a failed attempt the next request tries again. */
  async #loadKubeConfig(): Promise<KubeConfig | FoundKubeConfig> {
    const source = this.#source
    if (typeof source !== 'function') return usable(source)
    this.#kubeConfig ??= (async () => usable(await source()))()
    try {
      return await this.#kubeConfig
    } catch (error) {
      this.#kubeConfig = undefined
      throw error
    }
  }
}

function usable(source: KubeConfigLike): KubeConfig | FoundKubeConfig {
  return source instanceof FoundKubeConfig ? source : supportedKubeConfig(source)
}
