import type { KubeConfig } from '@kubernetes/client-node'
import type { Clock } from '@tenure/core'
import { type KubeConfigLike, supportedKubeConfig } from './kubeconfig/kube-config-like.ts'
import { type ConnectionSettings, resolveConnectionSettings } from './connection-settings.ts'
import { withdraw } from './credentials.ts'

/** A kubeconfig, or what gets one when the first request is made. */
export type KubeConfigSource = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)

/** For how long settings are used again. To ask costs a good part of a request: files are read, keys decoded, tokens looked up. */
const FRESH_MS = 5000

interface Asked {
  readonly since: number
  readonly context: string | undefined
  readonly settings: Promise<ConnectionSettings>
}

/**
 * How to connect, as a kubeconfig says, no more than 5 s ago.
 *
 * A token or certificate that changes is used that much later. When the server refuses credentials,
 * or an address cannot be reached, call {@link CurrentSettings.renew} and {@link CurrentSettings.forget}, so that the next request
 * has the present ones.
 */
export class CurrentSettings {
  readonly #source: KubeConfigSource
  readonly #clock: Clock
  #kubeConfig: Promise<KubeConfig> | undefined
  #loaded: KubeConfig | undefined
  #asked: Asked | undefined
  #known: ConnectionSettings | undefined

  /** @throws OptionsError for a kubeconfig of another version of client-node */
  constructor(source: KubeConfigSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
    if (typeof source !== 'function') this.#loaded = supportedKubeConfig(source)
  }

  /** The settings, where they are known without asking. */
  get known(): ConnectionSettings | undefined {
    return this.#isFresh() ? this.#known : undefined
  }

  /** The settings. Everybody who asks at the same time gets the same. @throws Error what the kubeconfig threw */
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

  /** Asks the kubeconfig again for the next request, unless it was asked since it gave these settings. */
  forget(settings: ConnectionSettings): void {
    if (this.#known === undefined || this.#known === settings) this.#drop()
  }

  /**
   * {@link CurrentSettings.forget | Forgets} settings whose credentials the server refused, and has a plugin that gave them run
   * again. Returns whether the next settings may differ although the kubeconfig was asked just now.
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

  /** Another context of the same kubeconfig is another cluster, or another user: it must not get the credentials of the last one. */
  #isFresh(): boolean {
    const asked = this.#asked
    if (asked === undefined || this.#clock.now() - asked.since >= FRESH_MS) return false
    return asked.context === undefined || asked.context === this.#loaded?.getCurrentContext()
  }

  /** Loads the kubeconfig once; a failed attempt is forgotten, so that the next request tries again. */
  async #loadKubeConfig(): Promise<KubeConfig> {
    const source = this.#source
    if (typeof source !== 'function') return supportedKubeConfig(source)
    this.#kubeConfig ??= (async () => supportedKubeConfig(await source()))()
    try {
      return await this.#kubeConfig
    } catch (error) {
      this.#kubeConfig = undefined
      throw error
    }
  }
}
