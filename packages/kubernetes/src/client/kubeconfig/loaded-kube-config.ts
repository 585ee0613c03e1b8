import type { KubeConfig } from '@kubernetes/client-node'
import { clientNode } from '#client-node'

type SecuredRequest = Parameters<KubeConfig['applySecurityAuthentication']>[0]
type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0]

/** The parts of a kubeconfig, as `KubeConfig.loadFromOptions` takes them. */
export type KubeConfigParts = Pick<KubeConfig, 'clusters' | 'users' | 'contexts' | 'currentContext'>

/** The method that applies changes of the files. A symbol, because others derive from the `KubeConfig` of client-node as well. */
export const RELOAD: unique symbol = Symbol('reload')

/** A kubeconfig that follows its files. */
export interface Reloadable {
  [RELOAD](): void
}

/**
 * Creates a kubeconfig that follows its files: a rewritten file counts from the next request on. Loads client-node.
 *
 * @param parts what was read first
 * @param readChange reads the parts again; returns undefined if nothing has changed or they cannot be read
 */
export function createLoadedKubeConfig(
  parts: KubeConfigParts,
  readChange: () => KubeConfigParts | undefined,
): KubeConfig {
  const { KubeConfig } = clientNode()
  class LoadedKubeConfig extends KubeConfig implements Reloadable {
    [RELOAD](): void {
      const changed = readChange()
      if (changed !== undefined) take(changed)
    }

    override async applySecurityAuthentication(request: SecuredRequest): Promise<void> {
      this[RELOAD]()
      await super.applySecurityAuthentication(request)
    }

    override async applyToHTTPSOptions(options: HttpsOptions): Promise<void> {
      this[RELOAD]()
      await super.applyToHTTPSOptions(options)
    }
  }
  const loaded = new LoadedKubeConfig()
  let loadedContext = loaded.currentContext
  const take = (changed: KubeConfigParts) => {
    const isContextOfUser = loaded.currentContext !== loadedContext
    const currentContext = isContextOfUser ? loaded.currentContext : changed.currentContext
    loadedContext = changed.currentContext
    loaded.loadFromOptions({ ...changed, currentContext })
  }
  take(parts)
  return loaded
}
