import type { KubeConfig, RequestContext } from '@kubernetes/client-node'
import { resolveConnectionSettings, sameConnection, type ConnectionSettings } from '../transport/connection-settings.ts'

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>

interface Connected {
  readonly settings: ConnectionSettings
  readonly dispatcher: Dispatcher
}

/**
 * Keeps the connections of the clients of one term, from the first request to the end of the term.
 *
 * client-node opens a connection for every request and leaves it to time out. Here, requests share connections while the TLS
 * material of the kubeconfig stays the same, and after {@link SharedDispatcher.close} none is left once what is under way ends.
 */
export class SharedDispatcher {
  readonly #kubeConfig: KubeConfig
  #connected: Connected | undefined
  #closed = false

  constructor(kubeConfig: KubeConfig) {
    this.#kubeConfig = kubeConfig
  }

  /** Authenticates a request as the kubeconfig does, and gives it a shared connection while there are any to share. */
  async apply(request: RequestContext): Promise<void> {
    await this.#kubeConfig.applySecurityAuthentication(request)
    const dispatcher = request.getDispatcher()
    if (this.#closed || dispatcher === undefined) return
    const settings = await resolveConnectionSettings(this.#kubeConfig)
    request.setDispatcher(this.#dispatcherFor({ settings, dispatcher }))
  }

  /** Lets go of the connections: idle ones are closed, the others when their requests end. Later requests get their own. */
  close(): void {
    this.#closed = true
    this.#letGo()
  }

  #dispatcherFor(offered: Connected): Dispatcher {
    if (this.#closed) return offered.dispatcher
    if (this.#connected !== undefined && sameConnection(this.#connected.settings, offered.settings)) {
      return this.#connected.dispatcher
    }
    this.#letGo()
    this.#connected = offered
    return offered.dispatcher
  }

  #letGo(): void {
    // It rejects when the connections have broken already, which is just as well.
    this.#connected?.dispatcher.close().catch(() => {})
    this.#connected = undefined
  }
}
