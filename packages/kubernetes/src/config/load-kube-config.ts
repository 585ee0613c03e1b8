import { textOf } from '@tenure/core'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { KubeConfigError } from './kube-config-error.ts'
import { inClusterConfig, SERVICE_ACCOUNT_DIRECTORY, type ServiceAccountOptions } from './service-account.ts'

/** Options of {@link loadKubeConfig}. */
export interface LoadKubeConfigOptions extends ServiceAccountOptions {
  /** Where `KUBECONFIG`, `HOME` and the address of the cluster are looked up. @default process.env */
  readonly env?: NodeJS.ProcessEnv
  /** Path of a kubeconfig. Nothing else is looked at when it is given. */
  readonly kubeConfigPath?: string
}

/**
 * Loads the first of: `kubeConfigPath`, the files that `KUBECONFIG` lists, the service account of the Pod, `~/.kube/config`.
 *
 * Several files in `KUBECONFIG` are merged as kubectl does it: missing ones are skipped, and of two entries of one name the
 * first counts. Never falls back to an address that nobody configured.
 *
 * @throws KubeConfigError when there is none, or the one that counts cannot be read or names no cluster
 */
export function loadKubeConfig(options: LoadKubeConfigOptions = {}): KubeConfig {
  const env = options.env ?? process.env
  if (options.kubeConfigPath !== undefined) return loadFiles([options.kubeConfigPath], 'the given path')
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return loadFiles(listed, 'KUBECONFIG')
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY
  const inCluster = inClusterConfig(env, directory)
  if (inCluster !== undefined) {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromOptions(inCluster)
    return kubeConfig
  }
  const homeFile = join(env['HOME'] ?? homedir(), '.kube', 'config')
  if (existsSync(homeFile)) return loadFiles([homeFile], 'the home directory')
  throw new KubeConfigError(
    'Found no kubeconfig: KUBECONFIG is not set, this is not a Pod (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and ' +
      `${join(directory, 'token')} would say so), and ${homeFile} does not exist`,
  )
}

function loadFiles(paths: readonly string[], origin: string): KubeConfig {
  const existing = paths.filter((path) => existsSync(path))
  if (existing.length === 0) {
    throw new KubeConfigError(`The kubeconfig named by ${origin} does not exist: ${paths.join(delimiter)}`)
  }
  const kubeConfig = existing.map(loadFile).reduce(merge)
  if (kubeConfig.getCurrentCluster() === null) {
    throw new KubeConfigError(
      `The kubeconfig ${existing.join(delimiter)} has no cluster for its current context ` +
        `\`${kubeConfig.getCurrentContext() ?? ''}\``,
    )
  }
  return kubeConfig
}

function loadFile(path: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  try {
    kubeConfig.loadFromFile(path)
  } catch (cause) {
    const why = textOf(cause)
    throw new KubeConfigError(`The kubeconfig ${path} cannot be read: ${why}`, { cause })
  }
  return kubeConfig
}

function merge(into: KubeConfig, other: KubeConfig): KubeConfig {
  for (const cluster of other.clusters) if (into.getCluster(cluster.name) === null) into.addCluster(cluster)
  for (const user of other.users) if (into.getUser(user.name) === null) into.addUser(user)
  for (const context of other.contexts) if (into.getContextObject(context.name) === null) into.addContext(context)
  if (!into.currentContext) into.setCurrentContext(other.currentContext)
  return into
}
