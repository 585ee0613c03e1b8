import type { KubeConfig, RequestContext } from '@kubernetes/client-node'
import type { WriteGate } from '@tenure/core'
import { resolveConnectionSettings, sameConnection, type ConnectionSettings } from '../transport/connection-settings.ts'
import { gatedDispatch, type Dispatcher } from './gated-dispatch.ts'

interface Connected {
  readonly settings: ConnectionSettings
  readonly dispatcher: Dispatcher
}

/**
 * Keeps the connections of the clients of one term, from the first request to the end of the term.
 *
 * client-node opens a connection for every request and leaves it to time out. Here, requests share connections while the TLS
 * material of the kubeconfig stays the same, and after {@link SharedDispatcher.close} none is left once what is under way ends.
 * What is handed out lets writes through only while the gate is open.
 */
export class SharedDispatcher {
  readonly #kubeConfig: KubeConfig
  readonly #gate: WriteGate
  readonly #gated = new WeakMap<Dispatcher, Dispatcher>()
  readonly #plain = new WeakMap<Dispatcher, Dispatcher>()
  #connected: Connected | undefined
  #closed = false

  constructor(kubeConfig: KubeConfig, gate: WriteGate) {
    this.#kubeConfig = kubeConfig
    this.#gate = gate
  }

  /** Authenticates a request as the kubeconfig does, and gives it a shared connection while there are any to share. */
  async apply(request: RequestContext): Promise<void> {
    await this.#kubeConfig.applySecurityAuthentication(request)
    const dispatcher = request.getDispatcher()
    if (dispatcher === undefined) return
    if (this.#closed) return request.setDispatcher(this.#withGate(dispatcher))
    const settings = await resolveConnectionSettings(this.#kubeConfig)
    request.setDispatcher(this.#withGate(this.#dispatcherFor({ settings, dispatcher })))
  }

  /** The dispatcher under one that was handed out, for who asks the gate himself; any other as it is. */
  plain(dispatcher: Dispatcher | undefined): Dispatcher | undefined {
    return dispatcher && (this.#plain.get(dispatcher) ?? dispatcher)
  }

  /** Lets go of the connections: idle ones are closed, the others when their requests end. Later requests get their own. */
  close(): void {
    this.#closed = true
    this.#letGo()
  }

  #withGate(dispatcher: Dispatcher): Dispatcher {
    const known = this.#gated.get(dispatcher)
    if (known !== undefined) return known
    const gated = dispatcher.compose(gatedDispatch(this.#gate))
    this.#gated.set(dispatcher, gated)
    this.#plain.set(gated, dispatcher)
    return gated
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
