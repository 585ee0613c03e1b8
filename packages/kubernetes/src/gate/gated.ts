import type { ApiConstructor, ApiType, Configuration, KubeConfig, RequestContext } from '@kubernetes/client-node'
import { gatedHttpLibrary } from './gated-http-library.ts'
import { SharedDispatcher } from './shared-dispatcher.ts'
import { WriteGate, type GatedTerm, type RefusalListener } from './write-gate.ts'

/** Options of {@link gated}. */
export interface GatedOptions {
  /** Told of every write that is refused or aborted. */
  readonly onRefusal?: RefusalListener
}

/**
 * A view of a kubeconfig whose clients can write only while the term holds its lease.
 *
 * Requests other than GET, HEAD and OPTIONS are refused with a `WriteGateClosedError` before a byte of them is sent once the
 * gate is closed, and aborted when it closes while they are under way. Reads pass. Creating a review (of access, of a token) is
 * a write. Exec, attach, port-forward and copy are refused too, but sessions that are open go on.
 *
 * The clients share connections, which are closed with the gate as soon as nothing uses them.
 *
 * This keeps an honest process from writing late; it does not replace a check on the server, because a request that has left
 * may take effect at any later time.
 *
 * @example
 * ```ts
 * const pods = gated(term, kubeConfig).makeApiClient(CoreV1Api)
 * await pods.deleteNamespacedPod({ name: 'idle', namespace: 'ops' })
 * ```
 */
export function gated(term: GatedTerm, kubeConfig: KubeConfig, options: GatedOptions = {}): KubeConfig {
  const gate = new WriteGate(term, options.onRefusal ?? (() => {}))
  const connections = new SharedDispatcher(kubeConfig)
  if (term.gateSignal.aborted) connections.close()
  else term.gateSignal.addEventListener('abort', () => connections.close(), { once: true })
  const makeApiClient = <T extends ApiType>(apiClientType: ApiConstructor<T>): T => {
    const configuration = clientConfiguration(kubeConfig)
    const httpApi = gatedHttpLibrary(configuration.httpApi, gate)
    return new apiClientType({ ...configuration, httpApi, authMethods: { default: view } })
  }
  const applyToHTTPSOptions: KubeConfig['applyToHTTPSOptions'] = async (httpsOptions) => {
    await kubeConfig.applyToHTTPSOptions(httpsOptions)
    if (!gate.isOpen()) throw gate.refuse({ method: 'CONNECT', url: serverOf(kubeConfig), outcome: 'not-sent' })
  }
  const view: KubeConfig = Object.create(kubeConfig, {
    makeApiClient: { value: makeApiClient },
    applySecurityAuthentication: { value: (request: RequestContext) => connections.apply(request) },
    applyToHTTPSOptions: { value: applyToHTTPSOptions },
  })
  return view
}

/** What the kubeconfig would have given to a client. */
function clientConfiguration(kubeConfig: KubeConfig): Configuration {
  return kubeConfig.makeApiClient(ConfigurationProbe).configuration
}

class ConfigurationProbe {
  readonly configuration: Configuration

  constructor(configuration: Configuration) {
    this.configuration = configuration
  }
}

function serverOf(kubeConfig: KubeConfig): string {
  return kubeConfig.getCurrentCluster()?.server ?? ''
}
