import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { CacheBarrier } from '../../src/term/cache-barrier.ts'

function createBarrier({ isSelective = false } = {}) {
  const clock = new VirtualClock()
  const reads: number[] = []
  const barrier = new CacheBarrier({ clock, isSelective, readAgain: () => reads.push(clock.now()) })
  /** Waits, and returns what has come of it. */
  const wait = (...versions: readonly string[]) => {
    const outcome = { kind: 'waits' as unknown }
    barrier.wait(versions).then(
      () => (outcome.kind = 'passed'),
      (error: unknown) => (outcome.kind = error),
    )
    return async () => {
      await clock.runAllMicrotasks()
      return outcome.kind
    }
  }
  return { clock, reads, barrier, wait }
}

describe('A cache barrier', () => {
  test('passes at once where the cache already shows the greatest of the versions', async () => {
    const { clock, reads, barrier, wait } = createBarrier()
    barrier.reached('12')
    expect(await wait('9', '12', '11')()).toBe('passed')
    expect(await wait()()).toBe('passed')
    expect([reads, clock.pendingTimers]).toEqual([[], 0])
  })

  test('passes once the cache reaches the greatest of the versions, and not before', async () => {
    const { clock, reads, barrier, wait } = createBarrier()
    const outcome = wait('9', '12', '11')
    barrier.reached('11')
    expect(await outcome()).toBe('waits')
    barrier.reached('12')
    expect(await outcome()).toBe('passed')
    await clock.advance(1000)
    expect([reads, clock.pendingTimers]).toEqual([[], 0])
  })

  test('ignores a version of the cache that is not a decimal number', async () => {
    const { barrier, wait } = createBarrier()
    barrier.reached('7')
    barrier.reached('x')
    expect(await wait('7')()).toBe('passed')
  })

  test('has the cache read again after 250 ms, and passes with the list that comes then, whatever its version is', async () => {
    const { clock, reads, barrier, wait } = createBarrier()
    const outcome = wait('12')
    barrier.listed('10')
    await clock.advance(249)
    expect(reads).toEqual([])
    await clock.advance(1000)
    expect(reads).toEqual([250])
    expect(await outcome()).toBe('waits')
    barrier.listed('11')
    expect(await outcome()).toBe('passed')
  })

  test('passes with a list of before that if it has the version', async () => {
    const { reads, barrier, wait } = createBarrier()
    const outcome = wait('12')
    barrier.listed('12')
    expect(await outcome()).toBe('passed')
    expect(reads).toEqual([])
  })

  test.each([
    ['a version is not known', ['12', ''], false],
    ['the cache has a selector, so that the events of the writes may be others', ['12'], true],
  ])('has the cache read again at once if %s', async (_, versions, isSelective) => {
    const { clock, reads, barrier, wait } = createBarrier({ isSelective })
    const outcome = wait(...versions)
    expect([reads, clock.pendingTimers]).toEqual([[0], 0])
    expect(await outcome()).toBe('waits')
    barrier.listed('1')
    expect(await outcome()).toBe('passed')
  })

  test('rejects when the cache ends, then and later, and leaves no timer', async () => {
    const { clock, reads, barrier, wait } = createBarrier()
    const ended = new Error('the cache has ended')
    const outcome = wait('12')
    barrier.end(ended)
    expect(await outcome()).toBe(ended)
    expect(await wait('')()).toBe(ended)
    expect([reads, clock.pendingTimers]).toEqual([[], 0])
  })

  test('refuses an option that it does not know', () => {
    const options = { clock: new VirtualClock(), isSelective: false, readAgain: () => {}, patienceMs: 1 }
    expect(() => new CacheBarrier(options)).toThrow('Unknown option `patienceMs` in `new CacheBarrier()`')
  })
})
