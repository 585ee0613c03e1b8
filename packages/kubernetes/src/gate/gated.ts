import type { ApiConstructor, ApiType, Configuration, KubeConfig } from '@kubernetes/client-node'
import { gatedHttpLibrary } from './gated-http-library.ts'
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
  const makeApiClient = <T extends ApiType>(apiClientType: ApiConstructor<T>): T => {
    const configuration = clientConfiguration(kubeConfig)
    return new apiClientType({ ...configuration, httpApi: gatedHttpLibrary(configuration.httpApi, gate) })
  }
  const applyToHTTPSOptions: KubeConfig['applyToHTTPSOptions'] = async (httpsOptions) => {
    await kubeConfig.applyToHTTPSOptions(httpsOptions)
    if (!gate.isOpen()) throw gate.refuse({ method: 'CONNECT', url: serverOf(kubeConfig), outcome: 'not-sent' })
  }
  const view: KubeConfig = Object.create(kubeConfig, {
    makeApiClient: { value: makeApiClient },
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
