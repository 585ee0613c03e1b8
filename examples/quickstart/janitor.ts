import { CoreV1Api, type KubeConfig, type V1ConfigMap } from '@kubernetes/client-node'
import { Controller, gated, type Term } from 'tenure'

/** Deletes ConfigMaps whose `janitor/expires-at` annotation lies in the past, and records who swept last. */
export class Janitor extends Controller {
  override readonly name = 'janitor'
  readonly #kubeConfig: KubeConfig
  readonly #namespace: string

  constructor(kubeConfig: KubeConfig, namespace: string) {
    super()
    this.#kubeConfig = kubeConfig
    this.#namespace = namespace
  }

  override async run(term: Term): Promise<void> {
    const api = gated(term, this.#kubeConfig).makeApiClient(CoreV1Api)
    await term.every(1000, () => this.#sweep(term, api))
  }

  async #sweep(term: Term, api: CoreV1Api): Promise<void> {
    const namespace = this.#namespace
    const { items } = await api.listNamespacedConfigMap({ namespace })
    for (const { metadata } of items.filter(isExpired)) {
      if (term.signal.aborted) return
      await api.deleteNamespacedConfigMap({ name: metadata?.name ?? '', namespace })
    }
    await this.#report(
      term,
      api,
      items.find((item) => item.metadata?.name === REPORT),
    )
  }

  async #report(term: Term, api: CoreV1Api, previous: V1ConfigMap | undefined): Promise<void> {
    const namespace = this.#namespace
    const body = { ...previous, metadata: { ...previous?.metadata, name: REPORT }, data: { epoch: String(term.epoch) } }
    if (previous === undefined) await api.createNamespacedConfigMap({ namespace, body })
    else await api.replaceNamespacedConfigMap({ name: REPORT, namespace, body })
  }
}

const REPORT = 'janitor-report'

function isExpired({ metadata }: V1ConfigMap): boolean {
  const expiresAt = metadata?.annotations?.['janitor/expires-at']
  return expiresAt !== undefined && Date.parse(expiresAt) < Date.now()
}
