import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { GroupWatch } from '../src/membership/group-watch.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { neverAnswered, refusal, ScriptedConnection } from './support/scripted-connection.ts'

const DURATION_MS = 15_000
const RENEWAL_MS = 5000

let clock: VirtualClock
let connection: ScriptedConnection
let lines: Line[]
let changes: string[]
let own: unknown[]
/** What the list of the group answers. */
let items: readonly object[]
let version: number

beforeEach(() => {
  clock = new VirtualClock()
  connection = new ScriptedConnection()
  connection.onSend = () => ({ metadata: { resourceVersion: `${version}` }, items })
  lines = []
  changes = []
  own = []
  items = [lease('self', 8), lease('a', 9)]
  version = 10
})

function lease(name: string, resourceVersion: number): object {
  const metadata = { name, uid: `uid of ${name}`, resourceVersion: `${resourceVersion}` }
  return { metadata, spec: { holderIdentity: name, leaseDurationSeconds: 15 } }
}

/** The watch of the group, at work. */
function watching(renewIntervalMs = RENEWAL_MS) {
  const watch = new GroupWatch({
    connection,
    clock,
    random: () => 0,
    logger: recordingLogger(lines),
    group: 'shop',
    namespace: 'ops',
    leaseDurationMs: DURATION_MS,
    renewIntervalMs,
    self: 'self',
    onChanges: (seen) => {
      changes.push(...(seen.length === 0 ? ['nothing'] : seen.map(({ kind, member }) => `${kind} ${member.identity}`)))
    },
    onOwnLease: (seen) => own.push([seen.kind, seen.version]),
  })
  const running = watch.run()
  return { watch, running }
}

async function watched() {
  const one = watching()
  await clock.advance(0)
  changes = []
  own = []
  return one.watch
}

const send = (...events: readonly (readonly [string, object])[]) => connection.streams.at(-1)?.send(...events)
const outcomeOf = async (promise: Promise<void>) => {
  let outcome = 'pending'
  promise.then(
    () => (outcome = 'resolved'),
    (error: Error) => (outcome = error.message),
  )
  await clock.advance(0)
  return outcome
}

describe('the watch of a group', () => {
  test('lists and follows the Leases with the label of the group', async () => {
    const { watch } = watching()
    expect(await outcomeOf(watch.opened)).toBe('resolved')
    const path = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
    const query = { labelSelector: 'tenure.dev/member-of=shop' }
    expect(connection.sent).toMatchObject([{ path, query }])
    expect(connection.streams[0]?.request).toMatchObject({ path, query: { ...query, resourceVersion: '10' } })
    expect(changes).toEqual(['joined self', 'joined a'])
    expect(own).toEqual([['present', 8n]])
    expect([watch.problem, lines]).toEqual([undefined, []])
    send(['MODIFIED', lease('a', 11)], ['MODIFIED', lease('self', 12)], ['ADDED', lease('b', 13)])
    expect(changes.slice(2)).toEqual(['joined b'])
    expect(own.slice(1)).toEqual([['present', 12n]])
  })

  test('knows from a list that the own Lease is not there', async () => {
    items = []
    await watched()
    watching()
    await clock.advance(0)
    expect(own).toEqual([['absent', 10n]])
  })

  test.each([
    [1000, 1000],
    [5000, 4000],
  ])('gives the server the time of a renewal of %s ms to answer, up to 4 s', async (renewIntervalMs, timeoutMs) => {
    connection.onSend = neverAnswered
    const { watch } = watching(renewIntervalMs)
    await clock.advance(timeoutMs - 1)
    expect(watch.problem).toBeUndefined()
    await clock.advance(1)
    expect(watch.problem?.message).toContain(`${timeoutMs} ms`)
  })

  test('cannot be opened where the server refuses it, which is logged until it changes', async () => {
    connection.onSend = ({ target }) => {
      throw refusal(target, 403)
    }
    const { watch } = watching()
    expect(await outcomeOf(watch.opened)).toMatch(/^Could not list leases/)
    const { problem } = watch
    expect(lines).toEqual([
      {
        level: 'warn',
        message: `the watch of the group is disconnected: ${problem?.message}`,
        fields: { event: 'members-unseen', namespace: 'ops', group: 'shop', err: problem },
      },
    ])
    await clock.advance(60_000)
    expect(connection.sent.length).toBeGreaterThan(1)
    expect(lines).toHaveLength(1)
    connection.onSend = () => {
      throw new Error('no route')
    }
    await clock.advance(60_000)
    expect(lines).toHaveLength(2)
  })

  test('that cannot be opened fails nothing where nobody waits for it', async () => {
    connection.onSend = ({ target }) => {
      throw refusal(target, 403)
    }
    const { watch, running } = watching()
    await clock.advance(0)
    expect(watch.problem).toMatchObject({ statusCode: 403 })
    watch.close()
    await running
  })

  test('shows an outdated view while it is disconnected', async () => {
    const watch = await watched()
    expect(watch.roster.isCurrent).toBe(true)
    connection.onSend = neverAnswered
    connection.streams.at(-1)?.fail(new Error('reset'))
    await clock.advance(0)
    expect([watch.problem?.message, watch.roster.isCurrent]).toEqual(['reset', false])
  })

  test('counts as opened after a failure that may end, and has no problem after that', async () => {
    connection.onSend = () => {
      throw new Error('no route')
    }
    const { watch } = watching()
    expect(await outcomeOf(watch.opened)).toBe('resolved')
    expect(watch.problem?.message).toBe('no route')
    connection.onSend = () => ({ metadata: { resourceVersion: '10' }, items })
    await clock.advance(60_000)
    expect(watch.problem).toBeUndefined()
  })

  test('ends when it is closed, opened or not, and leaves no timer', async () => {
    connection.onSend = neverAnswered
    const waiting = watching()
    waiting.watch.close()
    expect(await outcomeOf(waiting.watch.opened)).toBe('resolved')
    await waiting.running
    connection.onSend = () => ({ metadata: { resourceVersion: '10' }, items })
    const opened = watching()
    await clock.advance(0)
    opened.watch.written(0, 10n)
    opened.watch.close()
    await opened.running
    opened.watch.written(0, 10n)
    await clock.advance(0)
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('a member of a group', () => {
  test('is suspect when its renewal is overdue, and gone when a read finds its Lease unchanged', async () => {
    const watch = await watched()
    watch.written(0, 10n)
    await clock.advance(9999)
    expect(changes).toEqual([])
    await clock.advance(1)
    expect(changes).toEqual(['suspect a'])
    watch.written(10_000, 10n)
    await clock.advance(4999)
    expect(connection.sent).toHaveLength(1)
    await clock.advance(1)
    expect(connection.sent).toHaveLength(2)
    expect(changes).toEqual(['suspect a', 'gone a'])
  })

  test('stays where the read finds another version of its Lease', async () => {
    const watch = await watched()
    watch.written(0, 10n)
    await clock.advance(10_000)
    watch.written(10_000, 10n)
    items = [lease('self', 8), lease('a', 11)]
    version = 11
    await clock.advance(5000)
    expect(changes).toEqual(['suspect a', 'changed a'])
    expect(watch.roster.members.map(({ state }) => state)).toEqual(['living', 'living'])
  })

  test('stays where the read fails, and has its whole time after that', async () => {
    const watch = await watched()
    watch.written(0, 10n)
    await clock.advance(10_000)
    watch.written(10_000, 10n)
    connection.onSend = () => {
      throw new Error('no route')
    }
    await clock.advance(60_000)
    expect(changes).toEqual(['suspect a'])
    expect(connection.sent).toHaveLength(2)
    expect(watch.roster.isCurrent).toBe(false)
    watch.written(75_000, 10n)
    connection.onSend = () => ({ metadata: { resourceVersion: '10' }, items })
    await clock.advance(9999)
    watch.written(84_999, 10n)
    await clock.advance(5000)
    expect(changes).toEqual(['suspect a'])
    await clock.advance(1)
    expect(changes).toEqual(['suspect a', 'gone a'])
  })

  test('is read for once while the answer takes its time', async () => {
    const watch = await watched()
    watch.written(0, 10n)
    await clock.advance(10_000)
    watch.written(10_000, 10n)
    const answered = Promise.withResolvers<object>()
    connection.onSend = () => answered.promise
    await clock.advance(5000)
    watch.written(15_000, 10n)
    await clock.advance(2000)
    expect(connection.sent).toHaveLength(2)
    answered.resolve({ metadata: { resourceVersion: '10' }, items })
    await clock.advance(0)
    expect(changes).toEqual(['suspect a', 'gone a'])
  })

  test('is gone at once when its process has ended', async () => {
    const watch = await watched()
    const [, member] = watch.roster.leases
    if (member === undefined) throw new Error('Expected a member')
    watch.died({ ...member, uid: 'another' })
    expect(changes).toEqual([])
    watch.died(member)
    expect(changes).toEqual(['gone a'])
  })
})

describe('a read of the group', () => {
  const { signal } = new AbortController()

  test('shows what the watch has not shown yet, and confirms that this replica sees', async () => {
    const watch = await watched()
    watch.failed()
    expect(watch.roster.isCurrent).toBe(false)
    items = [lease('self', 8), lease('b', 11)]
    version = 11
    await watch.refresh(signal)
    expect(changes).toEqual(['left a', 'joined b'])
    expect(watch.roster.isCurrent).toBe(true)
  })

  test('that fails begins an outage, unless it was given up', async () => {
    const watch = await watched()
    watch.written(0, 10n)
    connection.onSend = () => {
      throw new Error('no route')
    }
    await expect(watch.refresh(AbortSignal.abort())).rejects.toThrow()
    expect(watch.roster.isCurrent).toBe(true)
    await expect(watch.refresh(signal)).rejects.toThrow('no route')
    expect(watch.roster.isCurrent).toBe(false)
  })
})

test('a write that the watch does not show in time ends its stream', async () => {
  const watch = await watched()
  watch.written(0, 11n)
  await clock.advance(3999)
  expect(lines).toEqual([])
  await clock.advance(1)
  expect(lines.map(({ message }) => message)).toEqual([
    'the watch of the group is disconnected: Something changed but the watch was silent for 4000 ms',
  ])
})
