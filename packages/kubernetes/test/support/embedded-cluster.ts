import { KubeConfig } from '@kubernetes/client-node'
import { startApiServer, type ApiServer, type ApiServerOptions } from '@tenure/api-server'
import { ApiTransport } from '../../src/client/api-transport.ts'

/** The embedded API server, and somebody who may do everything there. */
export class EmbeddedCluster {
  readonly server: ApiServer
  readonly #admin: ApiTransport

  private constructor(server: ApiServer) {
    this.server = server
    this.#admin = new ApiTransport({ kubeConfig: kubeConfigOf(server.kubeConfig()) })
  }

  /** Starts a server with one namespace, which may be there from an earlier start. */
  static async start(namespace = 'ops', options: ApiServerOptions = {}): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster(await startApiServer(options))
    const isStored =
      cluster.server.store.get({ collection: 'namespaces', namespace: '', name: namespace }) !== undefined
    if (!isStored) await cluster.asAdmin('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    return cluster
  }

  /** The kubeconfig of a user, or of the one who may do everything. */
  kubeConfig(user?: string): KubeConfig {
    return kubeConfigOf(this.server.kubeConfig(user === undefined ? undefined : { name: user }))
  }

  async asAdmin(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const target = { verb: method, group: '', resource: path, namespace: '', name: '' }
    return this.#admin.send({ method, path, body, contentType, target, signal: new AbortController().signal })
  }

  async stop(): Promise<void> {
    await this.#admin.close()
    await this.server.stop()
  }
}

function kubeConfigOf(text: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  return kubeConfig
}
