import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { Term } from '../../src/term/term.ts'

/** How many loops run now, and how many did at most. */
const loops = { now: 0, most: 0, ticks: 0 }

async function work(term: Term): Promise<void> {
  term.health.register('working', () => {})
  term.defer(() => (loops.now -= 1))
  loops.now += 1
  loops.most = Math.max(loops.most, loops.now)
  void term.spawn('request', async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  })
  await term.every(100, async () => {
    loops.ticks += 1
    await term.sleep(10)
  })
}

test('a hundred terms in one process leave nothing behind: one loop at a time, timers and health checks of a follower', async () => {
  const clock = new VirtualClock()
  const store = new MemoryLeaseStore()
  const epochs: bigint[] = []
  const manager = new Manager({
    identity: 'me',
    lease: { name: 'lease' },
    clock,
    random: () => 0.5,
    createLock: ({ name }) => store.lock(name),
  })
  manager.register(() => ({ name: 'worker', run: work }))
  manager.on((event) => {
    if (event.kind === 'term-began') epochs.push(event.epoch)
  })
  const running = manager.start()
  await clock.runAllMicrotasks()

  let asFollower: { readonly timers: number; readonly checks: readonly string[] } | undefined
  for (let term = 0; term < 100; term++) {
    await clock.advance(300)
    expect(manager.state.kind).toBe('leading')
    expect(manager.livez.names).toContain('worker.working')
    const steppedDown = manager.stepDown({ cooldownMs: 50 })
    await clock.advance(40)
    expect(await steppedDown).toMatchObject({ outcome: 'released', drain: 'clean' })
    const present = { timers: clock.pendingTimers, checks: manager.livez.names }
    asFollower ??= present
    expect(present).toEqual(asFollower)
    await clock.advance(10)
  }
  await manager.stop()
  await running

  expect(loops).toEqual({ now: 0, most: 1, ticks: expect.any(Number) })
  expect(loops.ticks).toBeGreaterThanOrEqual(300)
  expect(asFollower).toEqual({ timers: 1, checks: expect.not.arrayContaining(['worker.working']) })
  expect(epochs).toEqual([...epochs].sort((a, b) => Number(a - b)))
  expect(new Set(epochs).size).toBe(101)
  expect(clock.pendingTimers).toBe(0)
})
