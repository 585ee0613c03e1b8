import { describe, expect, test } from 'vitest'
import type { LeaseOptions } from '../../src/candidacy/lease-options.ts'
import type { Standby } from '../../src/election/rules/standby-note.ts'
import { withStandby } from '../../src/election/rules/standby.ts'
import type { Strategy } from '../../src/election/rules/strategy.ts'
import type { Manager } from '../../src/manager/manager.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { ManagerOptions } from '../../src/manager/manager-options.ts'
import type { Term } from '../../src/term/term.ts'
import { Fleet } from '../support/managers.ts'
import { untilEnd } from '../support/replica.ts'

const MINUTE_MS = 60_000

const lease = (options: Partial<LeaseOptions>): Partial<ManagerOptions> => ({ lease: { name: 'lease', ...options } })
const oldest = (binaryVersion: string, emulationVersion = binaryVersion) =>
  lease({ strategy: 'OldestEmulationVersion', binaryVersion, emulationVersion })
const newest = (binaryVersion: string) => lease({ strategy: 'NewestVersion', binaryVersion })
type Compare = NonNullable<LeaseOptions['compare']>
const moreRoom: Compare = (a, b) => Number(b.attributes['room']) - Number(a.attributes['room'])
const own = (attributes: LeaseOptions['attributes'], compare: Compare = moreRoom, strategyVersion = 1) =>
  lease({ strategy: 'example.com/room', compare, strategyVersion, attributes: attributes ?? {} })

/** A logger that keeps its lines. */
function heard(): { lines: string[]; logger: Logger } {
  const lines: string[] = []
  const write = (fields: object, message: string) =>
    void lines.push(`${(fields as { event?: string }).event}: ${message}`)
  const logger: Logger = { debug: () => {}, info: write, warn: write, error: write, child: () => logger }
  return { lines, logger }
}

describe('Managers that follow OldestEmulationVersion', () => {
  test('let the older version lead, also where the newer one was first', async () => {
    const fleet = new Fleet()
    await fleet.start('new', oldest('1.37.0'))
    await fleet.start('old', oldest('1.36.0'))
    expect(fleet.leaders).toEqual(['new', 'old'])
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['new', 'old'])
    expect(fleet.hasOverlap).toBe(false)
  })

  test('change the leader within 40 ms of the start of a better one', async () => {
    const fleet = new Fleet()
    await fleet.start('new', oldest('1.37.0'))
    fleet.launch('old', oldest('1.36.0'))
    await fleet.clock.advance(40)
    expect(fleet.leaders).toEqual(['new', 'old'])
  })

  test('change no leader of five that are equal, or for a worse one', async () => {
    const fleet = new Fleet()
    for (const name of ['a', 'b', 'c', 'd', 'e']) await fleet.start(name, oldest('1.36.0'))
    await fleet.start('new', oldest('1.37.0', '1.36.1'))
    await fleet.clock.advance(10 * MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
  })

  test('choose the best one when the leader stops', async () => {
    const fleet = new Fleet()
    const first = await fleet.start('old', oldest('1.35.0'))
    await fleet.start('b', oldest('1.37.0'))
    await fleet.start('c', oldest('1.36.0'))
    await fleet.start('a', oldest('1.37.0'))
    expect(fleet.standbys).toEqual(['c', 'b', 'a'])
    await fleet.stop(first)
    expect(fleet.leaders).toEqual(['old', 'c'])
  })

  test('say who leads and why', async () => {
    const fleet = new Fleet()
    const log = heard()
    await fleet.start('web-1', { ...oldest('1.4.0'), logger: log.logger })
    const follower = await fleet.start('web-3', oldest('1.4.0'))
    await fleet.start('web-2', oldest('1.3.0'))
    expect(follower.candidacies[0]?.explain()).toMatch(
      /^It waits to be chosen: web-2 leads with 1\.3\.0, this replica has 1\.4\.0\. It follows web-2\. /,
    )
    expect(log.lines).toContainEqual(
      'handing-over: hands over to web-2: OldestEmulationVersion prefers it: it has 1.3.0, this replica has 1.4.0',
    )
  })

  test('tell their rank, and count handovers to better ones and those that were gone', async () => {
    const fleet = new Fleet()
    const leader = await fleet.start('web-1', oldest('1.4.0'))
    const choiceOf = (manager: Manager) => manager.candidacies[0]?.choice
    expect(choiceOf(leader)).toMatchObject({ decidedBy: 'peers', rank: 1 })
    // A better candidate wrote itself on the list and crashed.
    const lock = fleet.store.lock('lease')
    const { signal } = new AbortController()
    const lease = await lock.get({ signal })
    if (lease.kind === 'absent') throw new Error('Expected a lease')
    const facts = { strategy: 'OldestEmulationVersion', binaryVersion: '1.2.0', emulationVersion: '1.2.0' }
    const strategy: Strategy = { ...facts, name: facts.strategy, version: 1, compare: undefined }
    const ghost: Standby = { identity: 'ghost', revision: undefined, since: 1n, ...facts }
    await lock.update(lease, withStandby(lease.record, ghost, strategy), { signal })
    await fleet.clock.advance(5000)
    expect(choiceOf(leader)).toMatchObject({ rank: 1, preemptions: { handedOver: 0, unavailable: 1 } })
    const better = await fleet.start('web-2', oldest('1.3.0'))
    expect(choiceOf(leader)).toMatchObject({ rank: 2, preemptions: { handedOver: 1, unavailable: 1 } })
    expect(choiceOf(better)).toMatchObject({ rank: 1, preemptions: { handedOver: 0, unavailable: 0 } })
    expect(fleet.leaders).toEqual(['web-1', 'web-2'])
  })

  test('leave the lease to others for the cool-down of the best replica that stepped down', async () => {
    const fleet = new Fleet()
    const best = await fleet.start('best', oldest('1.35.0'))
    await fleet.start('other', oldest('1.36.0'))
    void best.stepDown({ cooldownMs: 20_000 })
    await fleet.clock.advance(15_000)
    expect(fleet.leaders).toEqual(['best', 'other'])
    await fleet.clock.advance(10_000)
    expect(fleet.leaders).toEqual(['best', 'other', 'best'])
  })

  test('are not led by a better replica that never leads, or is not ready', async () => {
    const fleet = new Fleet()
    await fleet.start('a', oldest('1.36.0'))
    await fleet.start('never', { ...oldest('1.35.0'), rollout: 'never-lead' })
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
  })
})

test('Managers that follow NewestVersion let the newest version lead', async () => {
  const fleet = new Fleet()
  await fleet.start('a', newest('1.36.0'))
  await fleet.start('b', newest('1.37.0-rc.1'))
  await fleet.start('c', newest('1.37.0'))
  await fleet.start('d', newest('1.36.9'))
  await fleet.clock.advance(MINUTE_MS)
  expect(fleet.leaders).toEqual(['a', 'b', 'c'])
})

describe('Managers that follow a strategy of their own', () => {
  test('let the best one lead, and notice attributes that change within two minutes', async () => {
    const fleet = new Fleet()
    let room = 1
    await fleet.start('a', own({ room: 2 }))
    await fleet.start(
      'b',
      own(() => ({ room })),
    )
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
    room = 3
    await fleet.clock.advance(2 * MINUTE_MS)
    expect(fleet.leaders).toEqual(['a', 'b'])
  })

  test('write no more than once a minute for attributes that change all the time', async () => {
    const fleet = new Fleet()
    let room = 1
    await fleet.start('a', own({ room: 1e9 }))
    await fleet.start(
      'b',
      own(() => ({ room: room++ })),
    )
    const before = fleet.listed('b')
    const seen = new Set<string>()
    for (let second = 0; second < 300; second++) {
      await fleet.clock.advance(1000)
      seen.add(JSON.stringify(fleet.listed('b')?.attributes))
    }
    expect(before?.attributes).toBeDefined()
    expect(seen.size).toBeGreaterThan(3)
    expect(seen.size).toBeLessThanOrEqual(6)
  })

  test('keep the last good attributes while their function fails, and say so once', async () => {
    const fleet = new Fleet()
    const log = heard()
    let isBroken = false
    const attributes = () => (isBroken ? expect.fail('no room') : { room: 5 })
    await fleet.start('a', own({ room: 9 }))
    await fleet.start('b', { ...own(attributes), logger: log.logger })
    isBroken = true
    await fleet.clock.advance(3 * MINUTE_MS)
    expect(fleet.listed('b')?.attributes).toEqual({ room: 5 })
    expect(log.lines.filter((line) => line.startsWith('attributes-unusable'))).toEqual([
      'attributes-unusable: `lease.attributes` of lease failed: no room. Its last good answer counts',
    ])
  })

  test.each<[string, Compare]>([
    ['throws', () => expect.fail('no')],
    ['is no order', () => -1],
  ])('keep their leader where the comparison %s, and say so once', async (_, compare) => {
    const fleet = new Fleet()
    const log = heard()
    await fleet.start('a', { ...own({}, compare), logger: log.logger })
    const follower = await fleet.start('b', own({}, compare))
    await fleet.clock.advance(5 * MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
    expect(log.lines.filter((line) => line.startsWith('strategy-'))).toHaveLength(1)
    expect(log.lines.find((line) => line.startsWith('strategy-'))).toContain(
      '`compare` of example.com/room decides nothing',
    )
    expect(follower.candidacies[0]?.explain()).toContain('so the revision decides who leads')
  })

  test('follow the older version of it until all have the newer', async () => {
    const fleet = new Fleet()
    const lessRoom: Compare = (a, b) => moreRoom(b, a)
    await fleet.start('b', own({ room: 5 }))
    const last = await fleet.start('c', own({ room: 4 }))
    const young = await fleet.start('a', own({ room: 1 }, lessRoom, 2))
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['b'])
    expect(young.candidacies[0]?.explain()).toMatch(
      /^\w knows version 1 of example.com\/room, and this replica version 2: the older one counts\. /,
    )
    await fleet.stop(last)
    expect(fleet.leaders).toEqual(['b'])
    await fleet.start('d', own({ room: 0 }, lessRoom, 2))
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['b'])
  })

  test('leave the decision to the revision while they name different ones, and say so', async () => {
    const fleet = new Fleet()
    const log = heard()
    await fleet.start('a', { ...own({ room: 1 }), logger: log.logger })
    await fleet.start('b', oldest('1.0.0'))
    await fleet.start('c', own({ room: 3 }))
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
    expect(log.lines).toContainEqual(
      'strategy-mismatch: b follows the strategy OldestEmulationVersion, and this replica follows example.com/room. The revision decides who leads',
    )
  })
})

describe('A better replica whose warm-ups are not ready', () => {
  test('leads when they are, and not before', async () => {
    const fleet = new Fleet()
    const ready = Promise.withResolvers<void>()
    await fleet.start('a', own({ room: 1 }))
    const manager = await fleet.start('b', own({ room: 2 }), undefined, { warmUp: () => ready.promise })
    await fleet.clock.advance(MINUTE_MS)
    expect(fleet.leaders).toEqual(['a'])
    expect(fleet.listed('b')).toMatchObject({ warm: false })
    expect(manager.candidacies[0]?.explain()).toContain('It waits until its warm-ups are ready: a leads. ')
    ready.resolve()
    await fleet.clock.advance(100)
    expect(fleet.leaders).toEqual(['a', 'b'])
    await fleet.clock.advance(5 * MINUTE_MS)
    expect(fleet.leaders).toEqual(['a', 'b'])
  })

  test('leads nevertheless where there is no other', async () => {
    const fleet = new Fleet()
    const never = { warmUp: untilEnd }
    const leader = await fleet.start('a', own({ room: 1 }))
    await fleet.start('b', own({ room: 2 }), undefined, never)
    await fleet.start('c', own({ room: 3 }), undefined, never)
    await fleet.stop(leader)
    expect(fleet.leaders).toEqual(['a', 'c'])
  })
})

test('Managers whose comparisons disagree change the leader once a minute at most', async () => {
  const fleet = new Fleet()
  const other: Compare = (a, b) => (a.identity < b.identity ? 1 : -1)
  const mine: Compare = (a, b) => (a.identity === b.identity ? 0 : other(b, a))
  let working = 0
  const run = async (term: Term): Promise<void> => {
    expect(++working).toBe(1)
    await untilEnd(term).finally(() => working--)
  }
  const firstOther: Compare = (a, b) => (a.identity === b.identity ? 0 : other(a, b))
  await fleet.start('a', own({}, firstOther), run)
  await fleet.start('b', own({}, mine), run)
  await fleet.clock.advance(10 * MINUTE_MS)
  expect(fleet.leaders.length).toBeGreaterThan(5)
  expect(fleet.leaders.length).toBeLessThanOrEqual(12)
  expect(working).toBe(1)
})

test('Fifty better replicas that start together write far fewer times than fifty', async () => {
  const fleet = new Fleet()
  await fleet.start('leader', oldest('1.37.0'))
  const before = fleet.version
  for (let index = 0; index < 50; index++) fleet.launch(`replica-${index}`, oldest('1.36.0'))
  await fleet.clock.advance(1000)
  expect(fleet.leaders).toHaveLength(2)
  expect(Number(fleet.version - before)).toBeLessThan(20)
})
