import { findKubeConfig } from '@tenure/kubernetes/internal'
import {
  ApiTransport,
  type ApiRequest,
  assertDnsLabel,
  isJsonObject,
  stringAt,
  withDeadline,
} from '@tenure/kubernetes/internal'
import type { FoundKubeConfig, JsonObject } from '@tenure/kubernetes/internal'
import type { ClusterFlags } from '../add-command.ts'
import type { Terminal } from '../terminal.ts'
import { PodPort } from './pod-port.ts'

/** How long the server may take to answer a request. */
const TIMEOUT_MS = 10_000

/** A resource, in the terms of paths and of authorization. */
export interface ResourcePath {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Empty for all namespaces, and for cluster-scoped resources. */
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
}

/** One request to the cluster of a {@link Cluster}. */
export interface ClusterRequest {
  readonly method: ApiRequest['method']
  /** In the terms of Kubernetes authorization. */
  readonly verb: string
  readonly body?: unknown
  readonly contentType?: string
  readonly query?: Readonly<Record<string, string>>
}

/** The connection of one command to an API server. Owns its connections. */
export class Cluster implements AsyncDisposable {
  readonly kubeConfig: FoundKubeConfig
  /** The namespace of the command: `--namespace`, that of the context, or `default`. */
  readonly namespace: string
  readonly #terminal: Terminal
  readonly #transport: ApiTransport

  private constructor(kubeConfig: FoundKubeConfig, namespace: string, terminal: Terminal) {
    this.kubeConfig = kubeConfig
    this.namespace = namespace
    this.#terminal = terminal
    this.#transport = new ApiTransport({ kubeConfig, userAgent: 'tenure command', clock: terminal.clock })
  }

  /** Finds the kubeconfig. Sends nothing. @throws KubeConfigError if there is none; OptionsError for a malformed namespace. */
  static open({ kubeconfig, context, namespace }: ClusterFlags, terminal: Terminal): Cluster {
    const kubeConfig = findKubeConfig({
      env: terminal.env,
      ...(kubeconfig !== undefined && { kubeConfigPath: kubeconfig }),
      ...(context !== undefined && { context }),
    })
    if (namespace !== undefined) assertDnsLabel('--namespace', namespace)
    const ofContext = kubeConfig.getContextObject(kubeConfig.getCurrentContext())?.namespace
    return new Cluster(kubeConfig, namespace ?? (ofContext || 'default'), terminal)
  }

  /** The address of the API server. */
  get server(): string {
    return this.kubeConfig.getCurrentCluster()?.server ?? ''
  }

  /** Sends a request. @throws ApiRequestError that names the verb and the resource */
  async send(path: ResourcePath, request: ClusterRequest): Promise<JsonObject> {
    const { verb, ...rest } = request
    const { clock, interrupted } = this.#terminal
    const answer = await withDeadline({ clock, timeoutMs: TIMEOUT_MS, signal: interrupted }, (signal) =>
      this.#transport.send({ ...rest, path: pathOf(path), target: targetOf(path, verb), signal }),
    )
    return isJsonObject(answer) ? answer : {}
  }

  /** Reads one object. */
  get(path: ResourcePath): Promise<JsonObject> {
    return this.send(path, { method: 'GET', verb: 'get' })
  }

  /** Whether this is the embedded API server, as `tenure dev` runs it. */
  async isEmbedded(): Promise<boolean> {
    const { clock, interrupted } = this.#terminal
    const target = { verb: 'get', group: '', resource: 'path', namespace: '', name: '/version' }
    const answer = await withDeadline({ clock, timeoutMs: TIMEOUT_MS, signal: interrupted }, (signal) =>
      this.#transport.send({ method: 'GET', path: '/version', target, signal }),
    )
    return isJsonObject(answer) && (stringAt(answer, 'gitVersion') ?? '').endsWith('+tenure')
  }

  /** Lists objects. */
  async list(path: ResourcePath, query: Readonly<Record<string, string>> = {}): Promise<readonly JsonObject[]> {
    const { items } = await this.send(path, { method: 'GET', verb: 'list', query })
    return Array.isArray(items) ? items.filter(isJsonObject) : []
  }

  /** Merges a patch into an object, and returns the object. */
  patch(path: ResourcePath, body: JsonObject): Promise<JsonObject> {
    return this.send(path, { method: 'PATCH', verb: 'patch', body, contentType: 'application/merge-patch+json' })
  }

  /** A port of a Pod of the namespace. */
  portOf(pod: string, port: number): PodPort {
    const { kubeConfig, namespace } = this
    return new PodPort({ kubeConfig, namespace, pod, port }, this.#terminal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport.close()
  }
}

/** The path of a resource below the address of the server. */
export function pathOf({
  group,
  version,
  resource,
  namespace = '',
  name = '',
  subresource = '',
}: ResourcePath): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const scope = namespace === '' ? '' : `/namespaces/${namespace}`
  return [`${root}${scope}/${resource}`, name, subresource].filter((part) => part !== '').join('/')
}

function targetOf({ group, resource, namespace = '', name = '', subresource = '' }: ResourcePath, verb: string) {
  return { verb, group, resource: subresource === '' ? resource : `${resource}/${subresource}`, namespace, name }
}
