import { randomUUID } from 'node:crypto'
import type { ApiConstructor, ApiType, Configuration, KubeConfig, RequestContext } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import {
  assertKnownKeys,
  isWriteMethod,
  onAbort,
  WriteGate,
  type GatedTerm,
  type RefusalListener,
} from '@tenure/core/internal'
import { type KubeConfigLike, supportedKubeConfig } from '../client/kubeconfig/kube-config-like.ts'
import { createStamp, EPOCH_ANNOTATION, HOLDER_ANNOTATION, LEASE_ANNOTATION, type Stamp } from './epoch-stamp.ts'
import { gatedHttpLibrary } from './gated-http-library.ts'
import { endWithGate } from './gated-session.ts'
import { SharedDispatcher } from './shared-dispatcher.ts'

/** Options of {@link gated}. */
export interface GatedOptions {
  /** Called for every write that is refused or aborted. */
  readonly onRefusal?: RefusalListener
  /**
   * Whether writes carry the epoch of the term and the name of its lease as annotations, for the term check on the server.
   * @default true
   */
  readonly stamp?: boolean
  /**
   * The identity of this replica, for the holder check by annotation. Every write then carries it, followed by a unique value, so
   * a write that changes nothing else still makes a new version of the object. @default none
   */
  readonly holder?: string
}

/**
 * The gated view of a kubeconfig. Its `makeApiClient()` accepts the clients of any copy of `@kubernetes/client-node` 2; in
 * TypeScript, that of a `KubeConfig` accepts only the clients of its own copy.
 */
export type GatedKubeConfig<K extends KubeConfigLike> = K & Pick<KubeConfigLike, 'makeApiClient'>

/** A term whose epoch and lease a stamp can carry. A core `Term` fits. */
export interface StampedTerm extends GatedTerm {
  /** The name of the lease; without it, writes do not carry it. */
  readonly lease?: string
}

const OPTION_NAMES = ['onRefusal', 'stamp', 'holder'] as const satisfies (keyof GatedOptions)[]

/**
 * A view of a kubeconfig whose clients can write only while the term holds its lease.
 *
 * A write is a request with a method other than GET, HEAD, OPTIONS and TRACE. Once the gate is closed, a write fails with a
 * `WriteGateClosedError` before a byte of it is sent. A write in flight is aborted when the gate closes. Reads and watches pass.
 * Creating a review (of access, of a token) is a write. So are exec, attach, port-forward and copy; open sessions end with the
 * gate. The gate stays open during the drain of a voluntary end.
 *
 * Clients of `makeApiClient()` check after all middleware, and write the annotations `tenure.dev/epoch` and `tenure.dev/lease`
 * into every object that they create, replace, patch or apply. A client with a `Configuration` of its own whose `authMethods` are
 * this view is gated at its connections, where its errors carry the refusal as their `cause`, and writes no annotations. Options
 * of `applyToHTTPSOptions()` carry an agent with the gate; a token or a key that is copied out of them is not gated.
 *
 * The clients share connections. When the gate closes, idle connections close at once, and the others when their requests end.
 * Credentials are at most 5 s old. When the server answers 401, a request is repeated once with fresh credentials.
 *
 * The gate keeps a correct process from writing late. It does not replace a check on the server: a request that was sent may take
 * effect at any later time.
 *
 * @example
 * ```ts
 * const pods = gated(term, kubeConfig).makeApiClient(CoreV1Api)
 * await pods.deleteNamespacedPod({ name: 'idle', namespace: 'ops' })
 * ```
 * @throws OptionsError when `kubeConfig` is not of version 2 of `@kubernetes/client-node`, and on Bun
 */
export function gated<K extends KubeConfigLike>(
  term: StampedTerm,
  kubeConfig: K,
  options: GatedOptions = {},
): GatedKubeConfig<K> {
  assertKnownKeys('`gated()`', options, OPTION_NAMES)
  assertDispatchers()
  return gatedView(term, supportedKubeConfig(kubeConfig), options) as KubeConfigLike as GatedKubeConfig<K>
}

/** Bun replaces the undici that client-node imports by its own, which has no dispatchers for the gate. */
function assertDispatchers(): void {
  if (process.versions['bun'] === undefined) return
  throw new OptionsError(
    'Expected `gated()` to run on Node or Deno, got Bun, whose undici has no dispatchers to gate. Write with `gatedFetch(term)`',
  )
}

function gatedView(term: StampedTerm, kubeConfig: KubeConfig, options: GatedOptions): KubeConfig {
  const gate = new WriteGate(term, options.onRefusal)
  const base: KubeConfig = Object.create(kubeConfig)
  const connections = new SharedDispatcher(base, gate)
  const stamp = stampOf(term, options)
  onAbort(term.gateSignal, () => connections.close())
  const makeApiClient = <T extends ApiType>(apiClientType: ApiConstructor<T>): T => {
    const configuration = clientConfiguration(base)
    const httpApi = gatedHttpLibrary(configuration.httpApi, { gate, connections, stamp })
    return new apiClientType({ ...configuration, httpApi, authMethods: { default: authentication } })
  }
  const authentication = {
    getName: () => base.getName(),
    applySecurityAuthentication: (request: RequestContext) => connections.apply(request),
  }
  const applySecurityAuthentication = (request: RequestContext) => {
    const [method, url] = [request.getHttpMethod(), request.getUrl()]
    if (isWriteMethod(method) && !gate.isOpen()) throw gate.refuse({ method, url, outcome: 'not-sent' })
    return connections.apply(request)
  }
  const applyToHTTPSOptions: KubeConfig['applyToHTTPSOptions'] = async (httpsOptions) => {
    const url = String(base.getCurrentCluster()?.server)
    await connections.applyToHTTPSOptions(httpsOptions)
    if (!gate.isOpen()) throw gate.refuse({ method: 'CONNECT', url, outcome: 'not-sent' })
    Object.assign(httpsOptions, { finishRequest: endWithGate(gate, url) })
  }
  // A context that is set on the view applies to the view and everything it returns, not to the original kubeconfig.
  const setCurrentContext = (context: string) => base.setCurrentContext(context)
  const view: KubeConfig = Object.create(base, {
    makeApiClient: { value: makeApiClient },
    applySecurityAuthentication: { value: async (request: RequestContext) => applySecurityAuthentication(request) },
    applyToHTTPSOptions: { value: applyToHTTPSOptions },
    // Private in the types of client-node, but callable from JavaScript.
    applyOptions: { value: applyToHTTPSOptions },
    setCurrentContext: { value: setCurrentContext },
  })
  return view
}

/**
 * Makes the stamps for the writes of a term. Each stamp with the holder is unique, so that the server detects a write without a
 * stamp.
 */
function stampOf(term: StampedTerm, { stamp = true, holder }: GatedOptions): (() => Stamp) | undefined {
  const annotations = {
    ...(stamp && { [EPOCH_ANNOTATION]: String(term.epoch) }),
    ...(stamp && term.lease !== undefined && { [LEASE_ANNOTATION]: term.lease }),
  }
  if (holder !== undefined) {
    return () => createStamp({ ...annotations, [HOLDER_ANNOTATION]: `${holder}#${randomUUID()}` })
  }
  const constant = createStamp(annotations)
  return stamp ? () => constant : undefined
}

/** The configuration that the kubeconfig passes to its clients. */
function clientConfiguration(kubeConfig: KubeConfig): Configuration {
  return kubeConfig.makeApiClient(ConfigurationProbe).configuration
}

class ConfigurationProbe {
  readonly configuration: Configuration

  constructor(configuration: Configuration) {
    this.configuration = configuration
  }
}
