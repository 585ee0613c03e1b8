import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer } from '../src/index.ts'
import { VirtualClock } from '@tenure/testing/virtual-clock'
import { leases, TestClient } from './test-client.ts'

/** The sockets and timers that keep this process alive. */
function activeResources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP') || name === 'Timeout')
}

/** What is active beyond what was active before. */
function beyond(before: readonly string[]): string[] {
  const known = [...before]
  return activeResources().filter((name) => {
    const index = known.indexOf(name)
    if (index !== -1) known.splice(index, 1)
    return index === -1
  })
}

/** Resolves when a stream is gone, however it went. */
function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => undefined).on('close', resolve)
  })
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-api-server-'))
})

afterAll(async () => rm(folder, { recursive: true }))

describe('an embedded API server', () => {
  it('leaves nothing behind when it is stopped in the middle of watches, requests and handshakes', async () => {
    const before = activeResources()
    const server = await startApiServer()
    server.faults.add({ match: { verb: 'list' }, effect: { kind: 'black-hole' } })
    server.faults.add({ match: { verb: 'create' }, effect: { kind: 'delay-before', ms: 60_000 } })
    const client = new TestClient(server)
    const watch = await client.open('GET', `${leases()}?watch=true&allowWatchBookmarks=true`)
    const ended = closed(watch.resume())
    const unanswered = [client.open('GET', leases()), client.open('POST', leases(), {})].map((answer) =>
      answer.then(
        () => 'answered',
        () => 'lost',
      ),
    )
    const handshake = connect(Number(new URL(server.url).port), '127.0.0.1')
    const cut = closed(handshake)
    await once(handshake, 'connect')
    await server.stop()
    await Promise.all([ended, cut])
    expect(await Promise.all(unanswered)).toEqual(['lost', 'lost'])
    client[Symbol.dispose]()
    // The client side of a connection is gone some turns of the event loop after its end.
    for (let turn = 0; turn < 1000 && beyond(before).length > 0; turn += 1) await setImmediate()
    expect(beyond(before)).toEqual([])
  })

  it('can be stopped twice, and its port taken again', async () => {
    const first = await startApiServer()
    const port = Number(new URL(first.url).port)
    await Promise.all([first.stop(), first.stop()])
    await using second = await startApiServer({ port })
    expect(second.url).toBe(first.url)
  })

  it('rejects when its port is taken', async () => {
    await using server = await startApiServer()
    const port = Number(new URL(server.url).port)
    const file = join(folder, 'unused')
    await expect(startApiServer({ port, file })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await rm(file)
  })

  it('knows users by the tokens that it is given', async () => {
    const users = [{ name: 'robot', groups: ['system:masters'], token: 'secret' }]
    await using server = await startApiServer({ users })
    using client = new TestClient(server, { token: 'secret' })
    expect((await client.send('GET', leases())).status).toBe(200)
    expect(server.requests.count({ user: 'robot', verb: 'list' })).toBe(1)
    expect(server.kubeConfig({ name: 'robot' })).toContain('token: "secret"')
  })

  it('writes a kubeconfig that only its owner can read', async () => {
    await using server = await startApiServer()
    const path = join(folder, 'kubeconfig')
    await server.writeKubeConfig(path, { name: 'alice' })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const text = await readFile(path, 'utf8')
    expect(text).toContain(`server: ${server.url}`)
    expect(text).toContain('user: "alice"')
    await rm(path)
  })

  it('logs who asked for what with which outcome', async () => {
    await using server = await startApiServer()
    using client = new TestClient(server, { user: { name: 'alice', groups: ['system:masters'] } })
    await client.send('POST', leases(), { metadata: { name: 'a' } })
    await client.send('GET', leases('b'))
    expect(server.requests.find({ user: 'alice' })).toMatchObject([
      { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'default', name: '', status: 201 },
      { verb: 'get', name: 'b', status: 404, userAgent: 'unit-test/1.0', path: leases('b') },
    ])
    server.requests.clear()
    expect(server.requests.count()).toBe(0)
  })

  it('answers what is no HTTP with 400 and closes the connection', async () => {
    await using server = await startApiServer()
    const socket = tlsConnect({ port: Number(new URL(server.url).port), host: '127.0.0.1', ca: server.caCert })
    socket.setEncoding('utf8').write('nonsense\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [string]
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    await closed(socket)
  })
})

describe('the clock of an embedded API server', () => {
  it('decides about timestamps', async () => {
    const clock = new VirtualClock({ wallTime: Date.UTC(2030, 0, 2, 3, 4, 5) })
    await using server = await startApiServer({ clock })
    using client = new TestClient(server)
    const { body } = await client.send('POST', leases(), { metadata: { name: 'a' } })
    expect(body.metadata.creationTimestamp).toBe('2030-01-02T03:04:05Z')
  })

  it('decides about bookmarks and the end of a watch', async () => {
    const clock = new VirtualClock()
    await using server = await startApiServer({ clock, bookmarkIntervalMs: 1000 })
    using client = new TestClient(server)
    const path = `${leases()}?watch=true&allowWatchBookmarks=true&timeoutSeconds=2`
    const response = await client.open('GET', path)
    const lines = createInterface({ input: response })[Symbol.asyncIterator]()
    await clock.advance(1000)
    const bookmark = (await lines.next()).value as string
    expect(JSON.parse(bookmark)).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'Lease',
        apiVersion: 'coordination.k8s.io/v1',
        metadata: { resourceVersion: String(server.store.version) },
        spec: {},
      },
    })
    await clock.advance(999)
    expect(server.faults.countWatches()).toBe(1)
    await clock.advance(1)
    expect((await lines.next()).done).toBe(true)
  })
})
