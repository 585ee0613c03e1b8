/** Ways to use a gated kubeconfig other than plain typed clients, and what a gated write carries. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  AppsV1Api,
  Attach,
  CoreV1Api,
  type ConfigurationOptions,
  createConfiguration,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  ServerConfiguration,
  setHeaderOptions,
} from '@kubernetes/client-node'
import { LeadershipEndedError, WriteGateClosedError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { gated } from '../src/gate/gated.ts'
import { answer, LoopbackServer, portOf } from './support/loopback-server.ts'
import { middleware } from './support/middleware.ts'

function openTerm() {
  const gate = new AbortController()
  let held = true
  return {
    epoch: 42n,
    lease: 'janitor',
    isHeld: () => held,
    gateSignal: gate.signal,
    close: () => gate.abort(new LeadershipEndedError('superseded', 42n)),
    runOut: () => void (held = false),
  }
}

function kubeConfigAt(url: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u', token: 't' })
  return kubeConfig
}

/** The refusal in the chain of causes of a rejection. */
async function refusalIn(promise: Promise<unknown>): Promise<WriteGateClosedError> {
  const [outcome] = await Promise.allSettled([promise])
  let reason: unknown = outcome.status === 'rejected' ? outcome.reason : undefined
  while (reason instanceof Error && !(reason instanceof WriteGateClosedError)) reason = reason.cause
  if (reason instanceof WriteGateClosedError) return reason
  throw new Error(`Expected a WriteGateClosedError, got ${outcome.status}`, { cause: reason })
}

const fine = () => LoopbackServer.start((_, response) => answer(response, 200, { metadata: { name: 'x' } }))
const configMap = { name: 'x', namespace: 'ops' } as const

/** The last body that the server got. */
function lastBody(server: LoopbackServer): unknown {
  return JSON.parse(server.requests.at(-1)?.body ?? '')
}

const STAMP = { 'tenure.dev/epoch': '42', 'tenure.dev/lease': 'janitor' }

describe('a gated write carries the epoch and the lease', () => {
  test('when it creates or replaces an object, beside the annotations that it has', async () => {
    await using server = await fine()
    const client = gated(openTerm(), kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
    await client.createNamespacedConfigMap({ namespace: 'ops', body: { metadata: { name: 'x' }, data: { a: '1' } } })
    expect(lastBody(server)).toEqual({ metadata: { name: 'x', annotations: STAMP }, data: { a: '1' } })
    const annotations = { mine: 'yes', 'tenure.dev/epoch': '7' }
    await client.replaceNamespacedConfigMap({ ...configMap, body: { metadata: { annotations } } })
    expect(lastBody(server)).toEqual({ metadata: { annotations: { mine: 'yes', ...STAMP } } })
  })

  test.each([PatchStrategy.MergePatch, PatchStrategy.StrategicMergePatch, PatchStrategy.ServerSideApply])(
    'when it patches by %s',
    async (strategy) => {
      await using server = await fine()
      const client = gated(openTerm(), kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
      await client.patchNamespacedConfigMap(
        { ...configMap, body: { data: { a: '1' } }, fieldManager: 'janitor' },
        setHeaderOptions('Content-Type', strategy),
      )
      expect(lastBody(server)).toEqual({ data: { a: '1' }, metadata: { annotations: STAMP } })
    },
  )

  test('when it patches by JSON patch, also an object without annotations', async () => {
    const patch = [{ op: 'add', path: '/data/a', value: '1' }]
    await using server = await LoopbackServer.start((_, response) => {
      if (server.requests.length === 1) answer(response, 422, { kind: 'Status', reason: 'Invalid' })
      else answer(response, 200, { metadata: { name: 'x' } })
    })
    const client = gated(openTerm(), kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
    await client.patchNamespacedConfigMap({ ...configMap, body: patch })
    expect(server.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      [
        ...patch,
        { op: 'add', path: '/metadata/annotations/tenure.dev~1epoch', value: '42' },
        { op: 'add', path: '/metadata/annotations/tenure.dev~1lease', value: 'janitor' },
      ],
      [
        { op: 'test', path: '/metadata/annotations', value: null },
        { op: 'add', path: '/metadata/annotations', value: STAMP },
        ...patch,
      ],
    ])
  })

  test('when it patches by JSON patch, once if the server accepts that', async () => {
    await using server = await fine()
    const client = gated(openTerm(), kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
    await client.patchNamespacedConfigMap({ ...configMap, body: [{ op: 'add', path: '/data/a', value: '1' }] })
    expect(server.requests).toHaveLength(1)
  })

  test('when it goes through the generic object client, and to a subresource', async () => {
    await using server = await LoopbackServer.start((_, response) => {
      answer(response, 200, {
        kind: 'APIResourceList',
        resources: [{ kind: 'ConfigMap', name: 'configmaps', namespaced: true }],
      })
    })
    const view = gated(openTerm(), kubeConfigAt(server.url))
    await KubernetesObjectApi.makeApiClient(view).create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x' },
    })
    expect(lastBody(server)).toMatchObject({ metadata: { name: 'x', annotations: STAMP } })
    const status = { status: { replicas: 1 } }
    await view.makeApiClient(AppsV1Api).patchNamespacedDeploymentStatus({ ...configMap, body: [status] })
    expect(server.requests.at(-1)?.message.url).toContain('/status')
  })

  test('and the holder where that is asked for; or nothing where stamps are off', async () => {
    await using server = await fine()
    const write = async (options: object) => {
      const client = gated(openTerm(), kubeConfigAt(server.url), options).makeApiClient(CoreV1Api)
      await client.createNamespacedConfigMap({ namespace: 'ops', body: {} })
      return lastBody(server)
    }
    const holder = expect.stringMatching(/^pod-1_a#./)
    const [first, second] = [await write({ holder: 'pod-1_a' }), await write({ holder: 'pod-1_a' })]
    expect(first).toEqual({ metadata: { annotations: { ...STAMP, 'tenure.dev/holder': holder } } })
    expect(second).not.toEqual(first)
    expect(await write({ stamp: false })).toEqual({})
  })

  test('but not when it deletes, nor when it asks for all annotations to be removed', async () => {
    await using server = await fine()
    const client = gated(openTerm(), kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
    await client.deleteNamespacedConfigMap({ ...configMap, body: { gracePeriodSeconds: 0 } })
    expect(lastBody(server)).toEqual({ gracePeriodSeconds: 0 })
    const body = { metadata: { annotations: null } }
    const options = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
    await client.patchNamespacedConfigMap({ ...configMap, body }, options)
    expect(lastBody(server)).toEqual(body)
  })
})

describe('a user’s own middleware', () => {
  test.each(['replace', 'append', 'prepend'] as const)(
    'runs before the gate is asked, merged by %s',
    async (middlewareMergeStrategy) => {
      await using server = await fine()
      const term = openTerm()
      const client = gated(term, kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
      let ran = 0
      const closing = middleware(() => {
        ran += 1
        term.close()
      })
      const options = { middleware: [closing], middlewareMergeStrategy }
      const write = client.createNamespacedConfigMap({ namespace: 'ops', body: {} }, options)
      expect((await refusalIn(write)).outcome).toBe('not-sent')
      expect([ran, server.requests.length]).toEqual([1, 0])
    },
  )
})

test('a JSON patch is not sent in its second form once the lease has run out, whatever the connection', async () => {
  const term = openTerm()
  await using server = await LoopbackServer.start((_, response) => {
    term.runOut()
    answer(response, 422, { kind: 'Status', reason: 'Invalid' })
  })
  const client = gated(term, kubeConfigAt(server.url)).makeApiClient(CoreV1Api)
  const unchecked = middleware((request) => request.setDispatcher(undefined as never))
  const options: ConfigurationOptions = { middleware: [unchecked], middlewareMergeStrategy: 'append' }
  const body = [{ op: 'add', path: '/data/a', value: '1' }]
  const refusal = await refusalIn(client.patchNamespacedConfigMap({ ...configMap, body }, options))
  expect([refusal.outcome, server.requests.length]).toEqual(['not-sent', 1])
})

describe('a client with a configuration of its own over the gated kubeconfig', () => {
  const clientOf = (view: KubeConfig, url: string) =>
    new CoreV1Api(createConfiguration({ baseServer: new ServerConfiguration(url, {}), authMethods: { default: view } }))

  test('writes and reads while the gate is open', async () => {
    await using server = await fine()
    const client = clientOf(gated(openTerm(), kubeConfigAt(server.url)), server.url)
    await client.createNamespacedConfigMap({ namespace: 'ops', body: {} })
    await client.readNamespacedConfigMap(configMap)
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'GET'])
  })

  test('is refused a write before a byte is sent, and may read, once it is closed', async () => {
    await using server = await fine()
    const term = openTerm()
    const client = clientOf(gated(term, kubeConfigAt(server.url)), server.url)
    term.runOut()
    const refusal = await refusalIn(client.createNamespacedConfigMap({ namespace: 'ops', body: {} }))
    expect(refusal).toMatchObject({ method: 'POST', outcome: 'not-sent' })
    expect(server.requests).toEqual([])
    await client.readNamespacedConfigMap(configMap)
  })

  test('has a write under way aborted when it closes', async () => {
    await using server = await LoopbackServer.start(() => {})
    const term = openTerm()
    const refusals: WriteGateClosedError[] = []
    const view = gated(term, kubeConfigAt(server.url), { onRefusal: (refusal) => void refusals.push(refusal) })
    const write = refusalIn(clientOf(view, server.url).createNamespacedConfigMap({ namespace: 'ops', body: {} }))
    await server.untilRequests(1)
    term.close()
    expect((await write).outcome).toBe('unknown')
    expect(refusals).toHaveLength(1)
    await server.untilDeserted()
  })
})

/** What is used of a WebSocket of `ws`. */
interface Session {
  addEventListener(event: 'open' | 'close', listener: () => void): void
  addEventListener(event: 'error', listener: (event: { readonly error: Error }) => void): void
}

const require = createRequire(import.meta.url)
const { WebSocket } = require('ws') as {
  readonly WebSocket: new (url: string, protocols: readonly string[], options: object) => Session
}

/**
 * Connects as client-node does, which does not find its WebSocket under the export conditions of the tests.
 * https://github.com/kubernetes-client/javascript/blob/master/src/web-socket-handler.ts
 */
const handlerOf = (view: KubeConfig) => ({
  async connect(path: string) {
    const options = {}
    await view.applyToHTTPSOptions(options)
    const url = view.getCurrentCluster()?.server.replace('http', 'ws')
    const session = new WebSocket(`${url}${path}`, ['v5.channel.k8s.io'], options)
    const { promise, resolve, reject } = Promise.withResolvers<Session>()
    session.addEventListener('open', () => resolve(session))
    session.addEventListener('error', ({ error }) => reject(error))
    return promise
  },
})

/** A server that takes every handshake of a WebSocket, or holds it back. */
async function sessionServer({ accepts = true } = {}) {
  const server = createServer()
  const sockets: Duplex[] = []
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    sockets.push(socket.on('error', () => {}))
    server.emit('handshake')
    if (!accepts) return
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    sockets,
    handshake: () => once(server, 'handshake'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const execOf = (view: KubeConfig) => new Exec(view, handlerOf(view))

describe('a session in a container', () => {
  test('that is open ends with the gate, with the refusal as its error', async () => {
    await using server = await sessionServer()
    const term = openTerm()
    const exec = execOf(gated(term, kubeConfigAt(server.url)))
    const session = await exec.exec('ops', 'pod', 'container', ['sleep', '1d'], null, null, null, false)
    const errors: unknown[] = []
    session.addEventListener('error', (event: { readonly error: unknown }) => errors.push(event.error))
    const closed = new Promise((resolve) => session.addEventListener('close', resolve))
    term.close()
    await closed
    expect(errors).toMatchObject([{ code: 'WRITE_GATE_CLOSED', method: 'CONNECT', outcome: 'unknown' }])
  })

  test('that ended by itself is not counted when the gate closes', async () => {
    await using server = await sessionServer()
    const term = openTerm()
    const refusals: WriteGateClosedError[] = []
    const view = gated(term, kubeConfigAt(server.url), { onRefusal: (refusal) => void refusals.push(refusal) })
    const session = await new Attach(view, handlerOf(view)).attach('ops', 'pod', 'container', null, null, null, false)
    const closed = new Promise((resolve) => session.addEventListener('close', resolve))
    server.sockets[0]?.destroy()
    await closed
    term.close()
    expect(refusals).toEqual([])
  })

  test('that is being opened fails when the gate closes', async () => {
    await using server = await sessionServer({ accepts: false })
    const term = openTerm()
    const exec = execOf(gated(term, kubeConfigAt(server.url)))
    const opening = exec.exec('ops', 'pod', 'container', ['true'], null, null, null, false)
    const [outcome] = await Promise.all([Promise.allSettled([opening]), server.handshake().then(() => term.close())])
    expect(outcome[0].status).toBe('rejected')
  })
})
