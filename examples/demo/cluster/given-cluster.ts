import { CoordinationV1Api, CoreV1Api, type KubeConfig } from '@kubernetes/client-node'
import { loadKubeConfig } from '@tenure/kubernetes'
import type { DemoCluster } from './demo-cluster.ts'
import { UnusableClusterError } from './unusable-cluster-error.ts'

/**
 * Uses the API server of a kubeconfig, in a namespace that is made for this run and deleted after it. All replicas use that
 * kubeconfig.
 * @throws UnusableClusterError when the kubeconfig or the server does not allow that
 */
export async function useGivenCluster(kubeConfigPath: string): Promise<DemoCluster> {
  try {
    const kubeConfig = loadKubeConfig({ kubeConfigPath })
    return clusterOf({ kubeConfigPath, kubeConfig, namespace: await createNamespace(kubeConfig) })
  } catch (error) {
    throw new UnusableClusterError(error)
  }
}

function clusterOf(given: {
  readonly kubeConfigPath: string
  readonly kubeConfig: KubeConfig
  readonly namespace: string
}): DemoCluster {
  const { kubeConfigPath, kubeConfig, namespace } = given
  return {
    description: `API server at ${kubeConfig.getCurrentCluster()?.server}, namespace ${namespace}`,
    kubeConfig,
    namespace,
    placeOf: () => ({ kubeConfig: { path: kubeConfigPath }, namespace }),
    [Symbol.asyncDispose]: () => remove(kubeConfig, namespace),
  }
}

async function createNamespace(kubeConfig: KubeConfig): Promise<string> {
  const core = kubeConfig.makeApiClient(CoreV1Api)
  const { metadata } = await core.createNamespace({ body: { metadata: { generateName: 'tenure-demo-' } } })
  return metadata?.name ?? ''
}

/** Deletes the contents of the namespace as well: a server without controllers would keep them. */
async function remove(kubeConfig: KubeConfig, namespace: string): Promise<void> {
  const core = kubeConfig.makeApiClient(CoreV1Api)
  await core.deleteCollectionNamespacedConfigMap({ namespace })
  await core.deleteCollectionNamespacedEvent({ namespace })
  await kubeConfig.makeApiClient(CoordinationV1Api).deleteCollectionNamespacedLease({ namespace })
  await core.deleteNamespace({ name: namespace })
}
