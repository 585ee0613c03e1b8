import { type Logger, type PresentLease } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { ApiTransport } from '../src/client/api-transport.ts'
import { LeaseEvents, type LeaseEventsOptions } from '../src/events/lease-events.ts'
import { parseLease } from '../src/locks/lease/lease-object.ts'
import { answer, kubeConfigFor, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'

/** How long an event waits for the handover to be over. */
const DELAY_MS = 100

function warnings() {
  const lines: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = []
  const logger: Logger = { ...silentLogger, warn: (fields, message) => lines.push({ fields, message }) }
  return { lines, logger }
}

function eventsOn(server: LoopbackServer, changes: Partial<LeaseEventsOptions> = {}): LeaseEvents {
  const kubeConfig = server.kubeConfig()
  const clock = new ManualClock()
  return new LeaseEvents({
    kubeConfig,
    name: 'janitor',
    namespace: 'ops',
    identity: 'me',
    clock,
    random: () => 0,
    ...changes,
  })
}

function leaseOf(object: object): PresentLease {
  const lease = parseLease(object)
  if (lease === undefined) throw new Error('Expected the lease to parse')
  return lease
}

const sent = (server: LoopbackServer) =>
  server.requests.map(({ message, body }) => ({
    method: message.method,
    url: message.url,
    body: JSON.parse(body) as unknown,
  }))

describe('an event on the lease', () => {
  test('carries the epoch of the term, also where it is repeated', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const events = eventsOn(server)
    events.becameLeader(undefined, 7n)
    events.becameLeader(undefined, 9n)
    await events.close()
    expect(sent(server).map(({ method, body }) => [method, body])).toEqual([
      [
        'POST',
        expect.objectContaining({ metadata: expect.objectContaining({ annotations: { 'tenure.dev/epoch': '7' } }) }),
      ],
      ['PATCH', expect.objectContaining({ count: 2, metadata: { annotations: { 'tenure.dev/epoch': '9' } } })],
    ])
  })

  test('is written as client-go writes it', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const events = eventsOn(server)
    events.becameLeader(leaseOf({ metadata: { uid: 'u-1', resourceVersion: '7' } }))
    await events.close()
    expect(sent(server)).toEqual([
      {
        method: 'POST',
        url: '/api/v1/namespaces/ops/events',
        body: {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'janitor.1886caf21c963200', namespace: 'ops' },
          involvedObject: {
            kind: 'Lease',
            apiVersion: 'coordination.k8s.io/v1',
            name: 'janitor',
            namespace: 'ops',
            uid: 'u-1',
            resourceVersion: '7',
          },
          reason: 'LeaderElection',
          message: 'me became leader',
          type: 'Normal',
          source: { component: 'tenure' },
          reportingComponent: 'tenure',
          firstTimestamp: '2026-01-02T03:04:05Z',
          lastTimestamp: '2026-01-02T03:04:05Z',
          count: 1,
        },
      },
    ])
  })

  test('needs no lease object to be written', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const events = eventsOn(server, { component: 'janitor-controller' })
    events.stoppedLeading()
    await events.close()
    expect(sent(server)[0]?.body).toMatchObject({
      message: 'me stopped leading',
      source: { component: 'janitor-controller' },
      involvedObject: { name: 'janitor', namespace: 'ops' },
    })
  })

  test('has a name that Kubernetes takes, however long that of the lease is', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const name = `${'a'.repeat(235)}.${'b'.repeat(17)}`
    const events = eventsOn(server, { name })
    events.becameLeader()
    await events.close()
    const body = server.requests[0]?.body ?? ''
    const [, eventName = ''] = /"metadata":\{"name":"([^"]+)"/.exec(body) ?? []
    expect(eventName).toMatch(/^a{235}\.[0-9a-f]{16}$/)
  })

  test.each([
    [
      'an end that no name may have',
      `${'a'.repeat(231)}.-.-.${'b'.repeat(17)}`,
      0,
      `${'a'.repeat(231)}.1886caf21c963200`,
    ],
    ['the greatest length', 'a'.repeat(236), 0, `${'a'.repeat(236)}.1886caf21c963200`],
    ['signs within that of the lease', 'janitor-a.b', 0, 'janitor-a.b.1886caf21c963200'],
    ['a time of its own within the millisecond', 'janitor', 0.5, 'janitor.1886caf21c9dd320'],
  ])('has a name with %s', async (_, name, random, expected) => {
    await using server = await LoopbackServer.start((_request, response) => answer(response, 201, {}))
    const events = eventsOn(server, { name, random: () => random })
    events.becameLeader()
    await events.close()
    expect(sent(server)[0]?.body).toMatchObject({ metadata: { name: expected } })
  })

  test('has the version of a lease whose uid is not known', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const events = eventsOn(server)
    events.becameLeader(leaseOf({ metadata: { resourceVersion: '7' } }))
    events.stoppedLeading({ ...leaseOf({ metadata: { resourceVersion: '8' } }), native: 'x' })
    await events.close()
    const lease = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', name: 'janitor', namespace: 'ops' }
    expect(sent(server).map(({ body }) => (body as { involvedObject: object }).involvedObject)).toEqual([
      { ...lease, resourceVersion: '7' },
      { ...lease, resourceVersion: '8' },
    ])
  })

  test('is counted on the first of its kind when it is repeated', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const clock = new ManualClock()
    const events = eventsOn(server, { clock })
    events.becameLeader()
    events.stoppedLeading()
    clock.advance(60_000)
    events.becameLeader()
    await events.close()
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'POST', 'PATCH'])
    const [, , repeated] = sent(server)
    expect(repeated?.url).toBe('/api/v1/namespaces/ops/events/janitor.1886caf21c963200')
    expect(repeated?.body).toEqual({ count: 2, lastTimestamp: '2026-01-02T03:05:05Z' })
    expect(server.requests[2]?.message.headers['content-type']).toBe('application/merge-patch+json')
  })

  test('is written again when the first of its kind is no longer kept', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      answer(response, message.method === 'PATCH' ? 404 : 201, {})
    })
    const events = eventsOn(server)
    events.becameLeader()
    events.becameLeader()
    await events.close()
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'PATCH', 'POST'])
  })
})

describe('the write of an event', () => {
  test.each([
    ['shop', 'shop'],
    [undefined, expect.stringMatching(/^tenure\/\S+ leader-election$/)],
  ])('has the user agent %s', async (userAgent, expected) => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const events = eventsOn(server, userAgent === undefined ? {} : { userAgent })
    events.becameLeader()
    await events.close()
    expect(server.requests[0]?.message.headers['user-agent']).toEqual(expected)
    await server.untilDeserted()
  })

  test('leaves room for the next ones, however many there were', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const clock = new ManualClock()
    const events = eventsOn(server, { clock })
    for (let written = 1; written <= 20; written++) {
      events.becameLeader()
      while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(DELAY_MS)
      await server.untilRequests(written)
      while (clock.pendingTimers > 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await events.close()
    expect(server.requests).toHaveLength(20)
  })

  test('uses connections that others share, and leaves them open; once closed it uses them no more', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const transport = new ApiTransport({ kubeConfig: server.kubeConfig(), userAgent: 'shared' })
    const events = eventsOn(server, { transport })
    events.becameLeader()
    await events.close()
    expect(server.requests[0]?.message.headers['user-agent']).toBe('shared')
    const target = { verb: 'get', group: '', resource: 'pods', namespace: 'ops', name: 'x' }
    events.becameLeader()
    const { signal } = new AbortController()
    for (const path of ['/x', '/y']) expect(await transport.send({ method: 'GET', path, target, signal })).toEqual({})
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'GET', 'GET'])
    expect(server.connections).toHaveLength(1)
    await transport.close()
    await server.untilDeserted()
  })

  test.each([
    'kubeConfig',
    'name',
    'namespace',
    'identity',
    'component',
    'userAgent',
    'transport',
    'timeoutMs',
    'clock',
    'random',
    'logger',
  ])('has the option %s', (option) => {
    const given = { kubeConfig: kubeConfigFor('http://127.0.0.1:1'), name: 'x', namespace: 'ops', identity: 'me' }
    expect(() => new LeaseEvents({ ...given, [`${option}Q`]: 1 })).toThrow(
      `Unknown option \`${option}Q\` in the options of LeaseEvents; did you mean \`${option}\`?`,
    )
  })

  test('does not compete with the write of the successor', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const clock = new ManualClock()
    const events = eventsOn(server, { clock })
    events.stoppedLeading()
    await Promise.resolve()
    clock.advance(DELAY_MS - 1)
    expect(clock.pendingDelays).toEqual([1])
    expect(server.requests).toHaveLength(0)
    clock.advance(1)
    await server.untilRequests(1)
    await events.close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('waits with one timer however many events wait, and not any more when the events are closed', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const clock = new ManualClock()
    const events = eventsOn(server, { clock })
    for (let term = 0; term < 5; term++) events.becameLeader()
    await Promise.resolve()
    expect(clock.pendingTimers).toBe(1)
    await events.close()
    expect(server.requests.length).toBeGreaterThan(0)
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('an event that cannot be written', () => {
  test('is logged again after another was written', async () => {
    const { lines, logger } = warnings()
    const statuses = [500, 201, 500]
    await using server = await LoopbackServer.start((_, response) => answer(response, statuses.shift() ?? 201, {}))
    const events = eventsOn(server, { logger })
    events.becameLeader()
    events.stoppedLeading()
    events.becameLeader()
    await events.close()
    const line = (what: string) => ({
      fields: {
        err: expect.objectContaining({ message: `Could not ${what}: the server failed (500)` }),
        lease: 'ops/janitor',
      },
      message: 'Could not record an Event on the lease',
    })
    const create = 'create events ops/janitor.1886caf21c963200'
    expect(lines).toEqual([line(create), line(create)])
  })

  test('as a repetition is not written in another way', async () => {
    const { lines, logger } = warnings()
    await using server = await LoopbackServer.start((message, response) => {
      answer(response, message.method === 'PATCH' ? 403 : 201, {})
    })
    const events = eventsOn(server, { logger })
    events.becameLeader()
    events.becameLeader()
    await events.close()
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'PATCH'])
    expect(String(lines[0]?.fields['err'])).toContain('Could not patch events ops/janitor.1886caf21c963200')
  })

  test('is logged once for each kind of failure, with the permission that is missing', async () => {
    const { lines, logger } = warnings()
    let statusCode = 403
    await using server = await LoopbackServer.start((_, response) => answer(response, statusCode, {}))
    const clock = new ManualClock()
    const events = eventsOn(server, { logger, clock })
    events.becameLeader()
    events.stoppedLeading()
    clock.advance(DELAY_MS)
    await server.untilRequests(2)
    statusCode = 401
    events.becameLeader()
    await events.close()
    expect(lines).toHaveLength(2)
    expect(String(lines[0]?.fields['err'])).toContain('must grant the verb "create" on the resource "events"')
    expect(lines[0]?.fields['lease']).toBe('ops/janitor')
    expect(lines[1]?.fields['err']).toMatchObject({ failure: 'unauthenticated' })
  })

  test('does not throw into the caller where there is no server, and is over when close resolves', async () => {
    const { lines, logger } = warnings()
    const kubeConfig = kubeConfigFor('http://127.0.0.1:1')
    const events = new LeaseEvents({ kubeConfig, name: 'janitor', namespace: 'ops', identity: 'me', logger })
    events.becameLeader()
    await events.close()
    expect(lines).toHaveLength(1)
  })

  test('is given up after the timeout', async () => {
    const { lines, logger } = warnings()
    await using server = await LoopbackServer.start(() => {})
    const clock = new ManualClock()
    const events = eventsOn(server, { logger, clock })
    events.becameLeader()
    clock.advance(DELAY_MS)
    await server.untilRequests(1)
    clock.advance(5000)
    await server.untilDeserted()
    await events.close()
    expect(lines[0]?.fields['err']).toMatchObject({ failure: 'unknown-outcome' })
    expect(clock.pendingTimers).toBe(0)
  })

  test('keeps close waiting no longer than the timeout, however many there are, and the log says so', async () => {
    const { lines, logger } = warnings()
    await using server = await LoopbackServer.start(() => {})
    const clock = new ManualClock()
    const events = eventsOn(server, { clock, timeoutMs: 5000, logger })
    for (let term = 0; term < 5; term++) events.becameLeader()
    clock.advance(DELAY_MS)
    await server.untilRequests(1)
    const closing = events.close()
    clock.advance(5000)
    await closing
    await server.untilDeserted()
    const causes = lines.map(({ fields }) => (fields['err'] as Error).cause)
    expect(causes).toMatchObject([{ message: 'No answer within 5000 ms' }, { message: 'The events are closed' }])
    expect(server.requests).toHaveLength(1)
    expect(clock.pendingTimers).toBe(0)
  })

  test('is dropped when too many wait, and when it comes after close', async () => {
    let held: (() => void)[] = []
    let hold = true
    await using server = await LoopbackServer.start((_, response) => {
      const reply = () => answer(response, 201, {})
      if (hold) held.push(reply)
      else reply()
    })
    const clock = new ManualClock()
    const events = eventsOn(server, { clock })
    for (let term = 0; term < 40; term++) events.becameLeader()
    clock.advance(DELAY_MS)
    await server.untilRequests(1)
    hold = false
    for (const reply of held) reply()
    held = []
    await events.close()
    events.becameLeader()
    expect(server.requests).toHaveLength(16)
    expect(events.close()).toBe(events.close())
  })
})
