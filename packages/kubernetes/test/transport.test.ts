import { EventEmitter, once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http, { type ClientRequest, type ServerResponse } from 'node:http'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ApiRequestError } from '../src/client/api-request-error.ts'
import type { ApiRequest } from '../src/client/api-request.ts'
import { ApiTransport } from '../src/client/api-transport.ts'
import { ManualClock } from './support/manual-clock.ts'
import { answer, kubeConfigFor, LoopbackServer, portOf, untilClosed } from './support/loopback-server.ts'

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ops/leases/janitor'

function request(changes: Partial<ApiRequest> = {}): ApiRequest {
  return {
    method: 'GET',
    path: LEASE,
    target: { verb: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace: 'ops', name: 'janitor' },
    signal: new AbortController().signal,
    ...changes,
  }
}

const put = (changes: Partial<ApiRequest> = {}): ApiRequest =>
  request({ method: 'PUT', body: { some: 'lease' }, ...changes })

async function failureOf(promise: Promise<unknown>): Promise<ApiRequestError> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'rejected' && outcome.reason instanceof ApiRequestError) return outcome.reason
  throw new Error(`Expected an ApiRequestError, got ${JSON.stringify(outcome)}`)
}

/** A TCP server with a handler for each connection. */
async function rawServer(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server = net.createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    onConnection(socket)
  })
  const connected = once(server, 'connection')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: portOf(server),
    connected,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** An HTTP proxy that writes down what it is asked to connect to, and connects to the given server. */
function proxyTo(server: LoopbackServer, connects: string[]) {
  return rawServer((socket) => {
    socket.once('data', (head) => {
      connects.push(String(head).split('\r\n')[0] ?? '')
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const upstream = net.connect(server.port, '127.0.0.1').on('error', () => socket.destroy())
      socket.pipe(upstream).pipe(socket)
    })
  })
}

/** One whose authenticator gives another token every time. */
function rotatingKubeConfig(server: LoopbackServer): KubeConfig {
  let serial = 0
  const authenticator: Parameters<KubeConfig['addAuthenticator']>[0] = {
    isAuthProvider: (user) => user.authProvider?.name === 'rotating',
    applyAuthentication: async (_, options) => {
      options.headers = { ...options.headers, Authorization: `Bearer token-${++serial}\n` }
    },
  }
  const kubeConfig = new KubeConfig()
  kubeConfig.addAuthenticator(authenticator)
  const user = { name: 'u', authProvider: { name: 'rotating' } }
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: false }, user)
  return kubeConfig
}

function tokensOf(server: LoopbackServer): (string | undefined)[] {
  return server.requests.map(({ message }) => message.headers.authorization?.replace('Bearer ', ''))
}

function kubeConfigThrough(proxyPort: number, server: LoopbackServer): KubeConfig {
  const kubeConfig = server.kubeConfig()
  const cluster = kubeConfig.getCurrentCluster()
  if (cluster !== null) Object.assign(cluster, { proxyUrl: `http://127.0.0.1:${proxyPort}` })
  return kubeConfig
}

test('a client certificate that cannot be read fails every request with a clear error', async () => {
  const garbage = Buffer.from('no certificate').toString('base64')
  const kubeConfig = new KubeConfig()
  const cluster = { name: 'c', server: 'https://127.0.0.1:1', skipTLSVerify: true }
  kubeConfig.loadFromClusterAndUser(cluster, { name: 'u', certData: garbage, keyData: garbage })
  const transport = new ApiTransport({ kubeConfig })
  onTestFinished(() => transport.close())
  for (const _ of [1, 2]) {
    const { failure, message } = await failureOf(transport.send(put()))
    expect(failure).toBe('unreachable')
    expect(message).toContain('these credentials cannot be sent')
  }
})

describe('a request', () => {
  test('carries the method, the path below the server URL, the query, the body and the user agent', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { ok: true }))
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor(`${server.url}/k8s/prefix/`) })
    const body = await transport.send(put({ query: { fieldSelector: 'metadata.name=janitor' } }))
    expect(body).toEqual({ ok: true })
    const [received] = server.requests
    expect(received?.message.method).toBe('PUT')
    expect(received?.message.url).toBe(`/k8s/prefix${LEASE}?fieldSelector=metadata.name%3Djanitor`)
    expect(received?.message.headers['user-agent']).toMatch(/^tenure\/\d+\.\d+\.\d+\S* leader-election$/)
    expect(received?.message.headers['content-type']).toBe('application/json')
    expect(JSON.parse(received?.body ?? '')).toEqual({ some: 'lease' })
    await transport.close()
  })

  test('carries the token of the kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig({ token: 's3cret' }), userAgent: 'mine' })
    await transport.send(request())
    expect(server.requests[0]?.message.headers.authorization).toBe('Bearer s3cret')
    expect(server.requests[0]?.message.headers['user-agent']).toBe('mine')
    await transport.close()
  })

  test('carries the user name and password of the kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig({ username: 'a', password: 'b' }) })
    await transport.send(request())
    expect(server.requests[0]?.message.headers.authorization).toBe(`Basic ${Buffer.from('a:b').toString('base64')}`)
    await transport.close()
  })

  test('carries the credentials that an authenticator gave in the last seconds', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const clock = new ManualClock()
    const transport = new ApiTransport({ kubeConfig: rotatingKubeConfig(server), clock })
    await transport.send(request())
    clock.advance(4999)
    await transport.send(request())
    clock.advance(1)
    await Promise.all([transport.send(request()), transport.send(request())])
    expect(tokensOf(server)).toEqual(['token-1', 'token-1', 'token-2', 'token-2'])
    await transport.close()
  })

  test('is repeated at once with those of that moment when credentials of the last seconds are refused', async () => {
    let accepted = 'token-1'
    await using server = await LoopbackServer.start(({ headers }, response) =>
      answer(response, headers.authorization === `Bearer ${accepted}` ? 200 : 401, {}),
    )
    const transport = new ApiTransport({ kubeConfig: rotatingKubeConfig(server), clock: new ManualClock() })
    await transport.send(put())
    accepted = 'token-2'
    await transport.send(put())
    expect(tokensOf(server)).toEqual(['token-1', 'token-1', 'token-2'])
    await transport.close()
  })

  test('is not repeated when credentials of that moment are refused', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 401, {}))
    const transport = new ApiTransport({ kubeConfig: rotatingKubeConfig(server), clock: new ManualClock() })
    expect((await failureOf(transport.send(put()))).failure).toBe('unauthenticated')
    expect((await failureOf(transport.send(put()))).failure).toBe('unauthenticated')
    expect(tokensOf(server)).toEqual(['token-1', 'token-2'])
    await transport.close()
  })

  test('has the token that its file holds now, and none of another user of the kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const folder = mkdtempSync(join(tmpdir(), 'tenure-tokens-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const user = (name: string) => ({ name, authProvider: { config: { tokenFile: join(folder, name) } } })
    const kubeConfig = server.kubeConfig()
    const cluster = kubeConfig.getCurrentCluster()?.name ?? ''
    kubeConfig.users = [user('a'), user('b')]
    kubeConfig.contexts = ['a', 'b'].map((name) => ({ name, cluster, user: name }))
    kubeConfig.setCurrentContext('a')
    writeFileSync(join(folder, 'a'), 'first\n')
    writeFileSync(join(folder, 'b'), 'other\n')
    const clock = new ManualClock()
    const transport = new ApiTransport({ kubeConfig, clock })
    await transport.send(request())
    writeFileSync(join(folder, 'a'), 'second')
    clock.advance(5000)
    await transport.send(request())
    kubeConfig.setCurrentContext('b')
    await transport.send(request())
    writeFileSync(join(folder, 'b'), '\n')
    clock.advance(5000)
    const failure = await failureOf(transport.send(request()))
    expect(failure.message).toMatch(/token file .*b of user `b` is empty/)
    expect(tokensOf(server)).toEqual(['first', 'second', 'other'])
    await transport.close()
  })

  test('has what a plugin gave last, until that expires or the server refuses it; then the plugin runs once for all', async () => {
    let accepted = 'token-1'
    await using server = await LoopbackServer.start(({ headers }, response) =>
      answer(response, headers.authorization === `Bearer ${accepted}` ? 200 : 401, {}),
    )
    const folder = mkdtempSync(join(tmpdir(), 'tenure-plugin-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const script = `echo run >> runs; echo "{\\"status\\":{\\"token\\":\\"token-$(wc -l < runs | tr -d ' ')\\"}}"`
    const exec = { command: 'sh', args: ['-c', `cd ${folder}; ${script}`] }
    const kubeConfig = server.kubeConfig({ exec })
    const clock = new ManualClock()
    const transports = [1, 2].map(() => new ApiTransport({ kubeConfig, clock }))
    const sendAll = () => Promise.all(transports.map((transport) => transport.send(request())))
    await sendAll()
    clock.advance(10_000)
    await sendAll()
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\n')
    accepted = 'token-2'
    await sendAll()
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\nrun\n')
    accepted = 'none of them'
    // A server that refuses everything does not start a process for every request.
    await Promise.allSettled([1, 2, 3, 4, 5].map(() => sendAll()))
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('run\nrun\n')
    for (const transport of transports) await transport.close()
  })

  test('goes through the proxy of the cluster', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { via: 'proxy' }))
    const connects: string[] = []
    await using proxy = await proxyTo(server, connects)
    const kubeConfig = kubeConfigThrough(proxy.port, server)
    const transport = new ApiTransport({ kubeConfig })
    expect(await transport.send(request())).toEqual({ via: 'proxy' })
    expect(await transport.send(request())).toEqual({ via: 'proxy' })
    expect(connects).toEqual([`CONNECT 127.0.0.1:${server.port} HTTP/1.1`])
    await transport.close()
    await server.untilDeserted()
  })
})

describe('what Node is asked for', () => {
  /** The options of the request that a transport makes, which is not sent. */
  async function optionsOf(kubeConfig: KubeConfig, sent: ApiRequest): Promise<https.RequestOptions> {
    const seen: https.RequestOptions[] = []
    const modules: Readonly<Record<string, unknown>> = { 'http:': http, 'https:': https }
    for (const [scheme, module] of Object.entries(modules)) {
      const spy = vi.spyOn(module as typeof https, 'request').mockImplementation((options) => {
        expect(options).toHaveProperty('protocol', scheme)
        seen.push(options as https.RequestOptions)
        throw new Error('not sent')
      })
      onTestFinished(() => spy.mockRestore())
    }
    const transport = new ApiTransport({ kubeConfig, userAgent: 'mine' })
    const { failure, message } = await failureOf(transport.send(sent))
    expect(failure).toBe('unreachable')
    expect(message).toBe(
      'Could not get leases.coordination.k8s.io ops/janitor: these credentials cannot be sent: not sent',
    )
    await transport.close()
    const [options = {}] = seen
    return options
  }

  test('is the address, the path below that of the server, and the headers', async () => {
    const { agent, ...options } = await optionsOf(kubeConfigFor('http://127.0.0.1:8080/base/'), request())
    expect(agent).toBeInstanceOf(http.Agent)
    expect(agent).toMatchObject({
      keepAlive: true,
      keepAliveMsecs: 1000,
      maxFreeSockets: 32,
      maxSockets: 32,
      options: { noDelay: true },
    })
    expect(options).toEqual({
      protocol: 'http:',
      host: '127.0.0.1',
      port: 8080,
      method: 'GET',
      path: `/base${LEASE}`,
      headers: { accept: 'application/json', 'user-agent': 'mine' },
    })
  })

  test('has the length and the type of a body in bytes, and a user with a password', async () => {
    const kubeConfig = kubeConfigFor('http://127.0.0.1:1', { username: 'a', password: 'b' })
    const options = await optionsOf(kubeConfig, put({ body: { a: 'ä' }, contentType: 'text/x', query: { b: 'c' } }))
    expect(options).toMatchObject({
      method: 'PUT',
      path: `${LEASE}?b=c`,
      auth: 'a:b',
      headers: { 'content-type': 'text/x', 'content-length': 10 },
    })
  })

  test.each([
    ['http://localhost', 'http:', 'localhost', 80],
    ['https://api.test', 'https:', 'api.test', 443],
    ['https://[fd00::1]:6443', 'https:', 'fd00::1', 6443],
  ])('is the host and the port of %s', async (server, protocol, host, port) => {
    expect(await optionsOf(kubeConfigFor(server), request())).toMatchObject({ protocol, host, port, path: LEASE })
  })

  test('is one pool of connections for each set of TLS material', async () => {
    const { agent } = await optionsOf(kubeConfigFor('https://api.test'), request())
    expect(agent).toBeInstanceOf(https.Agent)
    expect((agent as https.Agent).getName({})).toBe('one server, one set of credentials')
  })
})

describe('the error of a request', () => {
  const WHAT = 'Could not get leases.coordination.k8s.io ops/janitor: '

  async function broken(sent: ApiRequest, onRequest: Parameters<typeof LoopbackServer.start>[0]) {
    await using server = await LoopbackServer.start(onRequest)
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const { message, failure, cause } = await failureOf(transport.send(sent))
    await transport.close()
    return { message: message.replace(server.url, 'URL'), failure, cause }
  }

  test('says who did not answer, why, and that a write may have taken effect', async () => {
    const hangUp = await broken(put(), (message) => message.socket.destroy())
    expect(hangUp.message).toBe(`${WHAT}no answer from URL (ECONNRESET: socket hang up); it may have taken effect`)
    expect(hangUp.cause).toMatchObject({ code: 'ECONNRESET' })
    const reset = await broken(request(), (message) => message.socket.resetAndDestroy())
    expect(reset.message).toBe(`${WHAT}no answer from URL (read ECONNRESET)`)
  })

  test('says the code of an error without a message', async () => {
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor('http://localhost:1') })
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    const spy = vi.spyOn(http, 'request').mockImplementation(() => {
      const outgoing = Object.assign(new EventEmitter(), { end: () => {}, destroy: () => {} })
      queueMicrotask(() => outgoing.emit('error', refused))
      return outgoing as unknown as ClientRequest
    })
    onTestFinished(() => spy.mockRestore())
    const { message } = await failureOf(transport.send(put()))
    expect(message).toBe(`${WHAT}no connection to http://localhost:1 (ECONNREFUSED)`)
    await transport.close()
  })

  test('says that the answer breaks off', async () => {
    const { message } = await broken(request(), (received, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('{"half":', () => received.socket.destroy())
    })
    expect(message).toBe(`${WHAT}no answer from URL (ECONNRESET: aborted)`)
  })

  test('says that the answer is not JSON, and that a write has probably taken effect', async () => {
    const write = await broken(put(), (_, response) => response.end('<html>'))
    expect(write.message).toBe(`${WHAT}the answer is not JSON; it has probably taken effect`)
    const read = await broken(request(), (_, response) => response.end('<html>'))
    expect(read).toMatchObject({ message: `${WHAT}the answer is not JSON`, failure: 'unknown-outcome' })
  })

  test('says that there is no connection', async () => {
    const server = await rawServer(() => {})
    await server[Symbol.asyncDispose]()
    const url = `http://127.0.0.1:${server.port}`
    const { message } = await failureOf(new ApiTransport({ kubeConfig: kubeConfigFor(url) }).send(put()))
    expect(message).toBe(`${WHAT}no connection to ${url} (connect ECONNREFUSED 127.0.0.1:${server.port})`)
  })

  test('says that it was aborted before it was sent', async () => {
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor('http://127.0.0.1:1') })
    const reason = new Error('enough')
    const error = await failureOf(transport.send(put({ signal: AbortSignal.abort(reason) })))
    expect(error).toMatchObject({ message: `${WHAT}the request was aborted before it was sent`, cause: reason })
    const waiting = new ApiTransport({ kubeConfig: () => new Promise<KubeConfig>(() => {}) })
    const controller = new AbortController()
    const pending = failureOf(waiting.send(put({ signal: controller.signal })))
    controller.abort(reason)
    expect(await pending).toMatchObject({ message: `${WHAT}the request was aborted before it was sent`, cause: reason })
  })

  test('says that the transport is closed, which asks for no kubeconfig then', async () => {
    const transport = new ApiTransport({ kubeConfig: () => expect.fail('it was asked for a kubeconfig') })
    await transport.close()
    const closed = { failure: 'unreachable', message: `${WHAT}the transport is closed` }
    expect(await failureOf(transport.send(put()))).toMatchObject(closed)
    expect(await failureOf(transport.open(request()))).toMatchObject(closed)
  })

  test('says that the transport was closed while the kubeconfig was loaded', async () => {
    const asked = Promise.withResolvers<void>()
    const loaded = Promise.withResolvers<KubeConfig>()
    const transport = new ApiTransport({
      kubeConfig: () => {
        asked.resolve()
        return loaded.promise
      },
    })
    const pending = failureOf(transport.send(put()))
    await asked.promise
    await transport.close()
    loaded.resolve(kubeConfigFor('http://127.0.0.1:1'))
    expect((await pending).message).toBe(`${WHAT}the transport is closed`)
  })

  test('says that the kubeconfig cannot be used', async () => {
    const cause = new Error('not mounted yet')
    const transport = new ApiTransport({ kubeConfig: () => Promise.reject(cause) })
    expect(await failureOf(transport.send(put()))).toMatchObject({
      failure: 'unreachable',
      message: `${WHAT}the kubeconfig cannot be used: not mounted yet`,
      cause,
    })
  })

  test.each(['kubeConfig', 'userAgent', 'clock'])('names an option that does not exist: %sQ', (option) => {
    const options = { kubeConfig: kubeConfigFor('http://127.0.0.1:1'), [`${option}Q`]: 1 }
    expect(() => new ApiTransport(options)).toThrow(
      `Unknown option \`${option}Q\` in the options of an ApiTransport; did you mean \`${option}\`?`,
    )
  })
})

test('a success is any status from 200 to 299', async () => {
  for (const [statusCode, is] of [
    [200, true],
    [202, true],
    [299, true],
    [300, false],
  ] as const) {
    await using server = await LoopbackServer.start((_, response) => answer(response, statusCode, { ok: 1 }))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const [sent, opened] = await Promise.allSettled([
      transport.send(request()),
      transport.open(request()).then((stream) => stream.close()),
    ])
    expect([sent.status, opened.status]).toEqual(Array(2).fill(is ? 'fulfilled' : 'rejected'))
    await transport.close()
  }
})

test('24 requests are under way at a time; the next ones wait, and are not sent where they are aborted meanwhile', async () => {
  const open = Promise.withResolvers<void>()
  await using server = await LoopbackServer.start(({ url }, response) => {
    if (url === '/stream') answer(response, 200, {})
    else void open.promise.then(() => answer(response, 200, {}))
  })
  const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
  const all = Array.from({ length: 25 }, () => transport.send(request()))
  await server.untilRequests(24)
  const controller = new AbortController()
  const aborted = failureOf(transport.send(request({ signal: controller.signal })))
  controller.abort()
  expect((await aborted).message).toContain('the request was aborted before it was sent')
  // Streams do not count. This one shows that the server has all that was sent before.
  const stream = await transport.open(request({ path: '/stream' }))
  stream.close()
  expect(server.requests).toHaveLength(24 + 1)
  open.resolve()
  await Promise.all(all)
  expect(server.requests).toHaveLength(25 + 1)
  await transport.close()
})

describe('connections', () => {
  test('are kept alive from one request to the next', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await transport.send(request())
    await transport.send(put())
    expect(server.connections).toHaveLength(1)
    await transport.close()
  })

  test('are not shared with other transports of the same kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const kubeConfig = server.kubeConfig()
    const transports = [new ApiTransport({ kubeConfig }), new ApiTransport({ kubeConfig })]
    for (const transport of transports) await transport.send(request())
    expect(server.connections).toHaveLength(2)
    await Promise.all(transports.map((transport) => transport.close()))
  })

  test('are not shared with other transports behind a proxy either', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const connects: string[] = []
    await using proxy = await proxyTo(server, connects)
    const kubeConfig = kubeConfigThrough(proxy.port, server)
    const transports = [new ApiTransport({ kubeConfig }), new ApiTransport({ kubeConfig })]
    for (const transport of transports) await transport.send(request())
    expect(connects).toHaveLength(2)
    await Promise.all(transports.map((transport) => transport.close()))
  })

  test('are replaced, and the old ones closed, when the TLS material of the kubeconfig changes', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const kubeConfig = server.kubeConfig()
    const clock = new ManualClock()
    const transport = new ApiTransport({ kubeConfig, clock })
    await transport.send(request())
    const user = kubeConfig.getCurrentUser()
    if (user !== null) Object.assign(user, { certData: Buffer.from('renewed').toString('base64') })
    clock.advance(5000)
    await transport.send(request())
    expect(server.connections).toHaveLength(2)
    await untilClosed(server.connections[0])
    expect(server.openConnections).toBe(1)
    await transport.close()
  })

  test('are gone when close resolves, also those of requests under way', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      if (message.url?.includes('answered') === true) answer(response, 200, {})
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await transport.send(request({ path: '/answered' }))
    const pending = failureOf(transport.send(put({ path: '/never' })))
    await server.untilRequests(2)
    await transport.close()
    expect((await pending).failure).toBe('unknown-outcome')
    await server.untilDeserted()
    expect((await failureOf(transport.send(request()))).failure).toBe('unreachable')
  })

  test('are refused in plain text to a server that is not on this machine', async () => {
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor('http://192.0.2.1:8080') })
    const error = await failureOf(transport.send(request()))
    expect(error.failure).toBe('unreachable')
    expect(error.message).toContain('HTTP protocol is not allowed')
  })
})

describe('an aborted request', () => {
  test('has an unknown outcome once it was sent, and its connection is destroyed and not used again', async () => {
    let silent = true
    await using server = await LoopbackServer.start((_, response) => {
      if (!silent) answer(response, 200, { fresh: true })
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const controller = new AbortController()
    const pending = failureOf(transport.send(put({ signal: controller.signal })))
    await server.untilRequests(1)
    const reason = new Error('too late')
    controller.abort(reason)
    const error = await pending
    expect(error.failure).toBe('unknown-outcome')
    expect(error.cause).toBe(reason)
    expect(error.message).toContain('the request was aborted')
    expect(error.message).toContain('may have taken effect')
    await server.untilDeserted()
    silent = false
    expect(await transport.send(request())).toEqual({ fresh: true })
    expect(server.connections).toHaveLength(2)
    await transport.close()
  })

  test('takes the idle connections of its path with it', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      if (message.method === 'GET') answer(response, 200, {})
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await Promise.all([transport.send(request()), transport.send(request())])
    expect(server.openConnections).toBe(2)
    const controller = new AbortController()
    const pending = failureOf(transport.send(put({ signal: controller.signal })))
    await server.untilRequests(3)
    controller.abort()
    // A request that nobody wants any more is not to be repeated.
    expect((await pending).staleConnection).toBe(false)
    await server.untilDeserted()
    await transport.close()
  })

  test('was not sent when the TLS handshake never ended', async () => {
    await using server = await rawServer(() => {})
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor(`https://127.0.0.1:${server.port}`) })
    const controller = new AbortController()
    const pending = failureOf(transport.send(put({ signal: controller.signal })))
    await server.connected
    controller.abort()
    const error = await pending
    expect(error.failure).toBe('unreachable')
    expect(error.message).not.toContain('may have taken effect')
    await transport.close()
  })

  test('was not sent when its signal was aborted before', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const error = await failureOf(transport.send(put({ signal: AbortSignal.abort() })))
    expect(error.failure).toBe('unreachable')
    expect(server.requests).toHaveLength(0)
    await transport.close()
  })

  test('does not wait for a kubeconfig that does not come', async () => {
    const transport = new ApiTransport({ kubeConfig: () => new Promise<KubeConfig>(() => {}) })
    const controller = new AbortController()
    const pending = failureOf(transport.send(request({ signal: controller.signal })))
    controller.abort()
    expect((await pending).failure).toBe('unreachable')
  })
})

describe('a request without an answer', () => {
  test('has the next one read the kubeconfig again, which may have another address', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { ok: true }))
    const kubeConfig = kubeConfigFor('http://127.0.0.1:1')
    const transport = new ApiTransport({ kubeConfig, clock: new ManualClock() })
    expect((await failureOf(transport.send(put()))).failure).toBe('unreachable')
    Object.assign(kubeConfig.getCurrentCluster() ?? {}, { server: server.url })
    expect(await transport.send(put())).toEqual({ ok: true })
    await transport.close()
  })

  test('was not sent when the connection is refused', async () => {
    const { port } = await rawServer(() => {}).then(async (server) => {
      await server[Symbol.asyncDispose]()
      return server
    })
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor(`http://127.0.0.1:${port}`) })
    const error = await failureOf(transport.send(put()))
    expect(error.failure).toBe('unreachable')
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).toContain('get leases.coordination.k8s.io ops/janitor')
  })

  test('was not sent when the server does not speak TLS', async () => {
    await using server = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const transport = new ApiTransport({ kubeConfig: kubeConfigFor(`https://127.0.0.1:${server.port}`) })
    expect((await failureOf(transport.send(put()))).failure).toBe('unreachable')
    await transport.close()
  })

  test.each(['http', 'https'] as const)(
    'has an unknown outcome when the connection is reset after it was sent: %s',
    async (scheme) => {
      await using server = await LoopbackServer.start((message) => void message.socket.destroy(), scheme)
      const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
      expect((await failureOf(transport.send(put()))).failure).toBe('unknown-outcome')
      await transport.close()
    },
  )

  test.each(['http', 'https'] as const)(
    'has an unknown outcome on a connection that became free while it waited for one: %s',
    async (scheme) => {
      const streams: ServerResponse[] = []
      await using server = await LoopbackServer.start((message, response) => {
        if (message.method === 'PUT') {
          message.socket.destroy()
        } else {
          response.write('first')
          streams.push(response)
        }
      }, scheme)
      const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
      const opened = await Promise.all(Array.from({ length: 32 }, () => transport.open(request())))
      const failure = failureOf(transport.send(put()))
      const reading = Promise.race(opened.map((stream) => stream.read(() => {})))
      streams[0]?.end()
      await reading
      expect((await failure).failure).toBe('unknown-outcome')
      for (const stream of opened) stream.close()
      await transport.close()
    },
  )

  test('has an unknown outcome when the answer breaks off', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('{"half":', () => message.socket.destroy())
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    expect((await failureOf(transport.send(put()))).failure).toBe('unknown-outcome')
    await transport.close()
  })

  test('has an unknown outcome when the answer to a success is not JSON', async () => {
    await using server = await LoopbackServer.start((_, response) => response.end('<html>'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    expect((await failureOf(transport.send(put()))).failure).toBe('unknown-outcome')
    await transport.close()
  })
})

describe('a kept-alive connection that the server closes as the next request arrives', () => {
  async function closingSecondRequest() {
    const perConnection = new WeakMap<Socket, number>()
    return LoopbackServer.start((message, response) => {
      const count = (perConnection.get(message.socket) ?? 0) + 1
      perConnection.set(message.socket, count)
      if (count > 1) message.socket.destroy()
      else answer(response, 200, { connection: 'fresh' })
    })
  }

  test('makes a read go over a fresh one', async () => {
    await using server = await closingSecondRequest()
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await transport.send(request())
    expect(await transport.send(request())).toEqual({ connection: 'fresh' })
    expect(server.connections).toHaveLength(2)
    await transport.close()
  })

  test('is not what happened where the answer breaks off, so that a read is not repeated', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      if (server.requests.length === 1) {
        answer(response, 200, {})
      } else {
        response.writeHead(200, { 'content-length': 100 })
        response.write('{"half":', () => message.socket.destroy())
      }
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await transport.send(request())
    expect((await failureOf(transport.send(request()))).failure).toBe('unknown-outcome')
    expect(server.requests).toHaveLength(2)
    await transport.close()
  })

  test('leaves the outcome of a write unknown, and does not repeat it', async () => {
    await using server = await closingSecondRequest()
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    await transport.send(request())
    const error = await failureOf(transport.send(put()))
    expect(error.failure).toBe('unknown-outcome')
    expect(server.requests).toHaveLength(2)
    await transport.close()
  })
})

describe('a failed answer', () => {
  test.each([
    [400, 'rejected'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'not-found'],
    [405, 'rejected'],
    [409, 'conflict'],
    [410, 'rejected'],
    [415, 'rejected'],
    [422, 'rejected'],
    [429, 'throttled'],
    [301, 'rejected'],
    [500, 'unknown-outcome'],
    [503, 'unknown-outcome'],
    [504, 'unknown-outcome'],
  ] as const)('of status %i is the failure %s', async (statusCode, failure) => {
    await using server = await LoopbackServer.start((_, response) => {
      answer(response, statusCode, { kind: 'Status', reason: 'Because', message: 'of this' })
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const error = await failureOf(transport.send(put()))
    expect(error).toMatchObject({ failure, statusCode, reason: 'Because', code: 'LOCK_REQUEST_FAILED' })
    expect(error.message).toContain('of this')
    await transport.close()
  })

  test('of status 403 names the permission that the Role must grant', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 403, { kind: 'Status' }))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const { message } = await failureOf(transport.send(request()))
    expect(message).toContain('the Role in namespace ops must grant the verb "get" on the resource "leases"')
    expect(message).toContain('"coordination.k8s.io"')
    await transport.close()
  })

  test('of a creation in a namespace that is being deleted does not blame the Role', async () => {
    const causes = [
      { reason: 'NamespaceTerminating', message: 'namespace ops is being terminated', field: 'metadata.namespace' },
    ]
    await using server = await LoopbackServer.start((_, response) => {
      answer(response, 403, { kind: 'Status', reason: 'Forbidden', details: { causes } })
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const { message } = await failureOf(transport.send(put()))
    expect(message).toContain('namespace ops is being deleted (403), so no object can be created in it')
    expect(message).not.toContain('Role')
    await transport.close()
  })

  test.each([
    ['the Retry-After header', { 'retry-after': '7' }, { details: { retryAfterSeconds: 3 } }, 7000],
    ['the Retry-After header, up to 15 s', { 'retry-after': '86400000' }, {}, 15_000],
    ['the details of the Status, up to 15 s', {}, { details: { retryAfterSeconds: 86_400 } }, 15_000],
    ['the details of the Status', {}, { details: { retryAfterSeconds: 3 } }, 3000],
    [
      'nothing, where a Retry-After date is not understood',
      { 'retry-after': 'Fri, 02 Jan 2026 03:04:05 GMT' },
      {},
      undefined,
    ],
    ['nothing, where the details are nonsense', {}, { details: { retryAfterSeconds: 'soon' } }, undefined],
  ])('says when to come back by %s', async (_, headers, body, retryAfterMs) => {
    await using server = await LoopbackServer.start((_message, response) => answer(response, 429, body, headers))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    expect((await failureOf(transport.send(put()))).retryAfterMs).toBe(retryAfterMs)
    await transport.close()
  })

  test('need not have a body that can be read', async () => {
    await using server = await LoopbackServer.start((_, response) => response.writeHead(502).end('<html>bad gateway'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    expect(await failureOf(transport.send(put()))).toMatchObject({ failure: 'unknown-outcome', reason: undefined })
    await transport.close()
  })
})

describe('a kubeconfig that is made on demand', () => {
  test('is asked for at the first request, once', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    let calls = 0
    const transport = new ApiTransport({
      kubeConfig: async () => {
        calls++
        return server.kubeConfig()
      },
    })
    expect(calls).toBe(0)
    await Promise.all([transport.send(request()), transport.send(request())])
    await transport.send(request())
    expect(calls).toBe(1)
    await transport.close()
  })

  test('is asked for again after a failure, which reads as no connection', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    let calls = 0
    const transport = new ApiTransport({
      kubeConfig: () => {
        if (++calls === 1) throw new Error('not mounted yet')
        return server.kubeConfig()
      },
    })
    const error = await failureOf(transport.send(request()))
    expect(error.failure).toBe('unreachable')
    expect(error.message).toContain('not mounted yet')
    await transport.send(request())
    await transport.close()
  })
})

describe('an answer that is read as it arrives', () => {
  test('keeps its connection until it is closed', async () => {
    await using server = await LoopbackServer.start((_, response) => response.write('first'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const stream = await transport.open(request())
    const arrived = Promise.withResolvers<string>()
    const reading = failureOf(stream.read((chunk) => arrived.resolve(String(chunk))))
    expect(await arrived.promise).toBe('first')
    stream.close()
    expect((await reading).failure).toBe('unknown-outcome')
    await server.untilDeserted()
    await transport.close()
  })

  test('rejects with what its reader throws, which gets no more of it', async () => {
    const sent = Promise.withResolvers<void>()
    await using server = await LoopbackServer.start(({ url }, response) => {
      if (url === '/after') answer(response, 200, {})
      else response.write('first', () => void setImmediate().then(() => response.end('second', () => sent.resolve())))
    })
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const stream = await transport.open(request())
    const enough = new Error('enough')
    const taken: string[] = []
    const reading = stream.read((chunk) => {
      taken.push(String(chunk))
      throw enough
    })
    await expect(reading).rejects.toBe(enough)
    await sent.promise
    await transport.send(request({ path: '/after' }))
    expect(taken).toEqual(['first'])
    stream.close()
    await transport.close()
  })

  test('rejects when it was broken off before anybody read it', async () => {
    await using server = await LoopbackServer.start((_, response) => response.write('first'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const controller = new AbortController()
    const stream = await transport.open(request({ signal: controller.signal }))
    controller.abort()
    await server.untilDeserted()
    expect((await failureOf(stream.read(() => {}))).failure).toBe('unknown-outcome')
    stream.close()
    await transport.close()
  })

  test('rejects when its connection was closed before anybody read it', async () => {
    await using server = await LoopbackServer.start((_, response) => response.write('first'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const stream = await transport.open(request())
    await transport.close()
    await setImmediate()
    const { failure, message } = await failureOf(stream.read(() => {}))
    expect(failure).toBe('unknown-outcome')
    expect(message).toContain('The connection was closed before the end of the answer')
    stream.close()
  })

  test('takes its connection with it when it is closed unread', async () => {
    await using server = await LoopbackServer.start((_, response) => response.write('first'))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    const stream = await transport.open(request())
    stream.close()
    await server.untilDeserted()
    await transport.close()
  })

  test('rejects when it was refused', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 410, { reason: 'Expired' }))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig() })
    expect(await failureOf(transport.open(request()))).toMatchObject({ statusCode: 410, reason: 'Expired' })
    await transport.close()
  })
})
