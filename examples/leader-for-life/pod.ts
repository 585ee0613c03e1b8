import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'

const CONTAINER = 'janitor'

/** The Pod of a replica. This object is also its kubelet: it reports what becomes of the container. */
export class Pod {
  readonly name: string
  readonly uid: string
  readonly #api: CoreV1Api
  readonly #namespace: string

  private constructor(api: CoreV1Api, place: { namespace: string; name: string; uid: string }) {
    this.#api = api
    this.#namespace = place.namespace
    this.name = place.name
    this.uid = place.uid
  }

  /** Creates a Pod. */
  static async create(kubeConfig: KubeConfig, namespace: string, name: string): Promise<Pod> {
    const api = kubeConfig.makeApiClient(CoreV1Api)
    const spec = { containers: [{ name: CONTAINER, image: 'janitor:1' }] }
    const { metadata } = await api.createNamespacedPod({ namespace, body: { metadata: { name }, spec } })
    return new Pod(api, { namespace, name, uid: metadata?.uid ?? '' })
  }

  /** What the downward API sets in the container. */
  get env(): Readonly<Record<string, string>> {
    return { POD_NAME: this.name, POD_UID: this.uid, POD_NAMESPACE: this.#namespace, CONTAINER_NAME: CONTAINER }
  }

  /** Reports that the container runs. */
  async runs(): Promise<void> {
    await this.#report('Running', { running: { startedAt: new Date() } })
  }

  /** Reports that the container has been killed. */
  async ended(): Promise<void> {
    const finishedAt = new Date(Date.now() + 1000)
    const terminated = { containerID: this.#containerID, exitCode: 137, reason: 'Error', finishedAt }
    await this.#report('Failed', { terminated })
  }

  /** Deletes it at once. */
  async delete(): Promise<void> {
    await this.#api.deleteNamespacedPod({ name: this.name, namespace: this.#namespace, gracePeriodSeconds: 0 })
  }

  get #containerID(): string {
    return `containerd://${this.uid}`
  }

  async #report(phase: string, state: object): Promise<void> {
    const place = { name: this.name, namespace: this.#namespace }
    const pod = await this.#api.readNamespacedPod(place)
    const container = { name: CONTAINER, image: 'janitor:1', imageID: '', ready: true, restartCount: 0 }
    const containerStatuses = [{ ...container, containerID: this.#containerID, state }]
    await this.#api.replaceNamespacedPodStatus({
      ...place,
      body: Object.assign(pod, { status: { phase, containerStatuses } }),
    })
  }
}
