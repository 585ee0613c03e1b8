import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Standby } from '../../src/election/rules/standby-note.ts'
import { withStandby } from '../../src/election/rules/standby.ts'
import { HealthRegistry } from '../../src/health/health-registry.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { ManagerOptions } from '../../src/manager/manager-options.ts'
import type { Clock } from '../../src/ports/clock.ts'
import { Fleet } from '../support/managers.ts'
import { untilEnd } from '../support/replica.ts'

const HOUR_MS = 3_600_000

/** The clock of a Pod whose wall clock is wrong. */
const wrongBy = (clock: VirtualClock, ms: number): Clock => ({
  now: () => clock.now(),
  wallTime: () => clock.wallTime() + ms,
  setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
})

describe("A replica with `rollout: 'never-lead'`", () => {
  const canary = { revision: '2', rollout: 'never-lead' } as const

  test('follows and is ready, is no standby, and does not lead when the leader stops', async () => {
    const fleet = new Fleet()
    const first = await fleet.start('a', { revision: '1' })
    const last = await fleet.start('canary', canary)
    await fleet.start('b', { revision: '1' })
    expect(fleet.standbys).toEqual(['b'])
    expect((await last.readyz.run()).filter(({ failure }) => failure !== undefined)).toEqual([])
    await fleet.stop(first)
    await fleet.clock.advance(HOUR_MS)
    expect(fleet.leaders).toEqual(['a', 'b'])
    expect(last.state).toMatchObject({ kind: 'following' })
    expect(last.candidacies[0]?.explain()).toBe("It follows b and never leads (`rollout: 'never-lead'`).")
  })

  test('does not take over from a leader of another revision that is eager', async () => {
    const fleet = new Fleet()
    await fleet.start('a', { revision: '1', rollout: 'eager' })
    await fleet.start('canary', canary)
    await fleet.clock.advance(HOUR_MS)
    expect(fleet.leaders).toEqual(['a'])
  })

  test('leaves the lease without a leader when it is the only one, and says so', async () => {
    const fleet = new Fleet()
    const only = await fleet.start('canary', canary)
    expect(only.candidacies[0]?.explain()).toBe(
      "The lease does not exist. This replica never leads (`rollout: 'never-lead'`), so nobody leads until another replica acquires the lease.",
    )
    const leader = await fleet.start('a', { revision: '1' })
    await fleet.stop(leader)
    await fleet.clock.advance(HOUR_MS)
    expect(only.candidacies[0]?.explain()).toBe(
      "The lease has no holder. This replica never leads (`rollout: 'never-lead'`), so nobody leads until another replica acquires the lease.",
    )
    expect(fleet.leaders).toEqual(['a'])
  })

  test('is not handed the lease by name', async () => {
    const fleet = new Fleet()
    const leader = await fleet.start('a')
    await fleet.start('canary', canary)
    await fleet.start('b')
    const steppedDown = leader.stepDown({ to: 'canary' })
    await fleet.clock.advance(10_000)
    expect(await steppedDown).toMatchObject({ outcome: 'released' })
    expect(fleet.leaders).toEqual(['a', 'b'])
  })
})

describe('A replica whose own readiness checks fail', () => {
  async function fleetOfThree() {
    const fleet = new Fleet()
    const leader = await fleet.start('leader')
    const sick = await fleet.start('a')
    await fleet.start('b')
    let failure: string | undefined
    const checks = new HealthRegistry()
    checks.register('database', () => {
      if (failure !== undefined) throw new Error(failure)
    })
    sick.readyz.add(checks)
    const probe = async (next: string | undefined, times: number) => {
      failure = next
      for (let time = 0; time < times; time++) {
        await sick.readyz.run()
        await fleet.clock.advance(5000)
      }
    }
    return { fleet, leader, sick, probe }
  }

  test('is no standby from the third failure in a row until they pass', async () => {
    const { fleet, leader, probe } = await fleetOfThree()
    expect(fleet.standbys).toEqual(['a', 'b'])
    await probe('down', 2)
    await probe(undefined, 1)
    await probe('down', 2)
    expect(fleet.standbys).toEqual(['a', 'b'])
    await probe('down', 1)
    expect(fleet.standbys).toEqual(['b'])
    await probe(undefined, 1)
    expect(fleet.standbys).toEqual(['a', 'b'])
    await probe('down', 3)
    await fleet.stop(leader)
    expect(fleet.leaders).toEqual(['leader', 'b'])
  })

  test('leads when nobody else is there', async () => {
    const fleet = new Fleet()
    const leader = await fleet.start('leader')
    const sick = await fleet.start('a')
    const checks = new HealthRegistry()
    checks.register('database', () => Promise.reject(new Error('down')))
    sick.readyz.add(checks)
    for (let probe = 0; probe < 5; probe++) await sick.readyz.run()
    await fleet.clock.advance(5000)
    expect(fleet.standbys).toEqual([])
    await fleet.stop(leader)
    expect(fleet.leaders).toEqual(['leader', 'a'])
  })

  test('is no standby while a check hangs either', async () => {
    const { fleet, sick } = await fleetOfThree()
    const checks = new HealthRegistry()
    checks.register('stuck', () => new Promise(() => {}))
    sick.readyz.add(checks)
    for (let probe = 0; probe < 3; probe++) void sick.readyz.run()
    await fleet.clock.advance(5000)
    expect(fleet.standbys).toEqual(['b'])
  })

  test('remains a standby if only one check was asked for, or checks were left out', async () => {
    const { fleet, sick, probe } = await fleetOfThree()
    await probe('down', 1)
    for (let time = 0; time < 5; time++) {
      await sick.readyz.runOne('database')
      await sick.readyz.run(new Set(['standby']))
    }
    await fleet.clock.advance(5000)
    expect(fleet.standbys).toEqual(['a', 'b'])
  })
})

describe('Replicas that know their zones', () => {
  const start = async (zones: Readonly<Record<string, string | undefined>>) => {
    const fleet = new Fleet()
    const managers: Manager[] = []
    for (const [identity, zone] of Object.entries(zones)) {
      managers.push(await fleet.start(identity, { revision: '1', ...(zone !== undefined && { zone }) }))
    }
    return { fleet, managers }
  }

  test('are succeeded in their zone', async () => {
    const { fleet, managers } = await start({ leader: 'x', a: 'y', b: 'x', c: undefined })
    expect(fleet.standbys).toEqual(['b', 'a', 'c'])
    await managers[0]?.stop()
    expect(fleet.leaders).toEqual(['leader', 'b'])
  })

  test('are succeeded by a newer revision elsewhere', async () => {
    const { fleet, managers } = await start({ leader: 'x', a: 'x' })
    await fleet.start('b', { revision: '2', zone: 'y' })
    expect(fleet.standbys).toEqual(['b', 'a'])
    await managers[0]?.stop()
    expect(fleet.leaders).toEqual(['leader', 'b'])
  })

  test('write no more than others', async () => {
    const { fleet } = await start({ leader: 'x', a: 'y', b: 'x', c: 'y', d: 'x' })
    const listed = fleet.standbys
    const version = () => fleet.store.read('lease').version
    const before = version()
    await fleet.clock.advance(20_000)
    expect(fleet.standbys).toEqual(listed)
    // The renewals of the leader.
    expect(Number((version() ?? 0n) - (before ?? 0n))).toBeLessThanOrEqual(10)
  })
})

/** Takes half a minute, whatever ends meanwhile. */
function slowly(clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  clock.setTimer(30_000, resolve)
  return promise
}

describe('A rollout', () => {
  /** Rolls out like a Deployment with `maxSurge: 1, maxUnavailable: 0`, and stops the old replicas in the order given. */
  async function rollOut(
    fleet: Fleet,
    old: readonly Manager[],
    names: readonly string[],
    optionsOf: (name: string) => Partial<ManagerOptions>,
  ): Promise<readonly Manager[]> {
    const started: Manager[] = []
    for (const [index, name] of names.entries()) {
      started.push(await fleet.start(name, optionsOf(name)))
      const replaced = old[index]
      if (replaced !== undefined) await fleet.stop(replaced)
    }
    return started
  }

  const revision = (of: string) => () => ({ revision: of })

  test.each([['prefer-new'], ['eager']] as const)(
    'with %s that changes nothing moves the leader only when it stops',
    async (rollout) => {
      const fleet = new Fleet()
      const same = () => ({ revision: 'same', rollout })
      const first = await rollOut(fleet, [], ['a', 'b', 'c'], same)
      await rollOut(fleet, first.toReversed(), ['x', 'y', 'z'], same)
      // The leader stops last, when only new replicas follow it.
      expect(fleet.leaders).toEqual(['a', 'x'])
    },
  )

  test.each([['prefer-new'], ['eager']] as const)('with %s changes the leader once', async (rollout) => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
    ]) {
      const fleet = new Fleet()
      const first = await rollOut(fleet, [], ['a', 'b', 'c'], () => ({ revision: '1', rollout }))
      const stopped = order.flatMap((place) => first[place] ?? [])
      await rollOut(fleet, stopped, ['x', 'y', 'z'], () => ({ revision: '2', rollout }))
      expect(fleet.leaders).toHaveLength(2)
      expect(fleet.hasOverlap).toBe(false)
    }
  })

  test('of Pods whose clocks are hours apart changes the leader once', async () => {
    for (const hours of [-9, 9]) {
      const fleet = new Fleet()
      const first = await rollOut(fleet, [], ['a', 'b', 'c'], revision('1'))
      await rollOut(fleet, first, ['x', 'y', 'z'], (name) => ({
        revision: '2',
        clock: wrongBy(fleet.clock, (name === 'y' ? -hours : hours) * HOUR_MS),
      }))
      expect(fleet.leaders).toEqual(['a', 'x'])
      await fleet.clock.advance(HOUR_MS)
      expect(fleet.leaders).toEqual(['a', 'x'])
    }
  })

  test('that is stuck, since the new replica is never ready, leaves the lease where it is', async () => {
    const fleet = new Fleet()
    await rollOut(fleet, [], ['a', 'b', 'c'], revision('1'))
    const stuck = await fleet.start('x', { revision: '2' })
    const checks = new HealthRegistry()
    checks.register('database', () => Promise.reject(new Error('down')))
    stuck.readyz.add(checks)
    for (let probe = 0; probe < 200; probe++) {
      await stuck.readyz.run()
      await fleet.clock.advance(5000)
    }
    expect(fleet.leaders).toEqual(['a'])
    expect(fleet.standbys).not.toContain('x')
  })

  test('that is undone half way is a rollout of its own, and changes the leader once more', async () => {
    const fleet = new Fleet()
    const first = await rollOut(fleet, [], ['a', 'b', 'c'], revision('1'))
    const second = await rollOut(fleet, first, ['x'], revision('2'))
    expect(fleet.leaders).toEqual(['a', 'x'])
    await rollOut(fleet, second, ['d'], revision('1'))
    expect(fleet.leaders).toHaveLength(3)
    expect(['b', 'c', 'd']).toContain(fleet.leaders[2])
    await fleet.clock.advance(HOUR_MS)
    expect(fleet.leaders).toHaveLength(3)
  })

  test('that hits the leader in a long drain changes the leader at most twice, and nothing overlaps', async () => {
    for (const rollout of ['prefer-new', 'eager'] as const) {
      const fleet = new Fleet()
      const lease = { name: 'lease', drainTimeoutMs: 60_000 }
      const options = (of: string) => ({ revision: of, rollout, lease })
      const draining = await fleet.start('a', options('1'), async (term) => {
        await term.spawn('slow', () => slowly(fleet.clock), { finishOnDrain: true })
        await untilEnd(term)
      })
      const second = await fleet.start('b', options('1'))
      const begun = fleet.clock.now()
      void draining.stepDown({})
      await fleet.clock.advance(1000)
      await fleet.start('x', options('2'))
      const stopping = draining.stop()
      await fleet.clock.advance(2000)
      await fleet.start('y', options('2'))
      let drained = 0
      void stopping.then(() => (drained = fleet.clock.now() - begun))
      await fleet.clock.advance(40_000)
      await stopping
      await fleet.stop(second)
      await fleet.clock.advance(10_000)
      expect(fleet.leaders.length).toBeLessThanOrEqual(3)
      expect(drained).toBeGreaterThan(20_000)
      expect(['x', 'y']).toContain(fleet.leaders.at(-1))
      expect(fleet.hasOverlap).toBe(false)
    }
  })
})

describe('Two fleets of different revisions', () => {
  const SLOW = { name: 'lease', leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryPeriodMs: 100_000 }

  test.each([
    ['prefer-new', 'never-lead', 1],
    ['prefer-new', 'prefer-new', 1],
    ['eager', 'never-lead', 1],
    ['eager', 'eager', 2],
    ['off', 'eager', 1],
  ] as const)(
    'with %s and a canary with %s stay side by side for days with %i leaders',
    async (ours, canary, leaders) => {
      const fleet = new Fleet()
      const options = (of: string, rollout: typeof ours | typeof canary) => ({ revision: of, rollout, lease: SLOW })
      for (const name of ['a', 'b']) await fleet.start(name, options('1', ours))
      await fleet.start('x', options('2', canary))
      await fleet.clock.advance(300_000)
      await fleet.start('c', options('1', ours))
      await fleet.clock.advance(300_000)
      const before = fleet.leaders.length
      expect(fleet.leaders).toEqual(['a', 'x'].slice(0, leaders))
      await fleet.clock.advance(72 * HOUR_MS)
      expect(fleet.leaders).toHaveLength(before)
      expect(fleet.hasOverlap).toBe(false)
    },
  )
})

test('A replica that crashed as a standby and restarts under its name with another revision is listed with that one', async () => {
  const fleet = new Fleet()
  await fleet.start('leader', { revision: '1' })
  await fleet.start('b', { revision: '1' })
  const lease = fleet.store.read('lease')
  if (lease.kind === 'absent') throw new Error('Expected a lease')
  const crashed: Standby = { identity: 'c', revision: '1', since: 1n }
  fleet.store.write('lease', withStandby(lease.record, crashed), lease.version)
  await fleet.start('c', { revision: '2' })
  expect(fleet.listed('c')).toMatchObject({ revision: '2' })
  expect(fleet.standbys).toEqual(['c', 'b'])
})

test('A replica of a newer revision that has crashed and is still on the list costs an eager leader nothing', async () => {
  const fleet = new Fleet()
  const eager = (of: string) => ({ revision: of, rollout: 'eager' }) as const
  await fleet.start('a', eager('1'))
  await fleet.start('b', eager('1'))
  const lease = fleet.store.read('lease')
  if (lease.kind === 'absent') throw new Error('Expected a lease')
  fleet.store.write('lease', withStandby(lease.record, { identity: 'x', revision: '2', since: 100n }), lease.version)
  expect(fleet.standbys).toEqual(['x', 'b'])
  await fleet.clock.advance(HOUR_MS)
  expect(fleet.leaders).toEqual(['a'])
  expect(fleet.standbys).toEqual(['b'])
  await fleet.start('y', eager('2'))
  await fleet.clock.advance(HOUR_MS)
  expect(fleet.leaders).toEqual(['a', 'y'])
  expect(fleet.hasOverlap).toBe(false)
})
