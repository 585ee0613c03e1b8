import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node'
import type { ApiRequest } from '../../packages/kubernetes/src/client/api-request.ts'
import { ApiTransport } from '../../packages/kubernetes/src/client/api-transport.ts'
import { LineDecoder } from '../../packages/kubernetes/src/reflector/line-decoder.ts'

/** One HTTP client. */
export interface Client {
  send(method: 'POST' | 'PUT', path: string, body: unknown, signal?: AbortSignal): Promise<unknown>
  /** Resolves when the server has answered. */
  watch(path: string, onLine: (line: string) => void): Promise<void>
  close(): Promise<unknown>
}

/** The transport of `@tenure/kubernetes`, on `node:https`. */
export async function ownClient(kubeConfig: KubeConfig): Promise<Client> {
  const transport = new ApiTransport({ kubeConfig })
  const target = { verb: 'update', group: '', resource: 'leases', namespace: 'default', name: '' }
  const unaborted = () => new AbortController().signal
  const request = (method: ApiRequest['method'], path: string, signal = unaborted()) => ({
    method,
    path,
    target,
    signal,
  })
  return {
    send: (method, path, body, signal) => transport.send({ ...request(method, path, signal), body }),
    async watch(path, onLine) {
      const decoder = new LineDecoder()
      const stream = await transport.open(request('GET', path))
      stream.read((chunk) => decoder.push(chunk).forEach(onLine)).catch(() => {})
    },
    close: () => transport.close(),
  }
}

/** The undici of client-node, as client-node configures it. It negotiates HTTP/2 unless `allowH2` is false. */
export async function undiciClient(kubeConfig: KubeConfig, protocol: { readonly allowH2?: false }): Promise<Client> {
  const origin = kubeConfig.getCurrentCluster()?.server ?? ''
  const probe = new RequestContext(origin, HttpMethod.GET)
  await kubeConfig.applySecurityAuthentication(probe)
  const dispatcher = probe.getDispatcher()
  if (dispatcher === undefined) throw new Error('client-node made no dispatcher')
  const options = {
    origin,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    ...protocol,
  }
  return {
    async send(method, path, body, signal) {
      const answer = await dispatcher.request({
        ...options,
        path,
        method,
        body: JSON.stringify(body),
        signal: signal ?? null,
      })
      const parsed: unknown = await answer.body.json()
      if (answer.statusCode >= 300) throw new Error(JSON.stringify(parsed))
      return parsed
    },
    async watch(path, onLine) {
      const decoder = new LineDecoder()
      const { body } = await dispatcher.request({ ...options, path, method: 'GET', bodyTimeout: 0 })
      body.on('data', (chunk: Buffer) => decoder.push(chunk).forEach(onLine)).on('error', () => {})
    },
    close: () => dispatcher.destroy(),
  }
}
