import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { Graves } from '../src/membership/graves.ts'
import type { MemberLease } from '../src/membership/member-lease.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { neverAnswered, refusal, ScriptedConnection } from './support/scripted-connection.ts'

const lease = (name: string): MemberLease => ({
  name: `shop-${name}`,
  uid: `uid of ${name}`,
  resourceVersion: 7n,
  identity: name,
  durationMs: 15_000,
  labels: {},
  facts: { notes: {} },
})

/** Who deletes the Leases of members that are gone, on a scripted connection. */
function burying() {
  const clock = new VirtualClock()
  const connection = new ScriptedConnection()
  const lines: Line[] = []
  const state = { isGone: true }
  const graves = new Graves({
    connection,
    namespace: 'ops',
    clock,
    logger: recordingLogger(lines),
    requestTimeoutMs: 5000,
    patienceMs: () => 3000,
    isGone: () => state.isGone,
  })
  return { clock, connection, lines, state, graves }
}

test('a Lease of a member that is gone is left to others for a while, and then deleted in this state', async () => {
  const { clock, connection, lines, graves } = burying()
  graves.add(lease('b'))
  await clock.advance(2999)
  expect(connection.sent).toEqual([])
  await clock.advance(1)
  expect(connection.sent).toEqual([
    {
      method: 'DELETE',
      path: '/apis/coordination.k8s.io/v1/namespaces/ops/leases/shop-b',
      body: { preconditions: { uid: 'uid of b', resourceVersion: '7' } },
      target: { verb: 'delete', group: 'coordination.k8s.io', resource: 'leases', namespace: 'ops', name: 'shop-b' },
      signal: expect.any(AbortSignal),
    },
  ])
  const fields = { event: 'member-buried', namespace: 'ops', lease: 'shop-b' }
  expect(lines).toEqual([{ level: 'info', message: 'deleted the identity Lease of b', fields }])
  expect(clock.pendingTimers).toBe(0)
})

test('a Lease waits once, however often its member is found gone, and may wait again after that', async () => {
  const { clock, connection, graves } = burying()
  graves.add(lease('b'))
  await clock.advance(1000)
  graves.add(lease('b'), 0)
  graves.add(lease('c'), 0)
  await clock.advance(0)
  expect(connection.sent.map(({ target }) => target.name)).toEqual(['shop-c'])
  await clock.advance(2000)
  graves.add(lease('b'), 0)
  await clock.advance(0)
  expect(connection.sent.map(({ target }) => target.name)).toEqual(['shop-c', 'shop-b', 'shop-b'])
})

test('a Lease whose member came back meanwhile, or that somebody else has deleted, stays as it is', async () => {
  const { clock, connection, state, graves } = burying()
  graves.add(lease('b'))
  state.isGone = false
  await clock.advance(5000)
  expect(connection.sent).toEqual([])
})

test.each([404, 409])(
  'a deletion with status %d is not worth a line: the Lease is gone, or was renewed',
  async (status) => {
    const { clock, connection, lines, graves } = burying()
    connection.onSend = ({ target }) => {
      throw refusal(target, status)
    }
    graves.add(lease('b'), 0)
    await clock.advance(0)
    expect(connection.sent).toHaveLength(1)
    expect(lines).toEqual([])
  },
)

test('a deletion that fails is logged, with why', async () => {
  const { clock, connection, lines, graves } = burying()
  connection.onSend = neverAnswered
  graves.add(lease('b'), 0)
  await clock.advance(4999)
  expect(lines).toEqual([])
  await clock.advance(1)
  const why = 'No answer within 5000 ms'
  expect(lines).toEqual([
    {
      level: 'warn',
      message: `could not delete the identity Lease of b, which is gone: ${why}`,
      fields: {
        event: 'member-unburied',
        namespace: 'ops',
        lease: 'shop-b',
        err: expect.objectContaining({ message: why }),
      },
    },
  ])
})

test('nothing is deleted, and nothing logged, once it is closed', async () => {
  const { clock, connection, lines, graves } = burying()
  connection.onSend = neverAnswered
  graves.add(lease('b'), 0)
  await clock.advance(0)
  graves.add(lease('c'))
  await graves.close()
  graves.add(lease('d'), 0)
  expect(clock.pendingTimers).toBe(0)
  await clock.advance(5000)
  expect(connection.sent.map(({ target }) => target.name)).toEqual(['shop-b'])
  expect(lines).toEqual([])
})

test('a close waits for the deletion that is under way', async () => {
  const { clock, connection, graves } = burying()
  const answer = Promise.withResolvers<object>()
  connection.onSend = () => answer.promise
  graves.add(lease('b'), 0)
  await clock.advance(0)
  let isClosed = false
  const closing = graves.close().then(() => (isClosed = true))
  await clock.advance(0)
  expect(isClosed).toBe(false)
  answer.resolve({})
  await closing
})
