import { KubeConfig } from '@kubernetes/client-node'

/** The same kubeconfig with another address of the server. JSON, which is YAML too. */
export function withServer(content: string, server: string): string {
  const kubeConfig = parse(content)
  const cluster = kubeConfig.getCurrentCluster()
  if (cluster === null) throw new Error('Expected the kubeconfig to have a current cluster')
  kubeConfig.clusters = [{ ...cluster, server }]
  return kubeConfig.exportConfig()
}

/** The same kubeconfig with a bearer token in place of the credentials of its user. */
export function withToken(content: string, token: string): string {
  const kubeConfig = parse(content)
  kubeConfig.users = kubeConfig.users.map(({ name }) => ({ name, token }))
  return kubeConfig.exportConfig()
}

function parse(content: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(content)
  return kubeConfig
}
