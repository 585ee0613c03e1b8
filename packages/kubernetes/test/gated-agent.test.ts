import { EventEmitter, once } from 'node:events'
import { Agent, createServer, request as send, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { gatedAgent } from '../src/gate/gated-agent.ts'
import { endWithGate } from '../src/gate/gated-session.ts'
import { answer, LoopbackServer, portOf } from './support/loopback-server.ts'
import { openGate } from './support/open-gate.ts'

const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'
const URL_OF_SERVER = 'https://server.example'

describe('An agent of node:http behind the gate', () => {
  /** Sends a request through a gated agent; resolves with the status, or the error. */
  async function through(
    term: ReturnType<typeof openGate>,
    url: string,
    options: { readonly method?: string; readonly headers?: Record<string, string>; readonly agent?: Agent } = {},
    use: (request: ClientRequest) => void = () => {},
  ): Promise<unknown> {
    const onRefused = vi.fn<() => void>()
    const { agent = new Agent({ keepAlive: false }), method = 'POST', headers = {} } = options
    onTestFinished(() => agent.destroy())
    const gated = gatedAgent(agent, { gate: term.gate, url: URL_OF_SERVER, onRefused })
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const request = send(`${url}${CONFIG_MAPS}`, { method, headers, agent: gated })
    request.on('error', resolve)
    request.on('response', (response: IncomingMessage) => {
      response.resume()
      response.once('end', () => resolve([response.statusCode, onRefused.mock.calls.length]))
    })
    use(request)
    request.end()
    return promise
  }

  const fine = (status = 200) => LoopbackServer.start((_, response) => answer(response, status, {}))

  test('writes while it is open, notes each write, and leaves no listener', async () => {
    await using server = await fine()
    const term = openGate()
    expect(await through(term, server.url)).toEqual([200, 0])
    expect(await through(term, server.url, { method: 'GET' })).toEqual([200, 0])
    expect(term.noted).toEqual(['configmaps/ops: '])
    expect(term.listeners()).toBe(0)
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'GET'])
  })

  test('tells that the server refused the credentials', async () => {
    await using server = await fine(401)
    expect(await through(openGate(), server.url)).toEqual([401, 1])
  })

  test('refuses writes once it is closed, before a connection is made, and reads', async () => {
    await using server = await fine()
    const term = openGate()
    term.close()
    expect(await through(term, server.url)).toMatchObject({
      code: 'WRITE_GATE_CLOSED',
      method: 'POST',
      url: `${URL_OF_SERVER}${CONFIG_MAPS}`,
      outcome: 'not-sent',
    })
    expect(server.connections).toEqual([])
    expect(term.noted).toEqual([])
    expect(await through(term, server.url, { method: 'GET' })).toEqual([200, 0])
    expect(term.refusals).toHaveLength(1)
  })

  test('refuses a write whose term runs out while the connection is made', async () => {
    await using server = await fine()
    for (const answers of [
      [true, false],
      [true, true, false],
    ]) {
      const term = openGate()
      term.answers.push(...answers)
      expect(await through(term, server.url)).toMatchObject({ outcome: 'not-sent' })
      expect(term.refusals).toHaveLength(1)
    }
    expect(server.requests).toEqual([])
  })

  test('asks only once more for a connection that exists', async () => {
    await using server = await fine()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const term = openGate()
    await through(term, server.url, { agent })
    await new Promise(setImmediate)
    term.answers.push(true, true, false)
    let listeners: number | undefined
    const use = (request: ClientRequest) =>
      request.once('socket', (socket) => void (listeners = socket.listenerCount('connect')))
    expect(await through(term, server.url, { agent }, use)).toEqual([200, 0])
    expect(listeners).toBe(0)
    expect(term.answers).toEqual([false])
    expect(server.connections).toHaveLength(1)
  })

  test('aborts a write in flight when it closes, which may have taken effect', async () => {
    await using server = await LoopbackServer.start(() => {})
    const term = openGate()
    const write = through(term, server.url)
    await server.untilRequests(1)
    term.close()
    expect(await write).toMatchObject({ code: 'WRITE_GATE_CLOSED', method: 'POST', outcome: 'unknown' })
    expect(term.refusals).toHaveLength(1)
  })

  test('lets a read in flight and a write that is being answered come to their ends', async () => {
    let finish = () => {}
    await using server = await LoopbackServer.start((_, response) => {
      response.writeHead(200).write('{')
      finish = () => response.end('}')
    })
    for (const method of ['GET', 'POST']) {
      const term = openGate()
      const done = through(term, server.url, { method }, (request) =>
        request.once('response', () => {
          term.close()
          finish()
        }),
      )
      expect(await done).toEqual([200, 0])
      expect(term.refusals).toEqual([])
    }
  })

  test('does not count a write that its user has given up', async () => {
    await using server = await fine()
    const term = openGate()
    const error = await through(term, server.url, {}, (request) => request.destroy(new Error('given up')))
    term.close()
    expect(error).toMatchObject({ message: 'given up' })
    expect(term.refusals).toEqual([])
    expect(term.listeners()).toBe(0)
  })

  /** A server that lets every client change the protocol. */
  async function upgradingServer(): Promise<string> {
    const sockets: Duplex[] = []
    const server = createServer().on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
      sockets.push(socket.on('error', () => {}))
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return `http://127.0.0.1:${portOf(server)}`
  }

  const UPGRADE = { method: 'GET', headers: { upgrade: 'x', connection: 'upgrade' } }

  test('leaves a session to what ends it, so that it is refused once', async () => {
    const term = openGate()
    const session = new EventEmitter() as EventEmitter & { readyState: number; terminate: () => void }
    const refused = once(session, 'error')
    await new Promise<void>((resolve) => {
      void upgradingServer().then((url) =>
        through(term, url, UPGRADE, (request) => {
          Object.assign(session, { readyState: 1, terminate: () => request.destroy() })
          endWithGate(term.gate, url)(request, session)
          request.once('upgrade', () => resolve())
        }),
      )
    })
    term.close()
    expect(await refused).toMatchObject([{ code: 'WRITE_GATE_CLOSED', method: 'CONNECT' }])
    expect(term.refusals).toHaveLength(1)
  })

  test('takes a change of the protocol for a write, and ends the session when it closes', async () => {
    const url = await upgradingServer()
    for (const closesFirst of [false, true]) {
      const term = openGate()
      const ended = Promise.withResolvers<unknown>()
      const session = through(term, url, UPGRADE, (request) =>
        request.on('upgrade', (_answer: IncomingMessage, socket: Duplex) => {
          socket.once('error', ended.resolve).once('close', () => ended.resolve('closed'))
          // Then the request has ended, and only its session is left.
          request.once('close', () => (closesFirst ? socket.destroy() : term.close()))
        }),
      )
      session.catch(() => {})
      const refusal = {
        code: 'WRITE_GATE_CLOSED',
        method: 'GET',
        url: `${URL_OF_SERVER}${CONFIG_MAPS}`,
        outcome: 'unknown',
      }
      if (closesFirst) expect(await ended.promise).toBe('closed')
      else expect(await ended.promise).toMatchObject(refusal)
      expect(term.noted).toEqual(['configmaps/ops: '])
      expect(term.listeners()).toBe(0)
    }
    const closed = openGate()
    closed.close()
    expect(await through(closed, url, UPGRADE)).toMatchObject({ method: 'GET', outcome: 'not-sent' })
  })
})
