import { channel } from 'node:diagnostics_channel'
import { HealthRegistry, type Lock, LockRequestError, MemoryLeaseStore, type Term } from '@tenure/core'
import { STORE_RESTORED_CHANNEL } from '@tenure/core/internal'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { Counter, register } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { controller, manage, type ManagedOps, samples, untilAborted } from './managed-ops.ts'

async function shown({ ops }: ManagedOps, ...names: string[]): Promise<readonly string[]> {
  return samples((await ops.metrics()).body, ...names)
}

test('the duration of each lease is shown, with its default', async () => {
  await using managed = manage({ manager: { lease: { name: 'janitor', leaseDurationMs: 30_000 } } })
  managed.manager.candidacy({ name: 'sweeper' })
  await managed.start()
  expect(await shown(managed, 'tenure_lease_duration_seconds')).toEqual([
    'tenure_lease_duration_seconds{name="janitor"} 30',
    'tenure_lease_duration_seconds{name="sweeper"} 15',
  ])
})

test('a replica shows why its last request failed until one succeeds', async () => {
  const store = new MemoryLeaseStore()
  let isRefused = false
  const createLock = ({ name }: { readonly name: string }): Lock => {
    const lock = store.lock(name)
    const update = lock.update.bind(lock)
    return Object.assign(lock, {
      update: async (...args: Parameters<Lock['update']>) => {
        if (isRefused) throw new LockRequestError('forbidden', 'refused')
        return update(...args)
      },
    })
  }
  await using managed = manage({ manager: { lease: { name: 'janitor', retryPeriodMs: 10 }, createLock } })
  await managed.start()
  await managed.event(({ kind }) => kind === 'renewed')
  isRefused = true
  await managed.event(({ kind }) => kind === 'request-failed')
  const failing = await shown(managed, 'tenure_lease_requests_failing')
  expect(failing.filter((line) => line.endsWith(' 1'))).toEqual([
    'tenure_lease_requests_failing{name="janitor",reason="forbidden"} 1',
  ])
  expect(failing.length).toBe(8)
  isRefused = false
  await managed.event(({ kind }) => kind === 'renewed')
  expect((await shown(managed, 'tenure_lease_requests_failing')).filter((line) => line.endsWith(' 1'))).toEqual([])
})

test('a drain in progress shows its duration, from the request to end the term to the end of its last task', async () => {
  const clock = new VirtualClock()
  const task = Promise.withResolvers<void>()
  await using managed = manage({
    ops: { clock },
    controllers: [
      controller('sweeper', async (term) => {
        await untilAborted(term.signal)
        await task.promise
      }),
    ],
  })
  await managed.start()
  await managed.state('leading')
  await clock.advance(60_000)
  expect(await shown(managed, 'tenure_draining_seconds')).toEqual(['tenure_draining_seconds{name="janitor"} 0'])
  const over = managed.manager.stepDown({ cooldownMs: 60_000 })
  await managed.state('draining')
  await clock.advance(7000)
  expect(await shown(managed, 'tenure_draining_seconds')).toEqual(['tenure_draining_seconds{name="janitor"} 7'])
  task.resolve()
  await over
  expect(await shown(managed, 'tenure_draining_seconds')).toEqual(['tenure_draining_seconds{name="janitor"} 0'])
})

test('the clock of the replica is shown for each lease', async () => {
  const clock = new VirtualClock()
  await using managed = manage({ ops: { clock } })
  await managed.start()
  const reading = async () => {
    const samplesOfClock = await shown(managed, 'tenure_clock_seconds')
    expect(samplesOfClock).toEqual([expect.stringMatching(/^tenure_clock_seconds\{name="janitor"\} \d/)])
    return Number(samplesOfClock[0]?.split(' ')[1])
  }
  const before = await reading()
  await clock.advance(2500)
  expect((await reading()) - before).toBeCloseTo(2.5)
})

test('restores of a store are counted from the start to the stop of the manager', async () => {
  const managed = manage()
  const restores = channel(STORE_RESTORED_CHANNEL)
  {
    await using running = managed
    await running.start()
    expect(await shown(running, 'tenure_store_restores_total')).toEqual(['tenure_store_restores_total 0'])
    restores.publish({ namespace: 'ops', name: 'janitor' })
    expect(await shown(running, 'tenure_store_restores_total')).toEqual(['tenure_store_restores_total 1'])
  }
  restores.publish({ namespace: 'ops', name: 'janitor' })
  expect(await shown(managed, 'tenure_store_restores_total')).toEqual(['tenure_store_restores_total 1'])
  expect(restores.hasSubscribers).toBe(false)
})

afterEach(() => register.clear())

test.each<[string, (term: Term, health: HealthRegistry) => unknown]>([
  ['health-check', (term, health) => health.register(`left-${term.epoch}`, () => {})],
  ['metric', (term) => new Counter({ name: `left_${term.epoch}_total`, help: 'Left.' })],
])('a %s that every term leaves with the process is counted as a leak', async (kind, leave) => {
  const clock = new VirtualClock()
  const health = new HealthRegistry()
  const controllers = [controller('sweeper', (term) => leave(term, health))]
  await using managed = manage({ ops: { clock }, controllers })
  managed.manager.livez.add(health)
  await managed.start()
  for (const cooldownMs of [0, 0, 60_000]) {
    await managed.state('leading')
    await managed.manager.stepDown({ cooldownMs })
  }
  const series = `tenure_leaks_total{kind="${kind}"}`
  expect(await shown(managed, series)).toEqual([`${series} 1`])
})
