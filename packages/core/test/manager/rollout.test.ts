import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { readStandbys } from '../../src/election/rules/standby.ts'
import { HealthRegistry } from '../../src/health/health-registry.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { ManagerOptions } from '../../src/manager/manager-options.ts'
import { untilEnd } from '../support/replica.ts'

const HOUR_MS = 3_600_000

/** Replicas around one lease, on one virtual clock. */
class Fleet {
  readonly clock = new VirtualClock()
  readonly store = new MemoryLeaseStore()
  /** The replicas that led, in order. */
  readonly leaders: string[] = []
  readonly #managers: Manager[] = []
  #random = 0

  constructor() {
    onTestFinished(async () => {
      for (const manager of this.#managers) void manager.stop()
      await this.clock.advance(60_000)
    })
  }

  /** Starts a replica and waits until it has joined the list or found that it does not belong there. */
  async start(
    identity: string,
    options: Partial<ManagerOptions> = {},
    run: Controller['run'] = untilEnd,
  ): Promise<Manager> {
    const manager = new Manager({
      identity,
      lease: { name: 'lease' },
      clock: this.clock,
      random: () => (this.#random = (this.#random + 0.618) % 1),
      createLock: ({ name }) => this.store.lock(name),
      ...options,
    })
    this.#managers.push(manager)
    manager.register(() => ({ name: 'janitor', run }))
    manager.on((event) => {
      if (event.kind === 'term-began') this.leaders.push(identity)
    })
    manager.start().catch(() => {})
    await this.clock.advance(2500)
    return manager
  }

  async stop(manager: Manager): Promise<void> {
    const stopped = manager.stop()
    await this.clock.advance(1500)
    await stopped
  }

  get standbys(): readonly string[] {
    const lease = this.store.read('lease')
    return lease.kind === 'present' ? readStandbys(lease.record).map(({ identity }) => identity) : []
  }
}

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
