import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { startApiServer } from '@tenure/api-server'
import type { DemoCluster } from './demo-cluster.ts'
import { allowJanitor } from './janitor-role.ts'

const NAMESPACE = 'demo'

/** Starts an API server in this process. Every replica is a user of its own, with no more rights than it needs. */
export async function startEmbeddedCluster(replicas: readonly string[]): Promise<DemoCluster> {
  const server = await startApiServer()
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig())
  await kubeConfig.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: NAMESPACE } } })
  await allowJanitor({ kubeConfig, namespace: NAMESPACE, users: replicas })
  const texts = new Map(replicas.map((name) => [name, server.kubeConfig({ name })]))
  return {
    description: `embedded API server at ${server.url}`,
    kubeConfig,
    namespace: NAMESPACE,
    placeOf: (replica) => ({ kubeConfig: { text: texts.get(replica) ?? '' }, namespace: NAMESPACE }),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
