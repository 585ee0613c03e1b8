import { KubeConfig } from '@kubernetes/client-node'

type SecuredRequest = Parameters<KubeConfig['applySecurityAuthentication']>[0]
type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0]

/** The parts of a kubeconfig, as `KubeConfig.loadFromOptions` takes them. */
export type KubeConfigParts = Pick<KubeConfig, 'clusters' | 'users' | 'contexts' | 'currentContext'>

/** A kubeconfig that follows its files: a rewritten file counts from the next request on. */
export class LoadedKubeConfig extends KubeConfig {
  /** Applies changes of the files. Keeps the current state if they cannot be read, as in the middle of a rewrite. */
  readonly reload: () => void

  /** @param load reads the parts; returns undefined if nothing has changed since the last call. An error of the first call is thrown. */
  constructor(load: () => KubeConfigParts | undefined) {
    super()
    let loadedContext = ''
    const take = (parts: KubeConfigParts) => {
      const isContextOfUser = this.currentContext !== undefined && this.currentContext !== loadedContext
      const currentContext = isContextOfUser ? this.currentContext : parts.currentContext
      loadedContext = parts.currentContext
      this.loadFromOptions({ ...parts, currentContext })
    }
    const first = load()
    if (first !== undefined) take(first)
    this.reload = () => {
      const parts = tryLoad(load)
      if (parts !== undefined) take(parts)
    }
  }

  override async applySecurityAuthentication(request: SecuredRequest): Promise<void> {
    this.reload()
    await super.applySecurityAuthentication(request)
  }

  override async applyToHTTPSOptions(options: HttpsOptions): Promise<void> {
    this.reload()
    await super.applyToHTTPSOptions(options)
  }
}

function tryLoad(load: () => KubeConfigParts | undefined): KubeConfigParts | undefined {
  try {
    return load()
  } catch {
    return undefined
  }
}
