import { setTimeout as delay } from 'node:timers/promises'
import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'

const CREATE_EVERY_MS = 400
const EXPIRES_AFTER_MS = 600

/** Creates ConfigMaps that expire soon, so that the janitor has something to do. Owns its loop. */
export class ExpiringConfigMaps {
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #created = 0

  private constructor() {}

  /** Begins to create. */
  static start(kubeConfig: KubeConfig, namespace: string): ExpiringConfigMaps {
    const configMaps = new ExpiringConfigMaps()
    configMaps.#running = configMaps.#run(kubeConfig.makeApiClient(CoreV1Api), namespace)
    // `stop()` reports a failure of the loop.
    configMaps.#running.catch(() => {})
    return configMaps
  }

  /** How many were created. */
  get created(): number {
    return this.#created
  }

  /** Resolves when none is being created any more. @throws what the API server answered when one could not be created */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(api: CoreV1Api, namespace: string): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const expiresAt = new Date(Date.now() + EXPIRES_AFTER_MS).toISOString()
      const metadata = { generateName: 'session-', annotations: { 'janitor/expires-at': expiresAt } }
      await api.createNamespacedConfigMap({ namespace, body: { metadata } })
      this.#created += 1
      await delay(CREATE_EVERY_MS, undefined, { signal }).catch(() => {})
    }
  }
}
