import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startApiServer, type ApiServer } from '../src/index.ts'
import { VirtualClock } from '@tenure/testing/virtual-clock'
import { leases, TestClient } from './test-client.ts'

let clock: VirtualClock
let server: ApiServer
let client: TestClient

beforeEach(async () => {
  clock = new VirtualClock()
  server = await startApiServer({ clock })
  client = new TestClient(server)
})

afterEach(async () => {
  client[Symbol.dispose]()
  await server.stop()
})

function create(name: string): Promise<{ status: number }> {
  return client.send('POST', leases(), { metadata: { name } })
}

function exists(name: string): boolean {
  return server.store.get({ collection: 'coordination.k8s.io/leases', namespace: 'default', name }) !== undefined
}

/** Resolves when the server has logged a request that fits. */
async function logged(verb: string): Promise<void> {
  while (server.requests.count({ verb }) === 0) await new Promise((resolve) => setImmediate(resolve))
}

describe('a fault', () => {
  it.each([
    [409, 'Conflict'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ] as const)('answers with %d instead of handling the request', async (status, reason) => {
    server.faults.add({ match: { verb: 'create' }, effect: { kind: 'answer', status, retryAfterSeconds: 3 } })
    const answer = await client.send('POST', leases(), { metadata: { name: 'a' } })
    expect(answer.status).toBe(status)
    expect(answer.headers['retry-after']).toBe('3')
    expect(answer.body).toMatchObject({ kind: 'Status', reason, details: { retryAfterSeconds: 3 } })
    expect(exists('a')).toBe(false)
  })

  it('drops the connection before the request is handled', async () => {
    server.faults.add({ effect: { kind: 'drop-before' }, times: 1 })
    await expect(create('a')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(exists('a')).toBe(false)
    expect(server.requests.count({ verb: 'create', status: 0 })).toBe(1)
  })

  it('drops the connection after the request was handled: only the answer is lost', async () => {
    server.faults.add({ effect: { kind: 'drop-after' }, times: 1 })
    await expect(create('a')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(exists('a')).toBe(true)
  })

  it.each([
    ['black-hole', false],
    ['black-hole-after', true],
  ] as const)('never answers: %s', async (kind, isHandled) => {
    server.faults.add({ effect: { kind }, times: 1 })
    const abort = new AbortController()
    const pending = client.open('POST', leases(), { metadata: { name: 'a' } }, abort.signal)
    await logged('create')
    expect(exists('a')).toBe(isHandled)
    abort.abort()
    await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each([
    ['delay-before', false],
    ['delay-after', true],
  ] as const)('delays a request: %s', async (kind, isHandledAtOnce) => {
    const fault = server.faults.add({ effect: { kind, ms: 500 }, times: 1 })
    const pending = create('a')
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(499)
    expect(exists('a')).toBe(isHandledAtOnce)
    expect(server.requests.count({ verb: 'create' })).toBe(0)
    await clock.advance(1)
    expect((await pending).status).toBe(201)
  })

  it('meets only the requests that match', async () => {
    const fault = server.faults.add({
      match: { user: 'alice', verb: ['create', 'update'], resource: 'leases', userAgent: /^unit-test/ },
      effect: { kind: 'answer', status: 503 },
    })
    using alice = new TestClient(server, { user: { name: 'alice', groups: ['system:masters'] } })
    expect((await create('a')).status).toBe(201)
    expect((await alice.send('GET', leases('a'))).status).toBe(200)
    expect((await alice.send('POST', leases(), { metadata: { name: 'b' } })).status).toBe(503)
    expect((await alice.send('PUT', leases('a'), { metadata: { name: 'a' } })).status).toBe(503)
    expect(fault.hits).toBe(2)
  })

  it('ends after the given number of requests, or when it is removed', async () => {
    server.faults.add({ effect: { kind: 'answer', status: 500 }, times: 2 })
    const lasting = server.faults.add({ effect: { kind: 'answer', status: 503 } })
    const statuses = [(await create('a')).status, (await create('b')).status, (await create('c')).status]
    expect(statuses).toEqual([500, 500, 503])
    lasting.remove()
    expect((await create('d')).status).toBe(201)
  })
})

describe('a watch', () => {
  async function open(): Promise<{ next: () => Promise<string | undefined> }> {
    const response = await client.open('GET', `${leases()}?watch=true`)
    const lines = createInterface({ input: response })[Symbol.asyncIterator]()
    return {
      next: async () => {
        const { done, value } = await lines.next()
        return done === true
          ? undefined
          : (JSON.parse(value) as { object: { metadata: { name: string } } }).object.metadata.name
      },
    }
  }

  it('that is silenced gets what it missed when the silence ends', async () => {
    const watch = await open()
    await create('a')
    expect(await watch.next()).toBe('a')
    const silence = server.faults.silenceWatches({ resource: 'leases' })
    await create('b')
    const next = watch.next()
    await create('c')
    expect(await Promise.race([next, Promise.resolve('nothing')])).toBe('nothing')
    silence.remove()
    expect([await next, await watch.next()]).toEqual(['b', 'c'])
  })

  it('that begins during a silence is silent too', async () => {
    const silence = server.faults.silenceWatches()
    await create('a')
    const watch = await open()
    const next = watch.next()
    await create('b')
    expect(await Promise.race([next, Promise.resolve('nothing')])).toBe('nothing')
    silence.remove()
    expect([await next, await watch.next()]).toEqual(['a', 'b'])
  })

  it('can be closed in an orderly way', async () => {
    const watch = await open()
    expect(server.faults.countWatches({ resource: 'leases' })).toBe(1)
    expect(server.faults.closeWatches()).toBe(1)
    expect(await watch.next()).toBeUndefined()
  })

  it('can be closed abruptly', async () => {
    const response = await client.open('GET', `${leases()}?watch=true`)
    const failed = once(response.resume(), 'error')
    server.faults.closeWatches({ match: { verb: 'watch' }, abruptly: true })
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  })
})
