import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { Wakeup } from '../src/membership/wakeup.ts'

test('the pause of a member ends when it is woken, when its time is over, or with its signal, and leaves no timer', async () => {
  const clock = new VirtualClock()
  const wakeup = new Wakeup(clock)
  const { signal } = new AbortController()
  const ended: string[] = []
  const wait = (what: string, ms: number | undefined, until = signal) =>
    wakeup.wait(ms, until).then(() => ended.push(what))
  const timed = wait('timed', 100)
  await clock.advance(99)
  expect(ended).toEqual([])
  await clock.advance(1)
  await timed
  const woken = wait('woken', undefined)
  await clock.advance(1e6)
  expect(ended).toEqual(['timed'])
  wakeup.wake()
  await woken
  wakeup.wake()
  await wait('woken before', 100)
  const aborting = new AbortController()
  const aborted = wait('aborted', 100, aborting.signal)
  await clock.advance(0)
  expect(ended).toEqual(['timed', 'woken', 'woken before'])
  aborting.abort()
  await aborted
  expect(clock.pendingTimers).toBe(0)
})
