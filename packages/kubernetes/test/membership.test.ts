import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { memberLeaseName } from '../src/membership/member-lease.ts'
import { membership } from '../src/membership/create-membership.ts'
import { after, memberOf } from './support/replicas.ts'
import { VirtualApi, type Wire } from './support/virtual-api.ts'

let clock: VirtualClock
let api: VirtualApi

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
})

const leaseOf = (identity: string) => api.get('leases', memberLeaseName('shop', identity))

async function joined(identity: string, options: Parameters<typeof memberOf>[1] = {}) {
  const wire: Wire = { isCut: false, isPaused: false }
  const one = memberOf({ api, clock, identity, wire }, options)
  await after(clock, one.member.start(one.host))
  return { ...one, wire, stop: () => after(clock, one.member.stop()) }
}

const names = (one: { readonly member: { readonly members: readonly { readonly identity: string }[] } }) =>
  one.member.members.map(({ identity }) => identity)

describe('a member', () => {
  test('publishes itself in a Lease with label, owner and facts', async () => {
    const pod = { name: 'shop-0', uid: 'pod-uid' }
    const labels = { tier: 'gold' }
    const one = await joined('a', { address: '10.0.0.1', version: '1.2.3', zone: 'eu-1a', labels, pod })
    expect(leaseOf('a')).toMatchObject({
      metadata: {
        labels: { 'tenure.dev/member-of': 'shop', tier: 'gold' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'shop-0', uid: 'pod-uid' }],
      },
      spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
    })
    expect(one.member.self).toMatchObject({ address: '10.0.0.1', version: '1.2.3', zone: 'eu-1a', state: 'living' })
    await one.stop()
  })

  test('sees the others with their facts, and itself', async () => {
    const a = await joined('a')
    const b = await joined('b', { address: '10.0.0.2', labels: { tier: 'gold' } })
    expect(names(a)).toEqual(['a', 'b'])
    expect(names(b)).toEqual(['a', 'b'])
    expect(a.member.members[1]).toMatchObject({ identity: 'b', address: '10.0.0.2', labels: { tier: 'gold' } })
    expect(a.seen).toEqual(['joined a', 'joined b'])
    await a.stop()
    await b.stop()
  })

  test('writes nothing but its renewals in steady state, and all see them', async () => {
    const all = [await joined('a'), await joined('b'), await joined('c')]
    api.writes.length = 0
    await clock.advance(60_000)
    expect(new Set(api.writes.map(({ what }) => what.split(' ')[0]))).toEqual(new Set(['update']))
    expect(api.writes.length).toBeLessThanOrEqual(3 * 13)
    expect(all.flatMap(({ seen }) => seen).filter((line) => !line.startsWith('joined'))).toEqual([])
    for (const one of all) await one.stop()
  })

  test('deletes its Lease within 50 ms of a stop, and the others see that it left', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    await after(clock, b.member.stop(), 50)
    expect(leaseOf('b')).toBeUndefined()
    expect(a.seen.at(-1)).toBe('left b')
    expect(names(a)).toEqual(['a'])
    await a.stop()
  })

  test('creates its Lease again when somebody deletes it', async () => {
    const a = await joined('a')
    api.remove('leases', memberLeaseName('shop', 'a'))
    await clock.advance(50)
    expect(leaseOf('a')).toBeDefined()
    await a.stop()
    expect(leaseOf('a')).toBeUndefined()
  })

  test('repairs a Lease that somebody edits, and keeps foreign labels', async () => {
    const a = await joined('a', { address: '10.0.0.1' })
    const stored = leaseOf('a')
    const labels = { ...stored?.metadata.labels, 'by.hand': 'x' }
    api.put('leases', {
      ...stored,
      metadata: { ...stored?.metadata, name: memberLeaseName('shop', 'a'), labels, annotations: {} },
    })
    await clock.advance(50)
    expect(leaseOf('a')?.metadata.labels).toEqual({ 'tenure.dev/member-of': 'shop', 'by.hand': 'x' })
    expect(leaseOf('a')?.metadata.annotations?.['tenure.dev/member']).toContain('10.0.0.1')
    await a.stop()
  })

  test('publishes notes to the others', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    await after(clock, b.member.note('color', 'blue'), 50)
    expect(a.member.members[1]?.notes).toEqual({ color: 'blue' })
    expect(a.seen.at(-1)).toBe('changed b')
    await a.stop()
    await b.stop()
  })
})

describe('a member that crashes', () => {
  test('becomes suspect, then is gone after its duration, and is buried', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    b.wire.isCut = true
    await clock.advance(11_000)
    expect(a.seen.at(-1)).toBe('suspect b')
    await clock.advance(5000)
    expect(a.seen.at(-1)).toBe('gone b')
    await clock.advance(10_000)
    expect(leaseOf('b')).toBeUndefined()
    await a.stop()
  })

  test('is buried at once by the replica that leads', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    Object.assign(a.host, { candidacies: [{ state: { kind: 'leading', epoch: 1n } }] })
    b.wire.isCut = true
    await clock.advance(15_500)
    expect(a.seen.at(-1)).toBe('gone b')
    expect(leaseOf('b')).toBeUndefined()
    await a.stop()
  })

  test('is gone and buried as soon as somebody proves its death; nobody can bury this replica itself', async () => {
    const [a, b, c] = [await joined('a'), await joined('b'), await joined('c')]
    c.wire.isCut = true
    a.member.bury('c')
    a.member.bury('a')
    await clock.advance(1000)
    expect(a.seen.at(-1)).toBe('gone c')
    expect(names(a)).toEqual(['a', 'b'])
    expect(['a', 'b', 'c'].filter((name) => leaseOf(name) === undefined)).toEqual(['c'])
    await a.stop()
    await b.stop()
  })

  test('joins again when it comes back', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    b.wire.isCut = true
    await clock.advance(40_000)
    expect(names(a)).toEqual(['a'])
    b.wire.isCut = false
    await clock.advance(6000)
    expect(names(a)).toEqual(['a', 'b'])
    expect(a.seen.at(-1)).toBe('joined b')
    expect(b.seen).not.toContain('gone a')
    await a.stop()
    await b.stop()
  })
})

describe('an outage', () => {
  test('of the store drops nobody, however long', async () => {
    const all = [await joined('a'), await joined('b'), await joined('c')]
    api.isStalled = true
    await clock.advance(60_000)
    api.isStalled = false
    await clock.advance(60_000)
    for (const one of all) expect(one.seen.filter((line) => line.startsWith('gone'))).toEqual([])
    for (const one of all) await one.stop()
  })

  test('of this replica drops nobody when it is over', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    a.wire.isPaused = true
    await clock.advance(26_000)
    a.wire.isPaused = false
    await clock.advance(30_000)
    expect(a.seen).not.toContain('gone b')
    await a.stop()
    await b.stop()
  })

  test('gives a member that died during it a full duration from its end', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    api.isStalled = true
    b.wire.isCut = true
    await clock.advance(30_000)
    api.isStalled = false
    await clock.advance(14_000)
    expect(a.seen).not.toContain('gone b')
    await clock.advance(7000)
    expect(a.seen).toContain('gone b')
    await a.stop()
  })

  test('that ends with a restart of the server lists the members again', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    for (let restart = 0; restart < 50; restart++) {
      api.breakStreams()
      await clock.advance(1500)
    }
    expect(names(a)).toEqual(['a', 'b'])
    expect(a.seen).toEqual(['joined a', 'joined b'])
    await a.stop()
    await b.stop()
  })
})

describe('refresh', () => {
  test('shows who has joined although the watch is silent, and renews an overdue Lease first', async () => {
    const a = await joined('a')
    a.wire.silent = 'leases'
    const b = await joined('b')
    expect(names(a)).toEqual(['a'])
    await after(clock, a.member.refresh())
    expect(names(a)).toEqual(['a', 'b'])
    a.wire.isPaused = true
    await clock.advance(12_000)
    a.wire.isPaused = false
    api.writes.length = 0
    await after(clock, a.member.refresh(), 2000)
    expect(api.writes.filter(({ by }) => by === 'a')).toHaveLength(1)
    await a.stop()
    await b.stop()
  })

  test('rejects when the server does not answer, and when its signal aborts', async () => {
    const a = await joined('a')
    api.isStalled = true
    await expect(after(clock, a.member.refresh(), 6000)).rejects.toThrow('did not answer')
    const stopping = new AbortController()
    const refreshing = after(clock, a.member.refresh(stopping.signal), 10)
    stopping.abort()
    await expect(refreshing).rejects.toThrow()
    api.isStalled = false
    await a.stop()
  })

  test('ignores an answer that a later one has overtaken', async () => {
    const slow = { ms: 1 }
    api = new VirtualApi(clock, () => slow.ms)
    const a = await joined('a')
    a.wire.silent = 'leases'
    // The first list reads the store now, and its answer is late.
    const first = a.member.refresh()
    await clock.advance(0)
    slow.ms = 900
    await clock.advance(1)
    slow.ms = 1
    const b = await joined('b')
    await after(clock, a.member.refresh(), 10)
    expect(names(a)).toEqual(['a', 'b'])
    const seen = a.seen.length
    await after(clock, first, 1000)
    expect(a.seen.slice(seen)).toEqual([])
    await a.stop()
    await b.stop()
  })
})

describe('the start', () => {
  test.each([
    ['create', /create leases.* ops\/shop-.*"create".*"leases"/],
    ['list', /list leases.* ops.*"list".*"leases"/],
    ['watch', /watch leases.* ops.*"watch".*"leases"/],
  ])('without the right to %s Leases rejects with verb, resource and namespace', async (verb, message) => {
    api.forbids = (target) => target.verb === verb
    const one = memberOf({ api, clock, identity: 'a' })
    await expect(after(clock, one.member.start(one.host), 5000)).rejects.toThrow(message)
    expect(clock.pendingTimers).toBe(0)
  })

  test('without a server goes on in the background', async () => {
    api.isStalled = true
    const one = memberOf({ api, clock, identity: 'a' })
    await after(clock, one.member.start(one.host), 20_000)
    expect(one.member.explain()).toContain('drops nobody')
    expect((await one.host.readyz.run())[0]?.failure?.message).toContain('has not been written yet')
    api.isStalled = false
    await clock.advance(10_000)
    expect(names(one)).toEqual(['a'])
    expect(one.member.explain()).toBe('It sees 1 members of the group shop.')
    expect((await one.host.readyz.run())[0]?.failure).toBeUndefined()
    await after(clock, one.member.stop())
  })

  test.each([
    [{ group: 'Shop' }, '`group`'],
    [{ group: 'shop', leaseDurationMs: 1500 }, 'whole seconds'],
    [{ group: 'shop', renewIntervalMs: 6000 }, '`renewIntervalMs` to be at most a third'],
    [{ group: 'shop', pod: { name: '', uid: 'one' } }, '`pod` to have a `name` and a `uid` that are not empty'],
    [{ group: 'shop', pod: { name: 'shop-0', uid: '' } }, '`pod` to have a `name` and a `uid` that are not empty'],
    [{ group: 'shop', labels: { 'a b': 'c' } }, '`labels`'],
    [{ group: 'shop', address: '' }, '`address`'],
    [{ group: 'shop', pod: { name: 'a', uid: '' } }, '`pod`'],
    [{ group: 'shop', grup: 'x' }, 'Unknown option `grup`'],
  ])('refuses bad options: %o', (options, message) => {
    expect(() => membership(options)).toThrow(message)
  })
})

describe('metrics', () => {
  test('count the members by state', async () => {
    const [a, b] = [await joined('a'), await joined('b')]
    const [members] = (await a.member.metrics.getMetricsAsJSON()) as { readonly values: readonly unknown[] }[]
    expect(members?.values).toContainEqual({ labels: { group: 'shop', state: 'living' }, value: 2 })
    await a.stop()
    await b.stop()
  })
})
