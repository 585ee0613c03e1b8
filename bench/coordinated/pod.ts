import { randomUUID } from 'node:crypto'
import type { ControlPlane } from '@tenure/test-control-plane'
import { NAMESPACE } from './candidate.ts'

const CONTAINER = 'main'

/** A Pod of a candidate, and the kubelet of its node. */
export class Pod {
  readonly name: string
  readonly #server: ControlPlane
  readonly #containerID = `containerd://${randomUUID()}`

  private constructor(server: ControlPlane, name: string) {
    this.#server = server
    this.name = name
  }

  /** Creates a Pod. */
  static async create(server: ControlPlane, name: string): Promise<Pod> {
    // A cluster with a controller manager creates this account in every namespace.
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: NAMESPACE } }
    const spec = { containers: [{ name: CONTAINER, image: 'main:1' }], automountServiceAccountToken: false }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE }, spec }
    await server.apply([account, pod])
    return new Pod(server, name)
  }

  /** The variables by which the process in this Pod finds its container. */
  get env(): Readonly<Record<string, string>> {
    return { POD_NAME: this.name, POD_NAMESPACE: NAMESPACE, CONTAINER_NAME: CONTAINER }
  }

  /** The kubelet reports that the container runs. */
  async runs(): Promise<void> {
    await this.#report('Running', { running: { startedAt: wholeSecond(Date.now()) } })
  }

  /** The kubelet reports that the container has terminated. */
  async terminated(): Promise<void> {
    const finishedAt = wholeSecond(Date.now() + 1000)
    const terminated = { containerID: this.#containerID, exitCode: 137, reason: 'Error', finishedAt }
    await this.#report('Failed', { terminated })
  }

  /** Deletes it at once, as the kubelet does in the end, or somebody by force. */
  async delete(): Promise<void> {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${this.name}?gracePeriodSeconds=0`
    const answer = await this.#server.request(path, { method: 'DELETE' })
    if (answer.status !== 200) throw new Error(answer.text)
  }

  async #report(phase: string, state: object): Promise<void> {
    const container = { name: CONTAINER, image: 'main:1', imageID: '', ready: true, restartCount: 0 }
    const body = { status: { phase, containerStatuses: [{ ...container, containerID: this.#containerID, state }] } }
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${this.name}/status`
    const contentType = 'application/merge-patch+json'
    const answer = await this.#server.request(path, { method: 'PATCH', contentType, body })
    if (answer.status !== 200) throw new Error(answer.text)
  }
}

/** A time in the format of the kubelet. */
function wholeSecond(at: number): string {
  return new Date(Math.floor(at / 1000) * 1000).toISOString().replace(/\.\d+/, '')
}
