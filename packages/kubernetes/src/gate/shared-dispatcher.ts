import type { KubeConfig, RequestContext } from '@kubernetes/client-node'
import { clientNode } from '#client-node'
import { systemClock, type WriteGate } from '@tenure/core/internal'
import type { Agent } from 'node:http'
import { KubeConfigError } from '../client/kubeconfig/kube-config-error.ts'
import { sameConnection, type ConnectionSettings } from '../client/connection-settings.ts'
import { CurrentSettings } from '../client/current-settings.ts'
import { gatedAgent } from './gated-agent.ts'
import { discreetDispatch, gatedDispatch, type Dispatcher } from './gated-dispatch.ts'

interface Connected {
  readonly settings: ConnectionSettings
  readonly dispatcher: Dispatcher
}

type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0]

/**
 * Keeps the connections of the clients of one term, from the first request to the end of the term.
 *
 * client-node opens a connection for every request and leaves it to time out. Here, requests share connections while the TLS
 * settings of the kubeconfig stay the same. After {@link SharedDispatcher.close}, each connection closes when its requests have
 * ended. Every dispatcher and agent from here sends writes only while the gate is open. Credentials are at most 5 s old, and are
 * read again when the server refuses them.
 */
export class SharedDispatcher {
  readonly #current: CurrentSettings
  readonly #gate: WriteGate
  readonly #gated = new WeakMap<Dispatcher, Dispatcher>()
  readonly #plain = new WeakMap<Dispatcher, Dispatcher>()
  readonly #applied = new WeakMap<RequestContext, ConnectionSettings>()
  #connected: Connected | undefined
  #closed = false

  constructor(kubeConfig: KubeConfig, gate: WriteGate) {
    this.#current = new CurrentSettings(kubeConfig, systemClock)
    this.#gate = gate
  }

  /** Authenticates a request as the kubeconfig does, and gives it a shared connection; after `close()`, its own. */
  async apply(request: RequestContext): Promise<void> {
    const settings = this.#current.known ?? (await this.#current.get())
    this.#applied.set(request, settings)
    if (settings.auth !== undefined) {
      request.setHeaderParam('Authorization', `Basic ${Buffer.from(settings.auth).toString('base64')}`)
    }
    for (const [name, value] of Object.entries(settings.headers)) request.setHeaderParam(name, value)
    request.setDispatcher(this.#withGate(await this.#dispatcherFor(settings)))
  }

  /** Authenticates a request again after the server refused its credentials. Returns false if they are still the same. */
  async reapply(request: RequestContext): Promise<boolean> {
    const refused = this.#applied.get(request)
    if (refused === undefined) return false
    this.#current.renew(refused)
    await this.apply(request)
    const settings = this.#applied.get(request)
    return settings !== undefined && !sameCredentials(refused, settings)
  }

  /** Applies the kubeconfig to options of `node:http` and `node:https`, with an agent that checks the gate. */
  async applyToHTTPSOptions(options: HttpsOptions): Promise<void> {
    const settings = await this.#current.get()
    await settings.view().applyToHTTPSOptions(options)
    const { agent } = options
    if (!isAgent(agent))
      throw new KubeConfigError('client-node gave no agent for the connection, so the write gate cannot check it')
    const onRefused = () => void this.#current.renew(settings)
    const dispatcher = this.#withGate(await this.#dispatcherFor(settings))
    Object.assign(options, {
      agent: gatedAgent(agent, { gate: this.#gate, url: settings.server.origin, onRefused }),
      dispatcher,
    })
  }

  /** The dispatcher under a gated dispatcher, for callers that check the gate themselves; any other dispatcher as it is. */
  plain(dispatcher: Dispatcher | undefined): Dispatcher | undefined {
    return dispatcher && (this.#plain.get(dispatcher) ?? dispatcher)
  }

  /** Closes idle connections at once, and the others when their requests end. Later requests get their own. */
  close(): void {
    this.#closed = true
    this.#letGo()
  }

  #withGate(dispatcher: Dispatcher): Dispatcher {
    const known = this.#gated.get(dispatcher)
    if (known !== undefined) return known
    const gated = dispatcher.compose(gatedDispatch(this.#gate, () => this.#onUnauthorized(dispatcher)))
    this.#gated.set(dispatcher, gated)
    this.#plain.set(gated, dispatcher)
    return gated
  }

  /** Clients that send their own requests, such as watches, do not report a refusal. */
  #onUnauthorized(dispatcher: Dispatcher): void {
    const settings = this.#current.known
    if (settings !== undefined && this.#connected?.dispatcher === dispatcher) this.#current.renew(settings)
  }

  async #dispatcherFor(settings: ConnectionSettings): Promise<Dispatcher> {
    const known = this.#connected
    if (known !== undefined && sameConnection(known.settings, settings)) return known.dispatcher
    const dispatcher = await createDispatcher(settings)
    const current = this.#connected
    if (this.#closed) return dispatcher
    if (current !== undefined && sameConnection(current.settings, settings)) return current.dispatcher
    this.#letGo()
    this.#connected = { settings, dispatcher }
    return dispatcher
  }

  #letGo(): void {
    // It rejects if the connections are already broken.
    this.#connected?.dispatcher.close().catch(() => {})
    this.#connected = undefined
  }
}

/**
 * Makes a dispatcher through client-node. If the kubeconfig sets no TLS option, as with a public certificate, client-node makes
 * none, and the requests would bypass the gate through the global dispatcher of the process. So one option is always set, to its
 * default value.
 */
async function createDispatcher({ server, proxyUrl, ...settings }: ConnectionSettings): Promise<Dispatcher> {
  const { HttpMethod, RequestContext } = clientNode()
  const view = settings.view()
  const applyOptions = async (options: HttpsOptions) => {
    await Reflect.apply(Reflect.get(view, 'applyOptions'), view, [options])
    options.rejectUnauthorized ??= process.env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0'
  }
  const withTls: KubeConfig = Object.create(view, { applyOptions: { value: applyOptions } })
  const probe = new RequestContext(server.href, HttpMethod.GET)
  await withTls.applySecurityAuthentication(probe)
  const dispatcher = probe.getDispatcher()
  if (dispatcher !== undefined) return proxyUrl === undefined ? dispatcher : dispatcher.compose(discreetDispatch)
  throw new KubeConfigError('client-node gave no dispatcher for the connections, so the write gate cannot check them')
}

function sameCredentials(a: ConnectionSettings, b: ConnectionSettings): boolean {
  return sameConnection(a, b) && a.auth === b.auth && JSON.stringify(a.headers) === JSON.stringify(b.headers)
}

function isAgent(agent: HttpsOptions['agent']): agent is Agent {
  return typeof agent === 'object' && 'addRequest' in agent
}
