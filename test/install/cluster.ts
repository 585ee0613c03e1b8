import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { type ApiServer, startApiServer } from '@tenure/api-server'

/** What the program of the README works on. */
const NAMESPACE = 'ops'

/** An embedded API server with the namespace of the README. */
export class Cluster implements AsyncDisposable {
  readonly server: ApiServer
  readonly #api: CoreV1Api

  private constructor(server: ApiServer) {
    this.server = server
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.kubeConfig())
    this.#api = kubeConfig.makeApiClient(CoreV1Api)
  }

  static async start(): Promise<Cluster> {
    const cluster = new Cluster(await startApiServer())
    await cluster.#api.createNamespace({ body: { metadata: { name: NAMESPACE } } })
    return cluster
  }

  /** Creates what a leading janitor deletes. */
  async bait(): Promise<{ readonly gone: Promise<void> }> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const name = `expired-${crypto.randomUUID()}`
    const end = this.server.store.watch('configmaps', ({ type, object }) => {
      if (type !== 'DELETED' || object.metadata.name !== name) return
      end()
      resolve()
    })
    await this.#api.createNamespacedConfigMap({
      namespace: NAMESPACE,
      body: { metadata: { name, labels: { janitor: 'expired' } } },
    })
    return { gone: promise }
  }

  /** Who holds the lease of the janitor. */
  holder(): unknown {
    const lease = this.server.store.list('coordination.k8s.io/leases', NAMESPACE).find(isJanitor)
    return (lease?.['spec'] as { readonly holderIdentity?: string } | undefined)?.holderIdentity
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop()
  }
}

function isJanitor({ metadata }: { readonly metadata: { readonly name?: string } }): boolean {
  return metadata.name === 'janitor'
}
