import { assertKnownKeys } from '@tenure/core/internal'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeConfigParts } from './loaded-kube-config.ts'

/** The folder in which Kubernetes mounts the credentials of a Pod's service account. */
export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Options of {@link inClusterNamespace}. */
export interface ServiceAccountOptions {
  /** The folder in which the credentials of the service account are mounted. @default '/var/run/secrets/kubernetes.io/serviceaccount' */
  readonly serviceAccountDirectory?: string
}

/** The namespace of the Pod that this process runs in, or `undefined` outside a Pod. */
export function inClusterNamespace(options: ServiceAccountOptions = {}): string | undefined {
  assertKnownKeys('`inClusterNamespace()`', options, ['serviceAccountDirectory'])
  const path = join(options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY, 'namespace')
  if (!existsSync(path)) return undefined
  const namespace = readFileSync(path, 'utf8').trim()
  return namespace === '' ? undefined : namespace
}

/** The kubeconfig of the Pod that this process runs in, or `undefined` outside a Pod. The token file is read again when it changes. */
export function inClusterConfig(env: NodeJS.ProcessEnv, directory: string): KubeConfigParts | undefined {
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT']
  const tokenFile = join(directory, 'token')
  if (!host || !port || !existsSync(tokenFile)) return undefined
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const namespace = inClusterNamespace({ serviceAccountDirectory: directory })
  const context = { name: 'in-cluster', cluster: 'in-cluster', user: 'in-cluster' }
  return {
    clusters: [{ name: 'in-cluster', server, caFile: join(directory, 'ca.crt'), skipTLSVerify: false }],
    users: [{ name: 'in-cluster', authProvider: { name: 'tokenFile', config: { tokenFile } } }],
    contexts: [namespace === undefined ? context : { ...context, namespace }],
    currentContext: 'in-cluster',
  }
}
