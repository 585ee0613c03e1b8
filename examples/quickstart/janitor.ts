import { CoreV1Api, type KubeConfig, type V1ConfigMap } from '@kubernetes/client-node'
import { Controller, gated, type Term } from 'tenure'

const EXPIRES_AT = 'janitor/expires-at'
const REPORT = 'janitor-report'

/** Deletes ConfigMaps whose `janitor/expires-at` annotation lies in the past, and records who swept last. */
export class Janitor extends Controller {
  override readonly name = 'janitor'
  readonly #kubeConfig: KubeConfig
  readonly #namespace: string
  readonly #sweepEveryMs: number

  constructor(kubeConfig: KubeConfig, namespace: string, sweepEveryMs = 1000) {
    super()
    this.#kubeConfig = kubeConfig
    this.#namespace = namespace
    this.#sweepEveryMs = sweepEveryMs
  }

  override async run(term: Term): Promise<void> {
    // Writes of this client stop with the term, whatever becomes of this replica.
    const api = gated(term, this.#kubeConfig).makeApiClient(CoreV1Api)
    await term.every(this.#sweepEveryMs, () => this.#sweep(term, api))
  }

  async #sweep(term: Term, api: CoreV1Api): Promise<void> {
    const namespace = this.#namespace
    const { items } = await api.listNamespacedConfigMap({ namespace })
    for (const name of items.filter(isExpired).map(nameOf)) {
      if (term.signal.aborted) return
      await api.deleteNamespacedConfigMap({ name, namespace })
    }
    const previous = items.find((item) => nameOf(item) === REPORT)
    await this.#report(term, api, previous)
  }

  /** Replaces the very report that was read: a write by anybody else in between makes it fail. */
  async #report(term: Term, api: CoreV1Api, previous: V1ConfigMap | undefined): Promise<void> {
    const namespace = this.#namespace
    const data = { epoch: String(term.epoch), sweptAt: new Date().toISOString() }
    if (previous === undefined) {
      await api.createNamespacedConfigMap({ namespace, body: { metadata: { name: REPORT }, data } })
    } else {
      await api.replaceNamespacedConfigMap({ name: REPORT, namespace, body: Object.assign(previous, { data }) })
    }
  }
}

function isExpired({ metadata }: V1ConfigMap): boolean {
  const expiresAt = metadata?.annotations?.[EXPIRES_AT]
  return expiresAt !== undefined && Date.parse(expiresAt) < Date.now()
}

function nameOf({ metadata }: V1ConfigMap): string {
  return metadata?.name ?? ''
}
