import { assertKnownKeys } from '@tenure/core/internal'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Cluster, KubeConfig } from '@kubernetes/client-node'
import { assertServer } from './assert-server.ts'
import { parseKubeConfigFile, readKubeConfigFile } from './kube-config-file.ts'
import { KubeConfigError } from './kube-config-error.ts'
import { FoundKubeConfig } from './found-kube-config.ts'
import type { KubeConfigParts } from './loaded-kube-config.ts'
import { proxyFromEnvironment } from './proxy.ts'
import { inClusterConfig, SERVICE_ACCOUNT_DIRECTORY, type ServiceAccountOptions } from './service-account.ts'

/** Options of {@link loadKubeConfig}. */
export interface LoadKubeConfigOptions extends ServiceAccountOptions {
  /** The source of `KUBECONFIG`, `HOME`, the address of the cluster and the proxy. @default process.env */
  readonly env?: NodeJS.ProcessEnv
  /** The path of a kubeconfig. If given, no other place is searched. */
  readonly kubeConfigPath?: string
}

const OPTION_NAMES = [
  'env',
  'kubeConfigPath',
  'serviceAccountDirectory',
] as const satisfies (keyof LoadKubeConfigOptions)[]

/**
 * Loads the first of: `kubeConfigPath`, the files that `KUBECONFIG` lists, the service account of the Pod, `~/.kube/config`.
 *
 * Several files in `KUBECONFIG` are merged as in kubectl: missing files are skipped, and the first of two entries with one name
 * counts. Never falls back to an address that nobody configured.
 *
 * The files are read again when they change: locks, informers and gated clients use a rewritten kubeconfig, token or certificate
 * within 5 s, and at once if the server refuses the old credentials. A `proxy-url` takes precedence over `HTTPS_PROXY`, `HTTP_PROXY`
 * and `NO_PROXY`, which work as in kubectl.
 *
 * On Node, the first call loads client-node, unless the program has imported it.
 *
 * @throws OptionsError for an option that does not exist.
 * @throws KubeConfigError if there is no kubeconfig, or if it cannot be read, names no cluster or uses an unsupported feature. Its
 * message never quotes the file.
 */
export function loadKubeConfig(options: LoadKubeConfigOptions = {}): KubeConfig {
  return findKubeConfig(options).complete()
}

/** Finds what {@link loadKubeConfig} loads, without loading client-node for plain credentials. */
export function findKubeConfig(options: LoadKubeConfigOptions = {}): FoundKubeConfig {
  assertKnownKeys('`loadKubeConfig()`', options, OPTION_NAMES)
  const env = options.env ?? process.env
  if (options.kubeConfigPath !== undefined) return loadFiles([options.kubeConfigPath], 'the given path', env)
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return loadFiles(listed, 'KUBECONFIG', env)
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY
  const inCluster = inClusterConfig(env, directory)
  if (inCluster !== undefined) return new FoundKubeConfig(withProxies(inCluster, env), () => undefined)
  const homeFile = join(env['HOME'] ?? homedir(), '.kube', 'config')
  if (existsSync(homeFile)) return loadFiles([homeFile], 'the home directory', env)
  throw new KubeConfigError(
    'Found no kubeconfig: KUBECONFIG is not set, this is not a Pod (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or ' +
      `${join(directory, 'token')} is missing), and ${homeFile} does not exist`,
  )
}

function loadFiles(paths: readonly string[], origin: string, env: NodeJS.ProcessEnv): FoundKubeConfig {
  let known = paths.map(readKubeConfigFile)
  const parts = withProxies(partsOf(paths, known, origin), env)
  return new FoundKubeConfig(parts, () => {
    const texts = paths.map(readKubeConfigFile)
    if (texts.every((text, index) => text === known[index])) return undefined
    const changed = withProxies(partsOf(paths, texts, origin), env)
    known = texts
    return changed
  })
}

function partsOf(paths: readonly string[], texts: readonly (string | undefined)[], origin: string): KubeConfigParts {
  const files = paths.flatMap((path, index) => (texts[index] === undefined ? [] : [{ path, text: texts[index] }]))
  if (files.length === 0) {
    throw new KubeConfigError(`The kubeconfig named by ${origin} does not exist: ${paths.join(delimiter)}`)
  }
  const parts = files.map(({ path, text }) => parseKubeConfigFile(path, text)).reduce(merge)
  const context = parts.contexts.find(({ name }) => name === parts.currentContext)
  const cluster = parts.clusters.find(({ name }) => name === context?.cluster)
  if (cluster === undefined) {
    throw new KubeConfigError(
      `The kubeconfig ${files.map(({ path }) => path).join(delimiter)} has no cluster for its current context ` +
        `\`${parts.currentContext ?? ''}\``,
    )
  }
  assertServer(cluster)
  return parts
}

function merge(into: KubeConfigParts, other: KubeConfigParts): KubeConfigParts {
  return {
    clusters: mergeByName(into.clusters, other.clusters),
    users: mergeByName(into.users, other.users),
    contexts: mergeByName(into.contexts, other.contexts),
    currentContext: into.currentContext || other.currentContext,
  }
}

function mergeByName<T extends { readonly name: string }>(into: readonly T[], other: readonly T[]): T[] {
  return [...into, ...other.filter(({ name }) => into.every((known) => known.name !== name))]
}

function withProxies(parts: KubeConfigParts, env: NodeJS.ProcessEnv): KubeConfigParts {
  const clusters = parts.clusters.map((cluster): Cluster => {
    const proxyUrl = cluster.proxyUrl || proxyFromEnvironment(cluster.server, env)
    const complete = proxyUrl === undefined ? cluster : { ...cluster, proxyUrl }
    return complete
  })
  return { ...parts, clusters }
}
