/** Every kind of client of a gated kubeconfig. After the gate closes, no write of any client reaches the server. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { PassThrough, type Duplex } from 'node:stream'
import tls from 'node:tls'
import * as kubernetes from '@kubernetes/client-node'
import {
  Attach,
  type Cluster,
  CoreV1Api,
  createConfiguration,
  Exec,
  HttpMethod,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  Metrics,
  PortForward,
  RequestContext,
  ServerConfiguration,
  Watch,
} from '@kubernetes/client-node'
import { gatedFetch, LeadershipEndedError } from '@tenure/core'
import { gated } from '@tenure/kubernetes'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CertificateAuthority } from '../../packages/api-server/src/certificate-authority.ts'

type Call = (...values: readonly unknown[]) => Promise<unknown>
/** Those of client-node, whose dispatchers the gate sits in. */
const requireOfClient = createRequire(import.meta.resolve('@kubernetes/client-node'))
const undici = requireOfClient('undici') as Record<'fetch' | 'request' | 'stream', Call> &
  Record<'Request' | 'WebSocket', new (url: string, init?: object) => EventTarget>
const { WebSocket } = requireOfClient('ws') as {
  readonly WebSocket: new (url: string, protocols: readonly string[], options: object) => NodeJS.EventEmitter
}

/** The requests that reached a server: the method of each, and `UPGRADE` for a session. */
const seen: string[] = []
const READS = new Set(['GET', 'HEAD', 'OPTIONS'])
const writesSeen = () => seen.filter((method) => !READS.has(method))

const sockets = new Set<Duplex>()
const servers: http.Server[] = []
const urls = { http: '', https: '' }
const trusted = tls.getCACertificates()
let caCert = ''

const ANSWER = JSON.stringify({
  kind: 'APIResourceList',
  metadata: { name: 'x' },
  items: [],
  resources: [{ kind: 'ConfigMap', name: 'configmaps', namespaced: true }],
})

beforeAll(async () => {
  const authority = CertificateAuthority.create('gate')
  caCert = authority.root.cert
  // For the cluster with a certificate that everybody trusts.
  tls.setDefaultCACertificates([...trusted, caCert])
  servers.push(http.createServer(), https.createServer(authority.issueServerCertificate(['localhost', '127.0.0.1'])))
  for (const server of servers) {
    server.on('request', (request, response) => {
      seen.push(request.method ?? '')
      request.resume()
      response.setHeader('content-type', 'application/json').end(ANSWER)
    })
    server.on('upgrade', (request, socket) => {
      seen.push('UPGRADE')
      sockets.add(socket.on('error', () => {}))
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${request.headers.upgrade}\r\nConnection: Upgrade\r\n\r\n`,
      )
    })
    server.on('connect', (_request, socket: Duplex) => {
      seen.push('CONNECT')
      sockets.add(socket.on('error', () => {}))
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  urls.http = `http://127.0.0.1:${ports[0]}`
  urls.https = `https://localhost:${ports[1]}`
})
afterAll(() => {
  tls.setDefaultCACertificates(trusted)
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})
beforeEach(() => void (seen.length = 0))
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
})

function openTerm() {
  const gate = new AbortController()
  let held = true
  return {
    epoch: 42n,
    isHeld: () => held,
    gateSignal: gate.signal,
    close: () => gate.abort(new LeadershipEndedError('superseded', 42n)),
    /** As after a pause: the clock says so, no timer has fired. */
    runOut: () => void (held = false),
  }
}

/** Kinds of clusters and users, each of which makes client-node choose its connections in another way. */
const CLUSTERS: readonly [string, () => KubeConfig][] = [
  ['plain HTTP', () => kubeConfigAt({ name: 'c', server: urls.http, skipTLSVerify: true })],
  [
    'a CA of its own',
    () => kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: false, caData: base64(caCert) }),
  ],
  ['a public certificate', () => kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: false })],
  ['no verification', () => kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: true })],
  [
    'a server name',
    () => kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: false, tlsServerName: 'localhost' }),
  ],
  ['no user', () => kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: false }, false)],
]

const base64 = (text: string) => Buffer.from(text).toString('base64')

function kubeConfigAt(cluster: Cluster, hasUser = true): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromOptions({
    clusters: [cluster],
    users: hasUser ? [{ name: 'u', token: 't' }] : [],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  })
  return kubeConfig
}

/** Prepares a write with what the view gives out; the returned function sends it. */
type Way = (view: KubeConfig, url: string) => Promise<() => Promise<unknown>>

const PATH = '/api/v1/namespaces/ops/configmaps'
const BODY = { metadata: { name: 'x' } }

async function httpsOptions(
  view: KubeConfig,
  by: 'applyToHTTPSOptions' | 'applyOptions',
): Promise<https.RequestOptions> {
  const options: https.RequestOptions = {}
  await Reflect.apply(Reflect.get(view, by), view, [options])
  return options
}

/** Sends a request of `node:http` or `node:https`, and resolves with its end whatever that is. */
async function send(url: string, options: https.RequestOptions, headers: Record<string, string> = {}): Promise<void> {
  const request = (url.startsWith('https:') ? https : http).request(`${url}${PATH}`, options)
  for (const [name, value] of Object.entries(headers)) request.setHeader(name, value)
  request.on('upgrade', (_response, socket: Duplex) => socket.destroy())
  request.on('response', (response) => response.resume())
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  request.once('error', reject).once('close', resolve)
  request.end()
  await promise
}

async function authenticated(view: KubeConfig, url: string) {
  const request = new RequestContext(`${url}${PATH}`, HttpMethod.GET)
  await view.applySecurityAuthentication(request)
  const dispatcher = request.getDispatcher()
  return { headers: request.getHeaders(), dispatcher, call: dispatcher as unknown as Record<string, Call> }
}

const sessionHandler = (view: KubeConfig) => ({
  async connect(path: string): Promise<never> {
    const options = await httpsOptions(view, 'applyToHTTPSOptions')
    const url = view.getCurrentCluster()?.server.replace('http', 'ws')
    const session = new WebSocket(`${url}${path}`, ['v5.channel.k8s.io'], options)
    // The servers here agree to anything, which is as far as it may get.
    const [error] = await once(session, 'error')
    throw error
  },
})

const post = { method: 'POST', body: JSON.stringify(BODY) }

const WAYS: Readonly<Record<string, Way>> = {
  'a typed client': async (view) => {
    const client = view.makeApiClient(CoreV1Api)
    return () => client.createNamespacedConfigMap({ namespace: 'ops', body: BODY })
  },
  'a typed client over a configuration of its own': async (view, url) => {
    const server = new ServerConfiguration(url, {})
    const client = new CoreV1Api(createConfiguration({ baseServer: server, authMethods: { default: view } }))
    return () => client.createNamespacedConfigMap({ namespace: 'ops', body: BODY })
  },
  'the client of any object': async (view) => {
    const client = KubernetesObjectApi.makeApiClient(view)
    return () => client.create({ apiVersion: 'v1', kind: 'ConfigMap', ...BODY })
  },
  exec: async (view) => () =>
    new Exec(view, sessionHandler(view)).exec('ops', 'pod', 'container', ['true'], null, null, null, false),
  attach: async (view) => () =>
    new Attach(view, sessionHandler(view)).attach('ops', 'pod', 'container', null, null, null, false),
  'port-forward': async (view) => () =>
    new PortForward(view, true, sessionHandler(view)).portForward(
      'ops',
      'pod',
      [80],
      new PassThrough(),
      null,
      new PassThrough(),
    ),
  ...nodeWays('applyToHTTPSOptions'),
  ...nodeWays('applyOptions'),
  'the fetch of undici with the dispatcher of a request': async (view, url) => {
    const { headers, dispatcher } = await authenticated(view, url)
    return () => undici.fetch(`${url}${PATH}`, { ...post, headers, dispatcher })
  },
  'a request of undici with the dispatcher of a request': async (view, url) => {
    const { headers, dispatcher } = await authenticated(view, url)
    return () => undici.request(`${url}${PATH}`, { ...post, headers, dispatcher })
  },
  'a stream of undici with the dispatcher of a request': async (view, url) => {
    const { headers, dispatcher } = await authenticated(view, url)
    return () => undici.stream(`${url}${PATH}`, { ...post, headers, dispatcher }, () => new PassThrough().resume())
  },
  'a WebSocket of undici with the dispatcher of a request': async (view, url) => {
    const { headers, dispatcher } = await authenticated(view, url)
    return async () => {
      const socket = new undici.WebSocket(`${url}${PATH}`.replace('http', 'ws'), { headers, dispatcher })
      await new Promise((_, reject) => socket.addEventListener('error', reject))
    }
  },
  'a request of the dispatcher': async (view, url) => {
    const { headers, call } = await authenticated(view, url)
    return async () => call['request']?.({ origin: url, path: PATH, headers, ...post })
  },
  'a request of a dispatcher composed of the dispatcher': async (view, url) => {
    const { headers, dispatcher } = await authenticated(view, url)
    const composed = dispatcher?.compose((dispatch) => (options, handler) => dispatch(options, handler))
    return async () =>
      (composed as unknown as Record<string, Call>)['request']?.({ origin: url, path: PATH, headers, ...post })
  },
  'an upgrade of the dispatcher': async (view, url) => {
    const { headers, call } = await authenticated(view, url)
    return async () => {
      const upgraded = (await call['upgrade']?.({ origin: url, path: PATH, headers, protocol: 'test' })) as {
        socket: Duplex
      }
      upgraded.socket.on('error', () => {}).destroy()
    }
  },
  'a tunnel of the dispatcher': async (view, url) => {
    const { headers, call } = await authenticated(view, url)
    return async () => {
      const connected = (await call['connect']?.({ origin: url, path: 'x:1', headers })) as { socket: Duplex }
      connected.socket.on('error', () => {}).destroy()
    }
  },
}

function nodeWays(by: 'applyToHTTPSOptions' | 'applyOptions'): Record<string, Way> {
  const way = (act: (url: string, options: https.RequestOptions) => Promise<unknown>): Way => {
    return async (view, url) => {
      const options = await httpsOptions(view, by)
      return () => act(url, options)
    }
  }
  const upgrade = { connection: 'Upgrade', upgrade: 'SPDY/3.1' }
  return {
    [`a request with options of ${by}()`]: way((url, options) => send(url, { ...options, method: 'POST' })),
    [`a request in lower case with options of ${by}()`]: way((url, options) =>
      send(url, { ...options, method: 'delete' }),
    ),
    [`a session with options of ${by}()`]: way((url, options) =>
      send(url, { ...options, headers: { ...(options.headers as object), ...upgrade } }),
    ),
    [`a session by a later header with options of ${by}()`]: way((url, options) => send(url, options, upgrade)),
    [`the fetch of undici with options of ${by}()`]: way((url, options) =>
      undici.fetch(`${url}${PATH}`, { ...(options as object), ...post }),
    ),
    [`a request of undici with options of ${by}()`]: way((url, options) => {
      const { dispatcher, headers } = options as { readonly dispatcher?: object; readonly headers?: object }
      return undici.request(`${url}${PATH}`, { dispatcher, headers, ...post })
    }),
  }
}

describe.each(CLUSTERS)('a cluster with %s', (_what, kubeConfig) => {
  const names = Object.keys(WAYS)

  test.each(names)('is written to while the gate is open by %s', async (name) => {
    const [term, own] = [openTerm(), kubeConfig()]
    const write = await WAYS[name]?.(gated(term, own), own.getCurrentCluster()?.server ?? '')
    await Promise.allSettled([write?.()])
    expect(writesSeen()).not.toEqual([])
    term.close()
  })

  test.each(['close', 'runOut'] as const)(
    'is never written to after %s, by what was made before or after it',
    async (end) => {
      for (const name of names) {
        const [term, own] = [openTerm(), kubeConfig()]
        const view = gated(term, own)
        const url = own.getCurrentCluster()?.server ?? ''
        const kept = await WAYS[name]?.(view, url)
        term[end]()
        const outcomes = await Promise.allSettled([kept?.(), WAYS[name]?.(view, url).then((write) => write())])
        expect([name, writesSeen()]).toEqual([name, []])
        expect([name, outcomes.map(({ status }) => status)]).toEqual([name, ['rejected', 'rejected']])
        term.close()
      }
    },
  )

  test('is still read after it', async () => {
    const term = openTerm()
    const view = gated(term, kubeConfig())
    term.close()
    await view.makeApiClient(CoreV1Api).readNamespacedConfigMap({ name: 'x', namespace: 'ops' })
    await new Log(view).log('ops', 'pod', 'container', new PassThrough())
    await new Metrics(view).getNodeMetrics()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    await new Watch(view).watch(
      PATH,
      {},
      () => {},
      () => resolve(),
    )
    await ended
    expect(seen).toEqual(['GET', 'GET', 'GET', 'GET'])
  })
})

test('the fetch of Node with the dispatcher of a gated kubeconfig writes never, rather than past the gate', async () => {
  const term = openTerm()
  const { headers, dispatcher } = await authenticated(
    gated(term, kubeConfigAt({ name: 'c', server: urls.http, skipTLSVerify: true })),
    urls.http,
  )
  const write = () => (fetch as Call)(`${urls.http}${PATH}`, { ...post, headers, dispatcher })
  await expect(write()).rejects.toThrow()
  term.close()
  await expect(write()).rejects.toThrow()
  expect(seen).toEqual([])
})

test('no method of any typed client writes after the gate is closed', async () => {
  const term = openTerm()
  const view = gated(term, kubeConfigAt({ name: 'c', server: urls.https, skipTLSVerify: false }))
  term.close()
  const parameters = new Proxy({}, { get: (_, key) => (key === 'body' ? {} : 'x') })
  const writes = writingMethods(view)
  const passed: string[] = []
  for (const { name, call } of writes) {
    const [outcome] = await Promise.allSettled([call(parameters)])
    const refused = outcome?.status === 'rejected' && outcome.reason?.code === 'WRITE_GATE_CLOSED'
    if (!refused) passed.push(name)
  }
  expect(passed).toEqual([])
  expect(writesSeen()).toEqual([])
  expect(writes.length).toBeGreaterThan(1000)
})

/** Every method of every typed client that writes. */
function writingMethods(view: KubeConfig): readonly { readonly name: string; readonly call: Call }[] {
  const apis = Object.entries(kubernetes).filter(
    ([name, api]) => /^[A-Z].*Api$/.test(name) && typeof api === 'function' && api !== KubernetesObjectApi,
  )
  return apis.flatMap(([name, api]) => {
    const client = view.makeApiClient(api as typeof CoreV1Api) as unknown as Record<string, Call>
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client))
    const writing = methods.filter((one) => /^(create|replace|patch|delete|connect(Delete|Patch|Post|Put))/.test(one))
    return writing.map((method) => ({
      name: `${name}.${method}`,
      call: async (...values: readonly unknown[]) => client[method]?.(...values),
    }))
  })
}

describe('gatedFetch() after the term', () => {
  class OwnRequest extends Request {}
  const readsOnce = (first: string) => {
    let reads = 0
    return {
      get method() {
        return reads++ === 0 ? first : 'POST'
      },
    }
  }
  const inherited: object = Object.create({ method: 'POST', body: '{}' })
  const FORMS: readonly [string, (url: string) => readonly [unknown, unknown?]][] = [
    ['a text and a method', (url) => [url, { method: 'POST' }]],
    ['a method in lower case', (url) => [url, { method: 'patch' }]],
    ['a URL', (url) => [new URL(url), { method: 'PUT' }]],
    ['a Request', (url) => [new Request(url, { method: 'POST' })]],
    ['a subclass of Request', (url) => [new OwnRequest(url, { method: 'DELETE' })]],
    ['a Request of undici', (url) => [new undici.Request(url, { method: 'POST' })]],
    ['a Request that reads, and a method', (url) => [new Request(url), { method: 'POST' }]],
    ['a Request of undici that reads, and a method', (url) => [new undici.Request(url), { method: 'POST' }]],
    ['a method on the prototype of the options', (url) => [url, inherited]],
    ['a method that is an object', (url) => [url, { method: Object('POST') as string }]],
    ['a method that no server knows', (url) => [url, { method: 'FROB' }]],
    ['a text that is an object', (url) => [Object(url), { method: 'POST' }]],
    ['an object that becomes a URL', (url) => [{ toString: () => url }, { method: 'POST' }]],
  ]
  const SENDERS: readonly [string, typeof globalThis.fetch | undefined][] = [
    ['the global fetch', undefined],
    ['the fetch of undici', undici.fetch as unknown as typeof globalThis.fetch],
  ]

  test.each(SENDERS)('sends nothing by %s, in every form of its arguments', async (_what, fetch) => {
    const url = `${urls.http}${PATH}`
    for (const [what, make] of FORMS) {
      const term = openTerm()
      term.runOut()
      const send = gatedFetch(term, fetch) as Call
      const [outcome] = await Promise.allSettled([send(...make(url))])
      expect([what, outcome?.status === 'rejected' && outcome.reason?.code]).toEqual([what, 'WRITE_GATE_CLOSED'])
    }
    expect(seen).toEqual([])
  })

  test.each(SENDERS)(
    'sends by %s what it looked at, though the options say something else the next time',
    async (_what, fetch) => {
      const term = openTerm()
      term.runOut()
      await (gatedFetch(term, fetch) as Call)(`${urls.http}${PATH}`, readsOnce('GET'))
      expect(seen).toEqual(['GET'])
    },
  )
})
