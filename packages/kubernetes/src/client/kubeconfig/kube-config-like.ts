import type { KubeConfig } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'

/**
 * The part of the `KubeConfig` of `@kubernetes/client-node` 2 that Tenure uses. Any copy of that package fits: the private members of
 * the class, by which TypeScript tells copies apart, are not part of it.
 */
export interface KubeConfigLike {
  /** Returns the cluster of the current context. Null if there is none. */
  getCurrentCluster(): { readonly server: string } | null
  /** Returns the name of the current context. */
  getCurrentContext(): string
  /** Returns the context of this name. Null if there is none. */
  getContextObject(name: string): { readonly namespace?: string } | null
  /** Returns a client for one API group. */
  makeApiClient<T extends object>(apiClientType: new (configuration: never) => T): T
  /** Adds certificates, keys and headers to options of `https.request()`. */
  applyToHTTPSOptions(options: object): Promise<void>
  /** Adds credentials to a request of a generated client. */
  applySecurityAuthentication(request: never): Promise<void>
}

const METHODS = [
  'getCurrentCluster',
  'getCurrentContext',
  'getContextObject',
  'makeApiClient',
  'applyToHTTPSOptions',
  'applySecurityAuthentication',
] as const satisfies readonly (keyof KubeConfigLike)[]

const EXPECTED = 'Expected `kubeConfig` to be a `KubeConfig` of @kubernetes/client-node 2'
const REMEDY = 'Install @kubernetes/client-node@^2.0.0 and create it with that version'

/**
 * Checks that a kubeconfig is of a supported version of client-node, and returns it.
 * @throws OptionsError for anything else, such as a `KubeConfig` of version 1, whose requests have no dispatcher
 */
export function supportedKubeConfig(given: KubeConfigLike): KubeConfig {
  const value: unknown = given
  if (typeof value !== 'object' || value === null) throw new OptionsError(`${EXPECTED}, got \`${textOf(value)}\``)
  const missing = METHODS.find((name) => typeof Reflect.get(value, name) !== 'function')
  if (missing !== undefined) throw new OptionsError(`${EXPECTED}, got an object without \`${missing}()\`. ${REMEDY}`)
  if (isOfVersion1(value)) throw new OptionsError(`${EXPECTED}, got one of version 1. ${REMEDY}`)
  return value as KubeConfig
}

/** Both versions create agents for `node:https`. Version 2 also creates dispatchers for undici. */
function isOfVersion1(value: object): boolean {
  return 'createAgent' in value && !('createDispatcher' in value) && !('createDispatcherOptions' in value)
}
