import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { GroupMembership } from '../src/membership/group-membership.ts'
import type { Links } from '../src/membership/links.ts'
import { memberLeaseName } from '../src/membership/member-lease.ts'
import { resolveMembershipOptions } from '../src/membership/membership-options.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { after, memberOf } from './support/replicas.ts'
import { VirtualApi, type Wire } from './support/virtual-api.ts'

const RENEWAL_MS = 5000

let clock: VirtualClock
let api: VirtualApi

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
})

function replica(identity: string, options: Parameters<typeof memberOf>[1] = {}) {
  const wire: Wire = { isCut: false, isPaused: false }
  const lines: Line[] = []
  const one = memberOf({ api, clock, identity, wire }, { logger: recordingLogger(lines), ...options })
  return {
    ...one,
    wire,
    lines,
    messages: () => lines.map(({ level, message }) => `${level}: ${message}`),
    start: () => after(clock, one.member.start(one.host)),
    stop: () => after(clock, one.member.stop()),
  }
}

async function joined(identity: string, options: Parameters<typeof memberOf>[1] = {}) {
  const one = replica(identity, options)
  await one.start()
  return one
}

const metricsOf = async ({ member }: Awaited<ReturnType<typeof joined>>) => {
  const metrics = (await member.metrics.getMetricsAsJSON()) as readonly {
    readonly values: readonly { value: number }[]
  }[]
  return metrics.map(({ values }) => values.map(({ value }) => value))
}

describe('what a member says of itself', () => {
  test('is what it publishes, and whether it can', async () => {
    const one = replica('a', { address: '10.0.0.1', version: '1.2.3', zone: 'eu-1a', labels: { tier: 'gold' } })
    expect([one.member.name, one.member.group, one.member.self]).toEqual(['membership shop', 'caches', undefined])
    await one.start()
    await after(clock, one.member.note('color', 'blue'))
    const self = {
      identity: 'a',
      lease: memberLeaseName('shop', 'a'),
      state: 'living',
      address: '10.0.0.1',
      version: '1.2.3',
      zone: 'eu-1a',
      labels: { tier: 'gold' },
      renewedAt: one.member.members[0]?.renewedAt,
      notes: { color: 'blue' },
    }
    expect(self.renewedAt).toBeGreaterThan(0)
    expect(one.member.self).toEqual(self)
    one.wire.isPaused = true
    await clock.advance(10_000)
    expect(one.member.self?.state).toBe('suspect')
    one.wire.isPaused = false
    await one.stop()
    expect(one.member.self?.state).toBe('left')
  })

  test('has the time of its own renewal', async () => {
    const other = await joined('a')
    const one = await joined('b')
    await clock.advance(2 * RENEWAL_MS)
    const [first, second] = one.member.members
    expect(second?.identity).toBe('b')
    expect(second?.renewedAt).not.toBe(first?.renewedAt)
    expect(one.member.self?.renewedAt).toBe(second?.renewedAt)
    await one.stop()
    await other.stop()
  })

  test('has no time of a renewal before it has seen one', async () => {
    const one = replica('a')
    api.isStalled = true
    await after(clock, one.member.start(one.host), 10_000)
    expect(one.member.self?.renewedAt).toBe(0)
    expect(one.member.members).toEqual([])
    api.isStalled = false
    await one.stop()
  })
})

describe('the view of a member', () => {
  test('is current from the start to the end, but for outages', async () => {
    const one = replica('a')
    expect([one.member.isCurrent, one.member.explain()]).toEqual([false, 'It has not joined the group shop yet.'])
    await one.start()
    expect([one.member.isCurrent, one.member.explain()]).toEqual([true, 'It sees 1 members of the group shop.'])
    one.wire.isCut = true
    await clock.advance(10_000)
    expect(one.member.isCurrent).toBe(false)
    expect(one.member.explain()).toBe(
      'It sees 1 members of the group shop. It cannot see or renew at present, so it drops nobody: ' +
        `Could not update leases.coordination.k8s.io ops/${memberLeaseName('shop', 'a')}: the server did not answer.`,
    )
    one.wire.isCut = false
    await clock.advance(10_000)
    expect(one.member.isCurrent).toBe(true)
    await one.stop()
    expect(one.member.explain()).toBe('It has left the group shop.')
  })

  test('is not current while it lacks its own Lease', async () => {
    const one = await joined('a')
    const other = await joined('b')
    one.wire.silent = 'leases'
    api.remove('leases', memberLeaseName('shop', 'a'))
    api.isStalled = true
    const refreshing = one.member.refresh().catch(() => {})
    api.isStalled = false
    await clock.advance(3)
    expect(one.member.isCurrent).toBe(false)
    await after(clock, refreshing)
    await one.stop()
    await other.stop()
  })

  test('holds only Leases of its group', async () => {
    const one = await joined('a')
    const metadata = { name: 'other', labels: { 'tenure.dev/member-of': 'bar' } }
    api.put('leases', { metadata, spec: { holderIdentity: 'x' } })
    api.put('leases', { metadata: { name: 'plain' }, spec: { holderIdentity: 'y' } })
    await after(clock, one.member.refresh())
    expect(one.member.members.map(({ identity }) => identity)).toEqual(['a'])
    await one.stop()
  })

  test.each([
    [undefined, 4000],
    [2000, 2000],
  ])(
    'comes from a new watch if the present one lacks a write of its own (interval %s ms)',
    async (renewIntervalMs, ms) => {
      const one = await joined('a', renewIntervalMs === undefined ? {} : { renewIntervalMs })
      one.wire.silent = 'leases'
      await clock.advance((renewIntervalMs ?? RENEWAL_MS) + ms)
      const why = `Something changed but the watch was silent for ${ms} ms`
      expect(one.lines.find(({ level }) => level === 'warn')).toEqual({
        level: 'warn',
        message: `the watch of the group is disconnected: ${why}`,
        fields: {
          event: 'members-unseen',
          namespace: 'ops',
          group: 'shop',
          err: expect.objectContaining({ message: why }),
        },
      })
      one.wire.silent = undefined
      await one.stop()
    },
  )

  test('that is lost for one reason is logged once', async () => {
    const one = await joined('a')
    api.forbids = ({ verb }) => verb === 'watch'
    api.breakStreams()
    await clock.advance(20_000)
    const warnings = one.messages().filter((line) => line.startsWith('warn'))
    expect(warnings).toHaveLength(2)
    expect(warnings[1]).toContain('the watch of the group is disconnected: Could not watch leases.coordination.k8s.io')
    await one.stop()
  })
})

describe('a change of the group', () => {
  test('is logged, and reaches each listener once for each time it was added, until it is removed', async () => {
    const one = await joined('a')
    const told: string[] = []
    const listener = ({ kind }: { readonly kind: string }) => told.push(kind)
    const remove = [one.member.on(listener), one.member.on(listener)]
    const other = await joined('b', { address: '10.0.0.2' })
    expect(told).toEqual(['joined', 'joined'])
    expect(one.lines.slice(1)).toEqual([
      {
        level: 'info',
        message: 'b: joined',
        fields: { event: 'member-joined', group: 'shop', member: 'b', address: '10.0.0.2' },
      },
    ])
    remove[0]?.()
    await other.stop()
    expect(told).toEqual(['joined', 'joined', 'left'])
    expect(one.messages().at(-1)).toBe('info: b: left')
    await one.stop()
  })

  test('that a listener cannot take reaches the others, and the failure is logged', async () => {
    const one = replica('a')
    const error = new Error('cannot count')
    one.member.on(() => {
      throw error
    })
    let count = 0
    one.member.on(() => (count += 1))
    await one.start()
    expect(count).toBe(1)
    expect(one.lines[1]).toEqual({
      level: 'error',
      message: 'a listener failed: cannot count',
      fields: { event: 'member-joined', group: 'shop', err: error },
    })
    await one.stop()
  })

  test('after the stop reaches nobody', async () => {
    const [one, other] = [await joined('a'), await joined('b')]
    await one.stop()
    const seen = one.seen.length
    await other.stop()
    await clock.advance(20_000)
    expect(one.seen).toHaveLength(seen)
    expect(clock.pendingTimers).toBe(0)
  })

  test('is counted, as are the writes of this replica', async () => {
    const one = await joined('a')
    const other = await joined('b')
    await after(clock, other.member.note('color', 'blue'))
    await other.stop()
    expect(await metricsOf(one)).toEqual([
      [1, 0],
      [2, 1, 0, 1, 0],
      [1, 0],
    ])
    one.wire.isCut = true
    await clock.advance(RENEWAL_MS + 3100)
    expect((await metricsOf(one))[2]).toEqual([1, 1])
    one.wire.isCut = false
    await one.stop()
  })
})

describe('a note', () => {
  test('is written only if it changes, and withdrawn without a value', async () => {
    const one = replica('a')
    await one.member.note('early', 'x')
    await one.start()
    expect(one.member.self?.notes).toEqual({ early: 'x' })
    await after(clock, one.member.note('color', 'blue'), 10)
    const writes = api.writes.length
    await after(clock, one.member.note('color', 'blue'), 10)
    await after(clock, one.member.note('none', undefined), 10)
    expect(api.writes).toHaveLength(writes)
    await after(clock, one.member.note('color', undefined), 10)
    expect(api.writes).toHaveLength(writes + 1)
    expect(one.member.members[0]?.notes).toEqual({ early: 'x' })
    await one.stop()
  })
})

describe('a member that is not started, or stopped,', () => {
  test('does nothing when it is refreshed, buries somebody, or is stopped again', async () => {
    const one = replica('a')
    await one.member.refresh()
    await one.member.stop()
    one.member.bury('b')
    await one.start()
    one.member.bury('b')
    await clock.advance(100)
    expect(api.get('leases', memberLeaseName('shop', 'a'))).toBeDefined()
    await one.stop()
    const writes = api.writes.length
    await one.member.refresh()
    await one.member.stop()
    expect(api.writes).toHaveLength(writes)
  })

  test('has no readiness check', async () => {
    const one = replica('a')
    expect(one.host.readyz.names).toEqual([])
    await one.start()
    expect(one.host.readyz.names).toEqual(['membership-shop'])
    await one.stop()
    expect(one.host.readyz.names).toEqual([])
  })
})

test('a member is not ready before its Lease is written, as the check says, but stays ready in an outage', async () => {
  const one = replica('a')
  api.isStalled = true
  const starting = after(clock, one.member.start(one.host), 10_000)
  await clock.advance(0)
  const check = async () => (await one.host.readyz.run())[0]?.failure?.message
  expect(await check()).toBe('the identity Lease of this replica has not been written yet')
  await starting
  const name = memberLeaseName('shop', 'a')
  expect(await check()).toBe(
    'the identity Lease of this replica has not been written yet: ' +
      `Could not create leases.coordination.k8s.io ops/${name}: the server did not answer`,
  )
  api.isStalled = false
  await clock.advance(10_000)
  expect(await check()).toBeUndefined()
  api.isStalled = true
  await clock.advance(60_000)
  expect(await check()).toBeUndefined()
  api.isStalled = false
  await one.stop()
})

test('the Lease of a member that is gone is deleted by one after the other, in the order of their identities', async () => {
  const all = [await joined('a'), await joined('b'), await joined('c')]
  const attempts: { readonly by: string | undefined; readonly at: number }[] = []
  api.forbids = ({ verb }) => {
    if (verb === 'delete') attempts.push({ by: api.writer, at: clock.now() })
    return verb === 'delete'
  }
  const goneAt: number[] = []
  all[0]?.member.on(({ kind }) => void (kind === 'gone' && goneAt.push(clock.now())))
  if (all[2] !== undefined) all[2].wire.isCut = true
  await clock.advance(30_000)
  const [at = 0] = goneAt
  const found = attempts.map(({ by, at: time }) => `${by} after ${Math.round((time - at) / RENEWAL_MS)} renewals`)
  expect(found).toEqual(['a after 1 renewals', 'b after 2 renewals'])
  api.forbids = () => false
  for (const one of all.slice(0, 2)) await one.stop()
})

test('the Lease of a member that came back before it was deleted stays, though another one is gone', async () => {
  const all = [await joined('a'), await joined('b'), await joined('c')]
  const attempts: string[] = []
  api.forbids = ({ verb, name }) => {
    if (verb === 'delete') attempts.push(name)
    return false
  }
  const name = memberLeaseName('shop', 'b')
  all[0]?.member.on(({ kind, member }) => {
    const stored = api.get('leases', name)
    if (kind === 'gone' && member.identity === 'b' && stored !== undefined)
      api.put('leases', { ...stored, spec: { holderIdentity: 'b' } })
  })
  for (const one of all.slice(1)) one.wire.isCut = true
  await clock.advance(22_000)
  expect(attempts).toEqual([memberLeaseName('shop', 'c')])
  expect(all[0]?.member.members.map(({ identity }) => identity)).toEqual(['a', 'b'])
  await all[0]?.stop()
})

test('the Leases of all members that are gone at once are deleted', async () => {
  const all = [await joined('a'), await joined('b'), await joined('c')]
  for (const one of all.slice(1)) one.wire.isCut = true
  await clock.advance(30_000)
  expect(api.store.list('leases').map(({ metadata }) => metadata.name)).toEqual([memberLeaseName('shop', 'a')])
  await all[0]?.stop()
})

test('a member opens its links when it starts, publishes its process, and closes them when it stops', async () => {
  const events: string[] = []
  const connection = api.connect('a')
  const proof = { processRef: 'container-1', watchHolder: () => ({ close: async () => void events.push('unwatched') }) }
  const open = (): Links => ({
    connection,
    proof,
    start: () => events.push('start'),
    close: async () => void events.push('close'),
  })
  const options = { group: 'shop', namespace: 'ops', clock, random: () => 0.5, proveDeath: true }
  const member = new GroupMembership(resolveMembershipOptions(options, {}), open)
  expect(events).toEqual([])
  const { host } = replica('a')
  await after(clock, member.start(host))
  expect(events).toEqual(['start'])
  const { annotations } = api.get('leases', memberLeaseName('shop', 'a'))?.metadata ?? {}
  expect(annotations?.['tenure.dev/member']).toBe('{"process":"container-1","notes":{}}')
  const other = await joined('b')
  await after(clock, member.stop())
  expect(events).toEqual(['start', 'close'])
  await other.stop()
})
