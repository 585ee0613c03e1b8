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
  /** Told of every write that is refused or aborted. */
  readonly onRefusal?: RefusalListener
  /**
   * Whether writes carry the epoch of the term and the name of its lease as annotations, for the term check on the server.
   * @default true
   */
  readonly stamp?: boolean
  /**
   * The identity of this replica, when writes shall carry it as an annotation, for the holder check by annotation. A value that
   * differs each time follows it, so a write that changes nothing else still makes a new version of the object. @default none
   */
  readonly holder?: string
}

/**
 * The kubeconfig that it was made of, with clients of any copy of `@kubernetes/client-node` 2. TypeScript tells the copies of a
 * class apart, so `makeApiClient()` of one does not take the clients of another.
 */
export type GatedKubeConfig<K extends KubeConfigLike> = K & Pick<KubeConfigLike, 'makeApiClient'>

/** A term that can be written for. A core `Term` fits. */
export interface StampedTerm extends GatedTerm {
  /** The name of the lease; without it, writes do not carry it. */
  readonly lease?: string
}

const OPTION_NAMES = ['onRefusal', 'stamp', 'holder'] as const satisfies (keyof GatedOptions)[]

/**
 * A view of a kubeconfig whose clients can write only while the term holds its lease.
 *
 * Requests other than GET, HEAD and OPTIONS are refused with a `WriteGateClosedError` before a byte of them is sent once the
 * gate is closed, and aborted when it closes while they are under way. Reads and watches pass. Creating a review (of access, of a
 * token) is a write. Exec, attach, port-forward and copy are refused too, and sessions that are open end with the gate. The gate
 * stays open while a voluntary end drains.
 *
 * Clients of `makeApiClient()` check after all middleware, and write the annotations `tenure.dev/epoch` and `tenure.dev/lease`
 * into every object that they create, replace, patch or apply. A client with a `Configuration` of its own whose `authMethods` are
 * this view is gated at its connections, where its errors carry the refusal as their `cause`, and writes no annotations. Options
 * of `applyToHTTPSOptions()` carry an agent with the gate; a token or a key that is copied out of them is not gated.
 *
 * The clients share connections, which are closed with the gate as soon as nothing uses them. They use credentials that are no older
 * than 5 s, and repeat a request once with fresh ones when the server answers 401.
 *
 * This keeps an honest process from writing late; it does not replace a check on the server, because a request that has left
 * may take effect at any later time.
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

/** Bun puts an undici of its own in the place of the one that client-node asks for. It has no dispatchers, where the gate sits. */
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
    const url = serverOf(base)
    await connections.applyToHTTPSOptions(httpsOptions)
    if (!gate.isOpen()) throw gate.refuse({ method: 'CONNECT', url, outcome: 'not-sent' })
    Object.assign(httpsOptions, { finishRequest: endWithGate(gate, url) })
  }
  // A context that is set on the view is set for all that it gives out, and for nobody else.
  const setCurrentContext = (context: string) => base.setCurrentContext(context)
  const view: KubeConfig = Object.create(base, {
    makeApiClient: { value: makeApiClient },
    applySecurityAuthentication: { value: async (request: RequestContext) => applySecurityAuthentication(request) },
    applyToHTTPSOptions: { value: applyToHTTPSOptions },
    // Private to client-node, but there for everybody who writes JavaScript.
    applyOptions: { value: applyToHTTPSOptions },
    setCurrentContext: { value: setCurrentContext },
  })
  return view
}

/** The stamps of the writes of a term. Each that names the holder differs from the last, so that a write without one shows. */
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
