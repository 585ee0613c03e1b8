import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { Drain } from '../../src/drain/drain.ts'

function createDrain() {
  const clock = new VirtualClock()
  const log: string[] = []
  const drain = new Drain({ clock, onEffect: (effect) => log.push(`${effect} at ${clock.now()}`) })
  return { clock, log, drain }
}

const PLAN = { voluntary: true, abortAt: 100, wedgedAt: 150, cleanups: { timeoutMs: 40, abortAfterMs: 20 } }

test('A drain carries out what is decided at the times that it is due', async () => {
  const { clock, log, drain } = createDrain()
  drain.ask(PLAN)
  await clock.advance(1000)
  expect(log).toEqual(['hard-abort at 100', 'wedged at 150'])
  expect(clock.pendingTimers).toBe(0)
})

test('A drain that is cleaning aborts the cleanups, and is wedged when they do not end', async () => {
  const { clock, log, drain } = createDrain()
  drain.ask(PLAN)
  await clock.advance(10)
  drain.cleaning()
  await clock.advance(1000)
  expect(log).toEqual(['abort-cleanups at 30', 'wedged at 50', 'hard-abort at 100'])
})

test('A drain is wedged as soon as the cleanups of a part of the work are overdue', async () => {
  const { clock, log, drain } = createDrain()
  drain.ask(PLAN)
  await clock.advance(10)
  drain.cleanupOverdue()
  expect(log).toEqual(['wedged at 10'])
  drain.empty()
})

test('A drain that is empty leaves no timer and does nothing more', async () => {
  const { clock, log, drain } = createDrain()
  drain.ask(PLAN)
  drain.empty()
  expect(clock.pendingTimers).toBe(0)
  drain.cleanupOverdue()
  await clock.advance(1000)
  expect(log).toEqual([])
})

test('A drain without an end of time sets no timer', () => {
  const { clock, drain } = createDrain()
  drain.ask({ voluntary: true, abortAt: Infinity, wedgedAt: Infinity, cleanups: { timeoutMs: Infinity } })
  drain.cleaning()
  expect(clock.pendingTimers).toBe(0)
  drain.empty()
})
