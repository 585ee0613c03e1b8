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
  /** The context to use instead of the current one. @default the current context */
  readonly context?: string
}

const OPTION_NAMES = [
  'env',
  'kubeConfigPath',
  'context',
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
  const { context } = options
  const path = options.kubeConfigPath
  if (path !== undefined) return loadFiles({ paths: () => [path], origin: 'the given path', context }, env)
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return loadFiles({ paths: () => listed, origin: 'KUBECONFIG', context }, env)
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY
  const inCluster = context === undefined ? inClusterConfig(env, directory) : undefined
  if (inCluster !== undefined) return new FoundKubeConfig(withProxies(inCluster, env), () => undefined)
  return loadHomeFile(directory, context, env)
}

/** As {@link findKubeConfig} with a `kubeConfigPath`. A path that changes counts as a file that was rewritten. */
export function followKubeConfig(path: () => string, env: NodeJS.ProcessEnv): FoundKubeConfig {
  return loadFiles({ paths: () => [path()], origin: 'the given path', context: undefined }, env)
}

function loadHomeFile(directory: string, context: string | undefined, env: NodeJS.ProcessEnv): FoundKubeConfig {
  const homeFile = join(env['HOME'] ?? homedir(), '.kube', 'config')
  if (existsSync(homeFile)) return loadFiles({ paths: () => [homeFile], origin: 'the home directory', context }, env)
  throw new KubeConfigError(
    'Found no kubeconfig: KUBECONFIG is not set, this is not a Pod (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or ' +
      `${join(directory, 'token')} is missing), and ${homeFile} does not exist`,
  )
}

/** Where to read a kubeconfig, and which of its contexts counts. */
interface KubeConfigFiles {
  readonly paths: () => readonly string[]
  /** Where the paths come from, for messages. */
  readonly origin: string
  readonly context: string | undefined
}

function loadFiles(files: KubeConfigFiles, env: NodeJS.ProcessEnv): FoundKubeConfig {
  let known = files.paths().map(readKubeConfigFile)
  const parts = withProxies(partsOf(files, known), env)
  return new FoundKubeConfig(parts, () => {
    const texts = files.paths().map(readKubeConfigFile)
    if (texts.every((text, index) => text === known[index])) return undefined
    const changed = withProxies(partsOf(files, texts), env)
    known = texts
    return changed
  })
}

function partsOf(
  { paths: pathsOf, origin, context: wanted }: KubeConfigFiles,
  texts: readonly (string | undefined)[],
): KubeConfigParts {
  const paths = pathsOf()
  const files = paths.flatMap((path, index) => (texts[index] === undefined ? [] : [{ path, text: texts[index] }]))
  if (files.length === 0) {
    throw new KubeConfigError(`The kubeconfig named by ${origin} does not exist: ${paths.join(delimiter)}`)
  }
  const merged = files.map(({ path, text }) => parseKubeConfigFile(path, text)).reduce(merge)
  const parts = wanted === undefined ? merged : { ...merged, currentContext: knownContext(merged, wanted) }
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

/** @throws KubeConfigError that lists the contexts if there is none of this name */
function knownContext({ contexts }: KubeConfigParts, wanted: string): string {
  if (contexts.some(({ name }) => name === wanted)) return wanted
  const names = contexts.map(({ name }) => name).join(', ')
  throw new KubeConfigError(`The kubeconfig has no context \`${wanted}\`. It has: ${names || 'none'}`)
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
