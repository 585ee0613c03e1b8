import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import type { ApiRequest } from '../src/client/api-request.ts'
import type { MemberFacts } from '../src/membership/member-lease.ts'
import { memberLeaseName } from '../src/membership/member-lease.ts'
import { OwnLease } from '../src/membership/own-lease.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { neverAnswered, refusal, ScriptedConnection } from './support/scripted-connection.ts'

const NAME = memberLeaseName('shop', 'a')
const PATH = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
const RENEWAL_MS = 5000
/** With half of the jitter. */
const NEXT_RENEWAL_MS = 4900
const RETRY_MS = 1100

/** The Lease of a replica on a scripted connection, which stores what it is sent. */
function leased(renewIntervalMs = RENEWAL_MS) {
  const clock = new VirtualClock()
  const connection = new ScriptedConnection()
  const lines: Line[] = []
  const events: string[] = []
  let version = 0
  const store = ({ body }: ApiRequest) => {
    version += 1
    const { metadata, ...rest } = body as { readonly metadata: object }
    return { ...rest, metadata: { ...metadata, uid: 'u', resourceVersion: String(version) } }
  }
  connection.onSend = store
  let facts: MemberFacts = { notes: {} }
  const lease = new OwnLease({
    connection,
    clock,
    random: () => 0.5,
    logger: recordingLogger(lines),
    renewIntervalMs,
    source: { group: 'shop', namespace: 'ops', identity: 'a', durationMs: 15_000, labels: {}, pod: undefined },
    facts: () => facts,
    onWritten: (sentAt, written) => events.push(`written ${written}, sent at ${sentAt}`),
    onFailed: ({ message }) => events.push(`failed: ${message}`),
  })
  const stopping = new AbortController()
  return {
    clock,
    connection,
    lines,
    events,
    lease,
    store,
    stopping,
    say: (notes: Record<string, string>) => (facts = { notes }),
    run: () => lease.run(stopping.signal),
    /** What was sent from now on, until some time has passed. */
    sentDuring: async (ms: number) => {
      const before = connection.sent.length
      await clock.advance(ms)
      return connection.sent.slice(before).map(({ target }) => target.verb)
    },
    answer: (next: ScriptedConnection['onSend']) => (connection.onSend = next),
    /** Answers requests with these statuses, one after the other, then as usual. */
    refuse: (...statuses: readonly number[]) => {
      const left = [...statuses]
      connection.onSend = (request) => {
        const status = left.shift()
        if (status !== undefined) throw refusal(request.target, status)
        return store(request)
      }
    },
  }
}

const targetOf = (verb: string) => ({
  verb,
  group: 'coordination.k8s.io',
  resource: 'leases',
  namespace: 'ops',
  name: NAME,
})
const versionIn = ({ body }: ApiRequest) =>
  (body as { metadata: { resourceVersion?: string } }).metadata.resourceVersion
const notesIn = ({ body }: ApiRequest) =>
  (body as { metadata: { annotations: Record<string, string> } }).metadata.annotations['tenure.dev/member']

describe('the own Lease', () => {
  test('is created, and then renewed a little before each interval is over', async () => {
    const { clock, connection, events, lease, run, sentDuring, stopping } = leased()
    expect([lease.name, lease.isPublished]).toEqual([NAME, false])
    await lease.publish()
    expect(connection.sent).toEqual([
      {
        method: 'POST',
        path: PATH,
        body: expect.anything(),
        target: targetOf('create'),
        signal: expect.any(AbortSignal),
      },
    ])
    expect(connection.sent[0]?.body).toMatchObject({
      metadata: { name: NAME, namespace: 'ops' },
      spec: { holderIdentity: 'a', renewTime: '2026-01-01T00:00:00.000000Z' },
    })
    expect([lease.isPublished, lease.problem, events]).toEqual([true, undefined, ['written 1, sent at 0']])
    const running = run()
    expect(await sentDuring(NEXT_RENEWAL_MS - 1)).toEqual([])
    expect(await sentDuring(1)).toEqual(['update'])
    expect(connection.sent[1]).toMatchObject({ method: 'PUT', path: `${PATH}/${NAME}`, target: targetOf('update') })
    expect(connection.sent[1]?.body).toMatchObject({
      metadata: { uid: 'u', resourceVersion: '1' },
      spec: { renewTime: '2026-01-01T00:00:04.900000Z', acquireTime: '2026-01-01T00:00:00.000000Z' },
    })
    expect(await sentDuring(NEXT_RENEWAL_MS)).toEqual(['update'])
    expect(connection.sent[2] && versionIn(connection.sent[2])).toBe('2')
    expect(events.at(-1)).toBe('written 3, sent at 9800')
    stopping.abort()
    await running
    expect(clock.pendingTimers).toBe(0)
  })

  test('counts from when a write was sent, not from when it was answered', async () => {
    const { answer, clock, events, lease, store } = leased()
    answer(async (request) => {
      await new Promise<void>((resolve) => clock.setTimer(700, resolve))
      return store(request)
    })
    const publishing = lease.publish()
    await clock.advance(1000)
    await publishing
    expect(events).toEqual(['written 1, sent at 0'])
  })

  test('takes an answer without a version for a write of version 0', async () => {
    const { answer, events, lease } = leased()
    answer(() => 'ok')
    await lease.publish()
    expect(events).toEqual(['written 0, sent at 0'])
  })
})

describe('a write that fails', () => {
  test('rejects the start, is logged until it succeeds, and is repeated after a second', async () => {
    const { answer, events, lease, lines, run, sentDuring, store, stopping } = leased()
    const error = new Error('no route')
    answer(() => {
      throw error
    })
    await expect(lease.publish()).rejects.toBe(error)
    expect([lease.isPublished, lease.problem, events]).toEqual([false, error, ['failed: no route']])
    const message = 'could not write the identity Lease of this replica: no route'
    const fields = { event: 'member-not-renewed', namespace: 'ops', lease: NAME, err: error }
    expect(lines).toEqual([{ level: 'warn', message, fields }])
    const running = run()
    expect(await sentDuring(RETRY_MS - 1)).toEqual([])
    expect(await sentDuring(1)).toEqual(['create'])
    expect(lines).toHaveLength(1)
    answer(() => {
      throw new Error('refused')
    })
    expect(await sentDuring(RETRY_MS)).toEqual(['create'])
    expect(lines.map((line) => line.message).slice(1)).toEqual([
      'could not write the identity Lease of this replica: refused',
    ])
    answer(store)
    expect(await sentDuring(RETRY_MS)).toEqual(['create'])
    expect([lease.isPublished, lease.problem, lines.length]).toEqual([true, undefined, 2])
    stopping.abort()
    await running
  })

  test('that throws something else is an error, too', async () => {
    const { answer, lease } = leased()
    answer(() => {
      throw 'odd' as unknown
    })
    await expect(lease.publish()).rejects.toEqual(new Error('odd'))
  })

  test('is repeated after an interval if that is shorter than a second', async () => {
    const { lease, refuse, run, sentDuring, stopping } = leased(500)
    refuse(500)
    await lease.publish().catch(() => {})
    const running = run()
    expect(await sentDuring(549)).toEqual([])
    expect(await sentDuring(1)).toEqual(['create'])
    stopping.abort()
    await running
  })

  test.each([403, 404, 422])(
    'with status %d is repeated after an interval: somebody must change something',
    async (status) => {
      const { lease, refuse, run, sentDuring, stopping } = leased()
      refuse(status)
      await lease.publish().catch(() => {})
      const running = run()
      expect(await sentDuring(5499)).toEqual([])
      expect(await sentDuring(1)).toEqual(['create'])
      stopping.abort()
      await running
    },
  )

  test('is repeated no earlier than the server asks', async () => {
    const { answer, lease, run, sentDuring, stopping } = leased()
    answer(({ target }) => {
      throw refusal(target, 429, { 'retry-after': '9' })
    })
    await lease.publish().catch(() => {})
    const running = run()
    expect(await sentDuring(8999)).toEqual([])
    expect(await sentDuring(1)).toEqual(['create'])
    stopping.abort()
    await running
  })

  test('because nobody answers fails after six tenths of an interval', async () => {
    const { answer, clock, events, lease } = leased()
    answer(neverAnswered)
    const failed = expect(lease.publish()).rejects.toThrow('No answer within 3000 ms')
    await clock.advance(2999)
    expect(events).toEqual([])
    await clock.advance(1)
    await failed
  })
})

describe('a Lease that somebody else has changed', () => {
  test.each([
    ['the read shows it', (object: object) => object, 'update'],
    ['the read shows no object', () => 'odd', 'create'],
  ])('is read after a conflict, and written as it is then: %s', async (_, read, verb) => {
    const { answer, connection, lease, store } = leased()
    await lease.publish()
    const other = { metadata: { uid: 'u', resourceVersion: '77' }, spec: {} }
    answer((request) => {
      if (request.method === 'GET') return read(other)
      if (request.method === 'PUT' && versionIn(request) !== '77') throw refusal(request.target, 409)
      return store(request)
    })
    await lease.publish()
    expect(connection.sent.slice(1)).toMatchObject([
      { target: targetOf('update') },
      { method: 'GET', path: `${PATH}/${NAME}`, target: targetOf('get') },
      { target: targetOf(verb) },
    ])
  })

  test('is created again if it is not there any more', async () => {
    const { connection, lease, refuse } = leased()
    await lease.publish()
    refuse(404)
    await lease.publish()
    refuse(409, 404)
    await lease.publish()
    expect(connection.sent.map(({ target }) => target.verb)).toEqual([
      'create',
      'update',
      'create',
      'update',
      'get',
      'create',
    ])
  })

  test('is a failure if it cannot be read, or if the namespace is not there', async () => {
    const { lease, refuse } = leased()
    refuse(404)
    await expect(lease.publish()).rejects.toMatchObject({ statusCode: 404 })
    refuse(409, 500)
    await expect(lease.publish()).rejects.toMatchObject({ statusCode: 500 })
  })

  test('is written at once when that is seen', async () => {
    const { connection, lease, run, sentDuring, stopping } = leased()
    lease.seen({ kind: 'absent', version: 9n })
    await lease.publish()
    const running = run()
    lease.seen({ kind: 'present', version: 1n })
    expect(await sentDuring(0)).toEqual([])
    lease.seen({ kind: 'present', version: 2n })
    expect(await sentDuring(0)).toEqual(['update'])
    lease.seen({ kind: 'absent', version: 2n })
    expect(await sentDuring(0)).toEqual([])
    lease.seen({ kind: 'absent', version: 3n })
    expect(await sentDuring(0)).toEqual(['create'])
    expect(connection.sent).toHaveLength(3)
    stopping.abort()
    await running
  })

  test('is not written a second time by what is seen before it is written, or while it is', async () => {
    const { answer, clock, lease, run, sentDuring, store, stopping } = leased()
    lease.seen({ kind: 'present', version: 9n })
    await lease.publish()
    const held = Promise.withResolvers<void>()
    answer(async (request) => {
      await held.promise
      return store(request)
    })
    const running = run()
    await clock.advance(NEXT_RENEWAL_MS)
    lease.seen({ kind: 'absent', version: 9n })
    held.resolve()
    expect(await sentDuring(NEXT_RENEWAL_MS - 1)).toEqual([])
    expect(await sentDuring(1)).toEqual(['update'])
    stopping.abort()
    await running
  })
})

describe('an update', () => {
  test('is written at once, and resolves when the Lease holds it', async () => {
    const { connection, lease, run, say, sentDuring, stopping } = leased()
    await lease.publish()
    const running = run()
    say({ color: 'blue' })
    const updates = Promise.all([lease.update(), lease.update()])
    expect(await sentDuring(0)).toEqual(['update'])
    await updates
    expect(connection.sent[1] && notesIn(connection.sent[1])).toBe('{"notes":{"color":"blue"}}')
    expect(await sentDuring(NEXT_RENEWAL_MS - 1)).toEqual([])
    stopping.abort()
    await running
  })

  test('that comes while the Lease is written needs another write', async () => {
    const { answer, clock, lease, run, sentDuring, store, stopping } = leased()
    await lease.publish()
    const held = Promise.withResolvers<void>()
    answer(async (request) => {
      await held.promise
      return store(request)
    })
    const running = run()
    await clock.advance(NEXT_RENEWAL_MS)
    let isDone = false
    const updating = lease.update().then(() => (isDone = true))
    held.resolve()
    expect(await sentDuring(0)).toEqual(['update'])
    await updating
    expect(isDone).toBe(true)
    stopping.abort()
    await running
  })

  test('waits for as long as writes fail', async () => {
    const { lease, refuse, run, sentDuring, stopping } = leased()
    await lease.publish()
    refuse(500, 500)
    const running = run()
    let isDone = false
    const updating = lease.update().then(() => (isDone = true))
    expect(await sentDuring(0)).toEqual(['update'])
    expect(await sentDuring(RETRY_MS)).toEqual(['update'])
    expect(isDone).toBe(false)
    expect(await sentDuring(RETRY_MS)).toEqual(['update'])
    await updating
    stopping.abort()
    await running
  })

  test('resolves when the Lease is withdrawn', async () => {
    const { answer, clock, lease, run } = leased()
    await lease.publish()
    answer(neverAnswered)
    const running = run()
    const updating = lease.update()
    const withdrawing = lease.withdraw()
    await updating
    await lease.update()
    await clock.advance(5000)
    await withdrawing
    await running
  })
})

describe('a renewal on request', () => {
  test('does nothing before the Lease is overdue, and writes it then', async () => {
    const { clock, connection, lease, run, sentDuring, stopping } = leased()
    await lease.publish()
    await clock.advance(1.5 * RENEWAL_MS)
    await lease.renew(stopping.signal)
    expect(connection.sent).toHaveLength(1)
    await clock.advance(1)
    const renewing = lease.renew(stopping.signal)
    expect(await sentDuring(0)).toEqual([])
    const running = run()
    await renewing
    expect(connection.sent).toHaveLength(2)
    await lease.renew(stopping.signal)
    expect(connection.sent).toHaveLength(2)
    stopping.abort()
    await running
  })

  test('waits for the write that is under way, and rejects with its error', async () => {
    const { answer, clock, connection, lease, run, stopping } = leased()
    await lease.publish()
    const running = run()
    answer(neverAnswered)
    await clock.advance(1.5 * RENEWAL_MS + 1)
    expect(connection.sent).toHaveLength(2)
    const failed = expect(lease.renew(stopping.signal)).rejects.toThrow('No answer within 3000 ms')
    await clock.advance(NEXT_RENEWAL_MS + 3000 - (1.5 * RENEWAL_MS + 1))
    await failed
    expect(connection.sent).toHaveLength(2)
    stopping.abort()
    await running
  })

  test('rejects with the reason of its signal', async () => {
    const { clock, lease } = leased()
    await lease.publish()
    await clock.advance(10_000)
    const asking = new AbortController()
    const failed = expect(lease.renew(asking.signal)).rejects.toThrow('enough')
    asking.abort(new Error('enough'))
    await failed
  })

  test('does nothing after the Lease was withdrawn, and ends then', async () => {
    const { clock, connection, lease, stopping } = leased()
    await lease.publish()
    await clock.advance(10_000)
    const renewing = lease.renew(stopping.signal)
    await lease.withdraw()
    await renewing
    await lease.renew(stopping.signal)
    expect(connection.sent.map(({ target }) => target.verb)).toEqual(['create', 'delete'])
  })
})

describe('a Lease that is withdrawn', () => {
  test('is deleted if it is still the same, and not written any more', async () => {
    const { clock, connection, lease, run, sentDuring } = leased()
    await lease.publish()
    const running = run()
    await lease.withdraw()
    await running
    expect(connection.sent[1]).toEqual({
      method: 'DELETE',
      path: `${PATH}/${NAME}`,
      body: { preconditions: { uid: 'u' } },
      target: targetOf('delete'),
      signal: expect.any(AbortSignal),
    })
    lease.seen({ kind: 'absent', version: 9n })
    expect(await sentDuring(20_000)).toEqual([])
    expect([lease.isPublished, clock.pendingTimers]).toEqual([false, 0])
  })

  test('that was never written needs no request', async () => {
    const { connection, lease } = leased()
    await lease.withdraw()
    expect(connection.sent).toEqual([])
  })

  test('while it is created is deleted after that, and no failure is logged', async () => {
    const { answer, connection, lease, lines, store } = leased()
    const held = Promise.withResolvers<void>()
    answer(async (request) => {
      await held.promise
      return store(request)
    })
    const publishing = lease.publish()
    const withdrawing = lease.withdraw()
    held.resolve()
    await Promise.all([publishing, withdrawing])
    expect(connection.sent.map(({ target }) => target.verb)).toEqual(['create', 'delete'])
    expect(lines).toEqual([])
  })

  test('while it is renewed is deleted at once, and the failure of the renewal is not logged', async () => {
    const { answer, clock, connection, lease, lines, run } = leased()
    await lease.publish()
    const running = run()
    const held = Promise.withResolvers<void>()
    answer(async ({ target }) => {
      if (target.verb === 'delete') return {}
      await held.promise
      throw refusal(target, 409)
    })
    await clock.advance(NEXT_RENEWAL_MS)
    await lease.withdraw()
    held.resolve()
    await running
    expect(connection.sent.map(({ target }) => target.verb)).toEqual(['create', 'update', 'delete'])
    expect(lines).toEqual([])
  })

  test.each([404, 409])('is left to others with status %d: somebody has deleted or replaced it', async (status) => {
    const { lease, lines, refuse } = leased()
    await lease.publish()
    refuse(status)
    await lease.withdraw()
    expect(lines).toEqual([])
  })

  test.each([
    [RENEWAL_MS, 2000],
    [500, 300],
  ])('expires if the server does not answer, as the log says: interval %d ms, after %d ms', async (interval, limit) => {
    const { answer, clock, lease, lines } = leased(interval)
    await lease.publish()
    answer(neverAnswered)
    const withdrawing = lease.withdraw()
    await clock.advance(limit - 1)
    expect(lines).toEqual([])
    await clock.advance(1)
    await withdrawing
    const why = `No answer within ${limit} ms`
    expect(lines).toEqual([
      {
        level: 'warn',
        message: `could not delete the identity Lease of this replica, so it expires: ${why}`,
        fields: {
          event: 'member-left-behind',
          namespace: 'ops',
          lease: NAME,
          err: expect.objectContaining({ message: why }),
        },
      },
    ])
  })
})
