import { createServer as createHttp2Server } from 'node:http2'
import { once } from 'node:events'
import { Agent, createServer as createHttpServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { watchForLeaks } from '../../../../testing/src/leaks/watch-for-leaks.ts'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm } from '../../support/fresh-term.ts'

const LOOPBACK = { port: 0, host: '127.0.0.1' }
const portOf = (server: Server) => (server.address() as AddressInfo).port

async function request(port: number, agent: Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get({ port, host: '127.0.0.1', agent }, resolve).on('error', reject)
  return promise
}

describe('term.serve', () => {
  test('listens until the term ends, closes idle connections then, and leaves nothing', async () => {
    // On Node 22 the first AsyncLocalStorage enables a hook for good.
    const leaks = watchForLeaks({ retained: false, ignore: { kinds: ['async-hook'] } })
    const { term, failures, left } = freshTerm()
    const server = await term.serve(
      'api',
      createHttpServer((_, response) => response.end('ok')),
      LOOPBACK,
    )
    const agent = new Agent({ keepAlive: true })
    const answer = await request(portOf(server), agent)
    answer.resume()
    await once(answer, 'end')
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'serve api', waitsOn: '`api` to close' }])
    term.end(ENDED)
    await term.scope.join()
    expect([server.listening, left().listeners, failures]).toEqual([false, 0, []])
    agent.destroy()
    await leaks.assertNone()
  })

  test('keeps idle connections open while the term lasts, and leaves the server without listeners', async () => {
    const { term } = freshTerm()
    const api = createHttpServer((_, response) => response.end('ok'))
    const counts = () => ['connection', 'request', 'close', 'error'].map((event) => api.listenerCount(event))
    const before = counts()
    let connections = 0
    api.on('connection', () => (connections += 1))
    const server = await term.serve('api', api, LOOPBACK)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let round = 0; round < 3; round++) {
      const answer = await request(portOf(server), agent)
      answer.resume()
      await once(answer, 'end')
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(connections).toBe(1)
    term.end(ENDED)
    await term.scope.join()
    api.removeAllListeners('connection')
    expect([Object.hasOwn(api, 'emit'), counts().slice(1)]).toEqual([false, before.slice(1)])
    agent.destroy()
  })

  test('keeps nothing of a connection that has closed', async () => {
    const { term } = freshTerm()
    const sockets: Socket[] = []
    const server = await term.serve(
      'raw',
      createServer().on('connection', (socket) => sockets.push(socket)),
      LOOPBACK,
    )
    const client = connect(portOf(server), '127.0.0.1')
    await once(server, 'connection')
    const socket = sockets[0] ?? expect.fail('there is no connection')
    expect(Object.hasOwn(socket, 'emit')).toBe(true)
    const closed = once(socket, 'close')
    client.destroy()
    socket.resume()
    await closed
    expect(Object.hasOwn(socket, 'emit')).toBe(false)
    term.end(ENDED)
    await term.scope.join()
  })

  test('calls nothing of the user once the time of the term is up, and destroys connections that come then', async () => {
    const { term } = freshTerm()
    const heard: string[] = []
    const raw = createServer((socket) => socket.on('data', (data) => heard.push(String(data))))
    const server = await term.serve('raw', raw, LOOPBACK)
    const first = connect(portOf(server), '127.0.0.1')
    await once(raw, 'connection')
    Object.assign(term, { admits: () => false })
    first.write('late')
    const second = connect(portOf(server), '127.0.0.1')
    // It may be reset.
    second.on('error', () => {})
    await new Promise((resolve) => second.once('close', resolve))
    expect(heard).toEqual([])
    term.end(ENDED)
    term.hardAbort(ENDED)
    await term.scope.join()
    first.destroy()
  })

  test('lets a request under way come to its end, and closes its kept-alive connection then', async () => {
    const { term } = freshTerm()
    const waiting = Promise.withResolvers<ServerResponse>()
    const api = createHttpServer((_, response) => waiting.resolve(response))
    // Node itself would never close it.
    api.keepAliveTimeout = 0
    const server = await term.serve('api', api, LOOPBACK)
    const agent = new Agent({ keepAlive: true })
    const answered = request(portOf(server), agent)
    const response = await waiting.promise
    term.end(ENDED)
    expect(term.taskCount).toBe(1)
    response.end('done')
    expect((await answered).statusCode).toBe(200)
    ;(await answered).resume()
    await term.scope.join()
    agent.destroy()
  })

  test('waits for what a handler goes on with after its answer when it is spawned', async () => {
    const { term } = freshTerm()
    const work = Promise.withResolvers<void>()
    const server = await term.serve(
      'api',
      createHttpServer((_, response) => {
        void term.spawn('import', () => work.promise)
        response.writeHead(202).end()
      }),
      LOOPBACK,
    )
    const agent = new Agent()
    const answer = await request(portOf(server), agent)
    answer.resume()
    await once(answer, 'end')
    const closed = once(server, 'close')
    term.end(ENDED)
    await closed
    await new Promise((resolve) => setImmediate(resolve))
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'import' }])
    work.resolve()
    await term.scope.join()
    agent.destroy()
  })

  test('does not switch an HTTP/2 server to its compatibility API, which a listener for requests would', async () => {
    const { term } = freshTerm()
    const server = await term.serve('streams', createHttp2Server(), LOOPBACK)
    expect(server.listenerCount('stream')).toBe(0)
    term.end(ENDED)
    await term.scope.join()
  })

  test('destroys what is left at the hard abort', async () => {
    const { term } = freshTerm()
    const server = await term.serve('raw', createServer(), LOOPBACK)
    const socket = connect(portOf(server), '127.0.0.1')
    await once(server, 'connection')
    term.end(ENDED)
    expect(term.taskCount).toBe(1)
    term.hardAbort(ENDED)
    await term.scope.join()
    socket.destroy()
  })

  test('rejects when it cannot listen, which is left to the caller, and takes its listeners out', async () => {
    const { term, failures } = freshTerm()
    const first = await term.serve('first', createServer(), LOOPBACK)
    const second = createServer()
    const taken = term.serve('second', second, { ...LOOPBACK, port: portOf(first) })
    await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' })
    const names = ['connection', 'close', 'error', 'listening']
    expect(names.map((name) => second.listenerCount(name))).toEqual([0, 0, 0, 0])
    expect(failures).toEqual([])
    term.end(ENDED)
    await term.scope.join()
  })

  test('closes again, and is not handed out, when the term ends while it begins to listen', async () => {
    const { term } = freshTerm()
    const server = createServer()
    const serving = term.serve('late', server, LOOPBACK)
    term.end(ENDED)
    await expect(serving).rejects.toBe(ENDED)
    await term.scope.join()
    expect(server.listening).toBe(false)
  })

  test('fails the controller, having closed, when the server fails', async () => {
    const { term, failures } = freshTerm()
    const server = await term.serve('api', createServer(), LOOPBACK)
    const closed = new Promise((resolve) => server.once('close', resolve))
    server.emit('error', new Error('accept failed'))
    await closed
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toEqual([new Error('accept failed')])
    expect([server.listening, term.taskCount]).toEqual([false, 0])
  })

  test('is refused once the term has ended, and does not listen', () => {
    const { term } = freshTerm()
    const server = createServer()
    term.end(ENDED)
    expect(() => term.serve('late', server, LOOPBACK)).toThrow(ScopeClosedError)
    expect(() => term.serve('late', server, LOOPBACK)).toThrow('Task `serve late` of controller `janitor` was refused')
    expect(server.listening).toBe(false)
  })

  test('refuses what is no server, and adds no task', () => {
    const { term } = freshTerm()
    const [on, listen, close] = [0, 1, 2].map(() => () => expect.fail('it was called'))
    for (const other of [undefined, null, 8080, 'api', {}, { on, listen }, { on, close }, { listen, close }])
      expect(() => term.serve('api', other as unknown as Server, LOOPBACK)).toThrow(
        /^Expected `server` of `term.serve\(name, server, listen\)` to be a server of `node:net` or a relative, got /,
      )
    expect(term.taskCount).toBe(0)
  })
})

describe('term.serve rejects, and leaves nothing,', () => {
  test('where `listen` throws', async () => {
    const { term, failures, left } = freshTerm()
    const server = createServer()
    const before = server.eventNames()
    await expect(term.serve('api', server, { port: 99_999 })).rejects.toMatchObject({ code: 'ERR_SOCKET_BAD_PORT' })
    expect([left().tasks, failures, server.eventNames()]).toEqual([0, [], before])
    await term.serve('api', server, LOOPBACK)
    expect(server.listening).toBe(true)
  })

  test('where the server listens already', async () => {
    const { term, failures, left } = freshTerm()
    const server = createServer().listen(LOOPBACK)
    await once(server, 'listening')
    await expect(term.serve('api', server, LOOPBACK)).rejects.toMatchObject({ code: 'ERR_SERVER_ALREADY_LISTEN' })
    expect([left().tasks, failures]).toEqual([0, []])
    server.close()
    await once(server, 'close')
  })
})
