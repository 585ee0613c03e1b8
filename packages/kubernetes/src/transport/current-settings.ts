import type { KubeConfig } from '@kubernetes/client-node'
import type { Clock } from '@tenure/core'
import { type KubeConfigLike, supportedKubeConfig } from '../config/kube-config-like.ts'
import { type ConnectionSettings, resolveConnectionSettings } from './connection-settings.ts'

/** A kubeconfig, or what gets one when the first request is made. */
export type KubeConfigSource = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)

/** For how long settings are used again. To ask costs a good part of a request: files are read, keys decoded, tokens looked up. */
const FRESH_MS = 5000

interface Asked {
  readonly since: number
  readonly settings: Promise<ConnectionSettings>
}

/**
 * How to connect, as a kubeconfig says, no more than 5 s ago.
 *
 * A token or certificate that changes is used that much later. Credentials that the server refuses should be
 * {@link CurrentSettings.forget | forgotten}, so that the next request has those of that moment.
 */
export class CurrentSettings {
  readonly #source: KubeConfigSource
  readonly #clock: Clock
  #kubeConfig: Promise<KubeConfig> | undefined
  #asked: Asked | undefined
  #known: ConnectionSettings | undefined

  constructor(source: KubeConfigSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
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

  /** Has the kubeconfig asked anew next time. */
  forget(): void {
    this.#asked = undefined
    this.#known = undefined
  }

  #ask(): Asked {
    this.forget()
    const asked = { since: this.#clock.now(), settings: this.#loadKubeConfig().then(resolveConnectionSettings) }
    this.#asked = asked
    return asked
  }

  #isFresh(): boolean {
    return this.#asked !== undefined && this.#clock.now() - this.#asked.since < FRESH_MS
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
