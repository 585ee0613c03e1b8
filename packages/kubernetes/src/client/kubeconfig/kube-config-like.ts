import type { KubeConfig } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'

/**
 * What Tenure uses of a `KubeConfig` of `@kubernetes/client-node` 2. Any copy of that package fits, because the private members of
 * the class, which tell its copies apart for TypeScript, are not part of it.
 */
export interface KubeConfigLike {
  getCurrentCluster(): { readonly server: string } | null
  getCurrentContext(): string
  getContextObject(name: string): { readonly namespace?: string } | null
  makeApiClient<T extends object>(apiClientType: new (configuration: never) => T): T
  applyToHTTPSOptions(options: object): Promise<void>
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
const REMEDY = 'Install @kubernetes/client-node@^2.0.0 and make it with that'

/**
 * The same kubeconfig, once it is known to be of a version of client-node that Tenure works with.
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

/** Both versions make agents for `node:https`; version 2 makes dispatchers for undici as well. */
function isOfVersion1(value: object): boolean {
  return 'createAgent' in value && !('createDispatcher' in value) && !('createDispatcherOptions' in value)
}
