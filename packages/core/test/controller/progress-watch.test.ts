import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { NoProgressError, ProgressWatch } from '../../src/controller/progress-watch.ts'

function watchFor(timeoutMs: number) {
  const clock = new VirtualClock()
  const stalls: number[] = []
  const progress = { at: 0 }
  const watch = new ProgressWatch({
    clock,
    timeoutMs,
    progressedAt: () => progress.at,
    onStalled: () => stalls.push(clock.now()),
  })
  return { clock, stalls, progress, watch }
}

test('A controller without progress is noticed once, when its time is up', async () => {
  const { clock, stalls } = watchFor(1000)
  await clock.advance(999)
  expect(stalls).toEqual([])
  await clock.advance(60_000)
  expect(stalls).toEqual([1000])
  expect(clock.pendingTimers).toBe(0)
})

test('A controller has its full time after each progress', async () => {
  const { clock, stalls, progress } = watchFor(1000)
  await clock.advance(400)
  progress.at = 400
  await clock.advance(999)
  expect(stalls).toEqual([])
  await clock.advance(1)
  expect(stalls).toEqual([1400])
})

test('A watch that has ended notices nothing and leaves no timer', async () => {
  const { clock, stalls, watch } = watchFor(1000)
  await clock.advance(500)
  watch.end()
  expect(clock.pendingTimers).toBe(0)
  await clock.advance(60_000)
  expect(stalls).toEqual([])
})

test('The error names the controller and its time', () => {
  expect(new NoProgressError('janitor', 1000)).toMatchObject({
    name: 'NoProgressError',
    code: 'NO_PROGRESS',
    message: 'Controller `janitor` has not called `term.progress()` for 1000 ms',
  })
})
