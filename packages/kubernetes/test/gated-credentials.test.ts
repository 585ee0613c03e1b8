import { getEventListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http, { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Cluster,
  CoreV1Api,
  createConfiguration,
  HttpMethod,
  KubeConfig,
  RequestContext,
  ServerConfiguration,
  type User,
} from '@kubernetes/client-node'
import { LeadershipEndedError, OptionsError, WriteGateClosedError } from '@tenure/core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { gated } from '../src/gate/gated.ts'
import { answer, LoopbackServer, untilClosed } from './support/loopback-server.ts'
import { middleware } from './support/middleware.ts'

function openTerm() {
  const gate = new AbortController()
  const close = () => gate.abort(new LeadershipEndedError('superseded', 42n))
  onTestFinished(close)
  return { epoch: 42n, isHeld: () => true, gateSignal: gate.signal, close }
}

function kubeConfigOf(server: string, user: Partial<User> = { token: 't' }): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u', ...user })
  return kubeConfig
}

const named = { name: 'x', namespace: 'ops' }
const object = { metadata: { name: 'x' } }

/** A kubeconfig with a token in a file, which the server may refuse. */
async function withTokenFile(accepts: (token: string | undefined) => boolean) {
  let refuses = false
  const server = await LoopbackServer.start(({ headers }, response) => {
    const isFine = !refuses && accepts(headers.authorization?.replace('Bearer ', ''))
    // Without the header, a client lets go of an idle connection after some seconds.
    answer(response, isFine ? 200 : 401, object, { 'keep-alive': 'timeout=600' })
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const folder = mkdtempSync(join(tmpdir(), 'tenure-tokens-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  const kubeConfig = kubeConfigOf(server.url, { authProvider: { name: 'tokenFile', config: { tokenFile } } })
  const rotate = (token: string) => writeFileSync(tokenFile, token)
  rotate('first')
  const tokens = () => server.requests.map(({ message }) => message.headers.authorization?.replace('Bearer ', ''))
  const refuse = () => void (refuses = true)
  return { server, rotate, tokens, refuse, kubeConfig, view: gated(openTerm(), kubeConfig) }
}

describe('The credentials of a gated client', () => {
  test('are the user name and the password of the kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, object))
    const kubeConfig = kubeConfigOf(server.url, { username: 'alice', password: 'pass' })
    await gated(openTerm(), kubeConfig).makeApiClient(CoreV1Api).readNamespacedConfigMap(named)
    expect(server.requests[0]?.message.headers.authorization).toBe(`Basic ${btoa('alice:pass')}`)
  })

  test('are at most 5 s old', async () => {
    const { view, rotate, tokens } = await withTokenFile(() => true)
    const client = view.makeApiClient(CoreV1Api)
    await client.readNamespacedConfigMap(named)
    rotate('second')
    await client.readNamespacedConfigMap(named)
    expect(tokens()).toEqual(['first', 'first'])
  })

  test('that have changed repeat a read and a write', async () => {
    let valid = 'first'
    const { view, rotate, tokens } = await withTokenFile((token) => token === valid)
    const client = view.makeApiClient(CoreV1Api)
    await client.readNamespacedConfigMap(named)
    valid = 'second'
    rotate('second')
    await client.replaceNamespacedConfigMap({ ...named, body: object })
    valid = 'third'
    rotate('third')
    await client.readNamespacedConfigMap(named)
    expect(tokens()).toEqual(['first', 'first', 'second', 'second', 'third'])
  })

  test('that are still the same do not repeat the request', async () => {
    const { view, tokens } = await withTokenFile(() => false)
    await expect(view.makeApiClient(CoreV1Api).readNamespacedConfigMap(named)).rejects.toMatchObject({ code: 401 })
    expect(tokens()).toEqual(['first'])
  })

  test('that have changed and are refused again do not repeat it a second time', async () => {
    const { view, rotate, tokens, refuse } = await withTokenFile((token) => token === 'first')
    const client = view.makeApiClient(CoreV1Api)
    await client.readNamespacedConfigMap(named)
    refuse()
    rotate('second')
    await expect(client.readNamespacedConfigMap(named)).rejects.toMatchObject({ code: 401 })
    expect(tokens()).toEqual(['first', 'first', 'second'])
  })

  test('of another server let go of the connections to the one before', async () => {
    const { server, kubeConfig, view, refuse, rotate } = await withTokenFile(() => true)
    const client = view.makeApiClient(CoreV1Api)
    await client.readNamespacedConfigMap(named)
    kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, server: 'http://127.0.0.1:1' }))
    refuse()
    rotate('second')
    await expect(client.readNamespacedConfigMap(named)).rejects.toMatchObject({ code: 401 })
    await untilClosed(server.connections[0])
  })

  test('of basic authentication repeat the request too', async () => {
    const valid = `Basic ${btoa('alice:new')}`
    await using server = await LoopbackServer.start(({ headers }, response) =>
      answer(response, headers.authorization === valid ? 200 : 401, object),
    )
    const kubeConfig = kubeConfigOf(server.url, { username: 'alice', password: 'old' })
    const client = gated(openTerm(), kubeConfig).makeApiClient(CoreV1Api)
    await expect(client.readNamespacedConfigMap(named)).rejects.toMatchObject({ code: 401 })
    expect(server.requests).toHaveLength(1)
    kubeConfig.users = [{ name: 'u', username: 'alice', password: 'new' }]
    await client.readNamespacedConfigMap(named)
  })

  test('are read again after a client that sends its own requests was refused', async () => {
    let valid = 'first'
    const { server, view, rotate, tokens } = await withTokenFile((token) => token === valid)
    const client = new CoreV1Api(
      createConfiguration({ baseServer: new ServerConfiguration(server.url, {}), authMethods: { default: view } }),
    )
    await client.readNamespacedConfigMap(named)
    valid = 'second'
    rotate('second')
    await expect(client.readNamespacedConfigMap(named)).rejects.toMatchObject({ code: 401 })
    await client.readNamespacedConfigMap(named)
    expect(tokens()).toEqual(['first', 'first', 'second'])
  })

  test('are read again after a request of node:http was refused', async () => {
    let valid = 'first'
    const { server, view, rotate, tokens } = await withTokenFile((token) => token === valid)
    const statusOf = async () => {
      const options: { agent?: unknown; headers?: http.OutgoingHttpHeaders } = {}
      await view.applyToHTTPSOptions(options)
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      const request = http.get(`${server.url}/version`, { ...options, agent: options.agent as Agent }, (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode))
      })
      request.once('error', reject)
      return promise.finally(() => (options.agent as Agent).destroy())
    }
    expect(await statusOf()).toBe(200)
    valid = 'second'
    rotate('second')
    expect([await statusOf(), await statusOf()]).toEqual([401, 200])
    expect(tokens()).toEqual(['first', 'first', 'second'])
  })
})

interface GivenHandler {
  readonly onResponseStart?: (controller: unknown, statusCode: number, headers: object, message: string) => void
  readonly onResponseError?: (controller: unknown, error: Error) => void
}
type Dispatch = (options: unknown, handler: GivenHandler) => boolean

/** A dispatcher whose requests fail with an error that has the options of the connection. */
function failingDispatcher(
  dispatch: Dispatch = (_options, handler) => {
    handler.onResponseError?.({}, Object.assign(new Error('no tunnel'), { options: { password: 'secret' } }))
    return true
  },
): object {
  const compose = (...interceptors: readonly ((inner: Dispatch) => Dispatch)[]) =>
    failingDispatcher(interceptors.flat().reduce((inner, interceptor) => interceptor(inner), dispatch))
  return { dispatch, compose, close: async () => {} }
}

test('a request with credentials of its own is not repeated when the server refuses them', async () => {
  await using server = await LoopbackServer.start((_, response) => answer(response, 401, object))
  const client = gated(openTerm(), server.kubeConfig({ token: 't' })).makeApiClient(CoreV1Api)
  const own = { getName: () => 'own', applySecurityAuthentication: () => {} }
  const reading = client.readNamespacedConfigMap(named, { authMethods: { default: own } })
  await expect(reading).rejects.toMatchObject({ code: 401 })
  expect(server.requests).toHaveLength(1)
})

/** A dispatcher whose requests get a 401. */
const refusingDispatcher = () =>
  failingDispatcher((_options, handler) => {
    handler.onResponseStart?.({}, 401, {}, '')
    return true
  })

describe('A gated kubeconfig', () => {
  test('reads credentials again after a refusal, but not after one on a connection to another server', async () => {
    const { rotate, view, kubeConfig } = await withTokenFile(() => true)
    const [cluster] = kubeConfig.clusters
    kubeConfig.clusters = [...kubeConfig.clusters, { ...cluster, name: 'd', server: 'https://d.test' } as Cluster]
    kubeConfig.contexts = [...kubeConfig.contexts, { name: 'other', cluster: 'd', user: 'u' }]
    Object.defineProperty(kubeConfig, 'createDispatcher', { value: refusingDispatcher })
    const authenticated = async () => {
      const request = new RequestContext('http://127.0.0.1:1/version', HttpMethod.GET)
      await view.applySecurityAuthentication(request)
      return request
    }
    const refuse = (request: RequestContext) =>
      request.getDispatcher()?.dispatch({ method: 'GET', path: '/' }, { onRequestStart: () => {} })
    const token = async () => (await authenticated()).getHeaders()['Authorization']
    const former = await authenticated()
    view.setCurrentContext('other')
    const current = await authenticated()
    expect(current.getDispatcher()).not.toBe(former.getDispatcher())
    rotate('second')
    refuse(former)
    expect(await token()).toBe('Bearer first')
    refuse(current)
    expect(await token()).toBe('Bearer second')
  })

  test('has a dispatcher of its own also where the kubeconfig sets no option of TLS', async () => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser(
      { name: 'c', server: 'https://public.example', skipTLSVerify: false },
      { name: 'u' },
    )
    const view = gated(openTerm(), kubeConfig)
    const requests = [1, 2].map(() => new RequestContext('https://public.example/version', HttpMethod.GET))
    for (const request of requests) await view.applySecurityAuthentication(request)
    const [first, second] = requests.map((request) => request.getDispatcher())
    expect(first).toBeDefined()
    expect(second).toBe(first)
  })

  test('refuses authentication to a write while the gate is closed, and gives it to a read', async () => {
    const term = openTerm()
    const view = gated(term, kubeConfigOf('http://127.0.0.1:1'))
    const request = (method: HttpMethod) => new RequestContext('http://127.0.0.1:1/api/v1/pods', method)
    await view.applySecurityAuthentication(request(HttpMethod.POST))
    term.close()
    await expect(view.applySecurityAuthentication(request(HttpMethod.POST))).rejects.toMatchObject({
      code: 'WRITE_GATE_CLOSED',
      method: 'POST',
      url: 'http://127.0.0.1:1/api/v1/pods',
      outcome: 'not-sent',
    })
    const read = request(HttpMethod.GET)
    await view.applySecurityAuthentication(read)
    expect(read.getHeaders()).toMatchObject({ Authorization: 'Bearer t' })
  })

  test('gives no options for connections of its user while the gate is closed', async () => {
    const term = openTerm()
    const view = gated(term, kubeConfigOf('http://127.0.0.1:1'))
    const options: { finishRequest?: unknown; agent?: unknown } = {}
    await view.applyToHTTPSOptions(options)
    expect(options).toMatchObject({ finishRequest: expect.any(Function), agent: expect.any(Agent) })
    term.close()
    await expect(view.applyToHTTPSOptions({})).rejects.toMatchObject({
      code: 'WRITE_GATE_CLOSED',
      method: 'CONNECT',
      url: 'http://127.0.0.1:1',
      outcome: 'not-sent',
    })
  })

  test('refuses a kubeconfig that gives no agent or no dispatcher, which the gate could not check', async () => {
    const without = (create: 'createAgent' | 'createDispatcher' | 'createDispatcherOptions') => {
      const kubeConfig = kubeConfigOf('http://127.0.0.1:1')
      Object.defineProperty(kubeConfig, create, { value: () => undefined })
      return gated(openTerm(), kubeConfig)
    }
    await expect(without('createAgent').applyToHTTPSOptions({})).rejects.toMatchObject({
      code: 'BAD_KUBECONFIG',
      message: 'client-node gave no agent for the connection, so the write gate cannot check it',
    })
    const request = new RequestContext('http://127.0.0.1:1/version', HttpMethod.GET)
    await expect(without('createDispatcher').applySecurityAuthentication(request)).rejects.toMatchObject({
      code: 'BAD_KUBECONFIG',
      message: 'client-node gave no dispatcher for the connections, so the write gate cannot check them',
    })
  })

  test.each([
    ['http://user:secret@proxy.test', false],
    [undefined, true],
  ])('lets an error of the proxy %s have the options of the connection: %s', async (proxyUrl, hasOptions) => {
    const kubeConfig = kubeConfigOf('http://127.0.0.1:1')
    kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, ...(proxyUrl && { proxyUrl }) }))
    Object.defineProperty(kubeConfig, 'createDispatcher', { value: () => failingDispatcher() })
    const request = new RequestContext('http://127.0.0.1:1/version', HttpMethod.GET)
    await gated(openTerm(), kubeConfig).applySecurityAuthentication(request)
    const failed = vi.fn<(controller: unknown, error: Error) => void>()
    request.getDispatcher()?.dispatch({ method: 'GET', path: '/' }, { onResponseError: failed })
    expect(failed).toHaveBeenCalledOnce()
    expect('options' in (failed.mock.calls[0]?.[1] ?? {})).toBe(hasOptions)
  })

  test('keeps a context that is set on it from the original', async () => {
    const kubeConfig = kubeConfigOf('http://127.0.0.1:1')
    const [context] = kubeConfig.contexts
    kubeConfig.contexts = [...kubeConfig.contexts, { name: 'other', cluster: context?.cluster ?? '', user: 'none' }]
    const view = gated(openTerm(), kubeConfig)
    view.setCurrentContext('other')
    const request = new RequestContext('http://127.0.0.1:1/version', HttpMethod.GET)
    await view.applySecurityAuthentication(request)
    expect(request.getHeaders()).not.toHaveProperty('Authorization')
    expect(view.getCurrentContext()).toBe('other')
    expect(kubeConfig.getCurrentContext()).toBe(context?.name)
  })

  test.each(['onRefusal', 'stamp', 'holder'])('knows the option %s', (name) => {
    const options = { [`${name}Q`]: 1 }
    expect(() => gated(openTerm(), kubeConfigOf('http://127.0.0.1:1'), options)).toThrow(
      `Unknown option \`${name}Q\` in \`gated()\`; did you mean \`${name}\`?`,
    )
  })

  test('is not made on Bun, whose undici has no dispatchers', () => {
    vi.stubGlobal('process', Object.create(process, { versions: { value: { ...process.versions, bun: '1.3.0' } } }))
    onTestFinished(() => void vi.unstubAllGlobals())
    const make = () => gated(openTerm(), kubeConfigOf('http://127.0.0.1:1'))
    expect(make).toThrow(OptionsError)
    expect(make).toThrow(
      'Expected `gated()` to run on Node or Deno, got Bun, whose undici has no dispatchers to gate. Write with `gatedFetch(term)`',
    )
  })

  test('writes no stamp where that is off, except for the holder', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, object))
    const client = gated(openTerm(), kubeConfigOf(server.url), { stamp: false, holder: 'a' }).makeApiClient(CoreV1Api)
    await client.replaceNamespacedConfigMap({ ...named, body: {} })
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
      metadata: { annotations: { 'tenure.dev/holder': expect.stringMatching(/^a#[0-9a-f-]{36}$/) } },
    })
  })

  test('gives its own signal back to a write, which may be sent again, and leaves no listener on it', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, object))
    const given = new AbortController()
    let sent: RequestContext | undefined
    const client = gated(openTerm(), kubeConfigOf(server.url)).makeApiClient(CoreV1Api)
    await client.replaceNamespacedConfigMap(
      { ...named, body: object },
      {
        middleware: [
          middleware((request) => {
            request.setSignal(given.signal)
            sent = request
          }),
        ],
        middlewareMergeStrategy: 'append',
      },
    )
    expect(sent?.getSignal()).toBe(given.signal)
    expect(getEventListeners(given.signal, 'abort')).toEqual([])
  })

  test('aborts a write with the signal of its user, whose reason is the cause', async () => {
    await using server = await LoopbackServer.start(() => {})
    const given = new AbortController()
    const refusals: WriteGateClosedError[] = []
    const view = gated(openTerm(), kubeConfigOf(server.url), { onRefusal: (refusal) => void refusals.push(refusal) })
    const write = view.makeApiClient(CoreV1Api).replaceNamespacedConfigMap(
      { ...named, body: object },
      {
        middleware: [middleware((request) => request.setSignal(given.signal))],
        middlewareMergeStrategy: 'append',
      },
    )
    const outcome = write.then(
      () => undefined,
      (error: unknown) => error,
    )
    await server.untilRequests(1)
    given.abort(new Error('given up'))
    expect(String(await outcome)).toContain('given up')
    expect(refusals).toEqual([])
  })
})
