import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Controller, WarmUp } from '../../src/controller/controller.ts'
import { ControllerWarmUp, WarmUpOverError } from '../../src/controller/warm-up.ts'

/** A warm-up of the controller `janitor`, and what it reports. */
function warmUpOf(parts: Partial<Controller>) {
  const clock = new VirtualClock()
  const late: (readonly [unknown, string])[] = []
  const log: string[] = []
  const controller: Controller = { name: 'janitor', run: async () => {}, ...parts }
  const warmUp = new ControllerWarmUp({
    controller,
    name: 'janitor',
    lease: 'lease',
    clock,
    cleanupBudgetMs: () => 1000,
    onCleaning: () => log.push('cleaning'),
    onCleanupOverdue: () => log.push('overdue'),
    onLateFailure: (error, task) => late.push([error, task]),
  })
  onTestFinished(async () => {
    warmUp.end('the test is over')
    await warmUp.join()
  })
  return { clock, controller, warmUp, late, log }
}

const untilEnd = (warm: WarmUp): Promise<void> => warm.sleep(1e12)

describe('The warm-up of a controller', () => {
  test('is ready at once where the controller has none', () => {
    const { warmUp, controller } = warmUpOf({})
    expect(warmUp.outcome).toBeUndefined()
    warmUp.start()
    expect(warmUp.outcome).toEqual({ kind: 'ready' })
    expect([warmUp.controller, warmUp.name, warmUp.isCleaning]).toEqual([controller, 'janitor', true])
  })

  test('is ready when it has returned', async () => {
    const { warmUp, clock } = warmUpOf({ warmUp: (warm) => warm.sleep(1000) })
    warmUp.start()
    expect(warmUp.liveTasks()).toMatchObject([{ name: 'warmUp', controller: 'janitor' }])
    await clock.advance(999)
    expect([warmUp.outcome, warmUp.isCleaning]).toEqual([undefined, false])
    await clock.advance(1)
    expect(warmUp.outcome).toEqual({ kind: 'ready' })
    expect(await warmUp.settled).toEqual({ kind: 'ready' })
    expect([warmUp.isCleaning, warmUp.liveTasks()]).toEqual([true, []])
  })

  test('has failed with its error', async () => {
    const error = new Error('no cache')
    const { warmUp, clock, late } = warmUpOf({ warmUp: () => Promise.reject(error) })
    warmUp.start()
    await clock.runAllMicrotasks()
    expect(warmUp.outcome).toEqual({ kind: 'failed', error })
    expect(late).toEqual([])
  })

  test('has failed where the controller cannot be asked for it', async () => {
    const error = new Error('no such getter')
    const controller = Object.defineProperty({}, 'warmUp', {
      get: () => {
        throw error
      },
      enumerable: false,
    })
    const { warmUp, clock } = warmUpOf({})
    Object.setPrototypeOf(warmUp.controller, controller)
    warmUp.start()
    await clock.runAllMicrotasks()
    expect(warmUp.outcome).toEqual({ kind: 'failed', error })
  })

  test('reports a failure after it was ready, to the run once that has adopted it', async () => {
    const fail = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() }
    const { warmUp, clock, late } = warmUpOf({
      warmUp: async (warm) => {
        void warm.spawn('first', () => fail.first.promise).catch(() => {})
        void warm.spawn('second', () => fail.second.promise).catch(() => {})
      },
    })
    warmUp.start()
    await clock.runAllMicrotasks()
    fail.first.reject(new Error('a'))
    await clock.runAllMicrotasks()
    expect(late).toEqual([[new Error('a'), 'first']])
    const ofRun: unknown[] = []
    warmUp.adopt(undefined, (error, task) => ofRun.push([error, task]))
    fail.second.reject(new Error('b'))
    await clock.runAllMicrotasks()
    expect(late).toHaveLength(1)
    expect(ofRun).toEqual([[new Error('b'), 'second']])
    expect(warmUp.outcome).toEqual({ kind: 'ready' })
  })

  test('is cancelled by its end, which aborts both signals with the reason, and is no failure', async () => {
    const warms: WarmUp[] = []
    const { warmUp, late } = warmUpOf({ warmUp: (warm) => (warms.push(warm), untilEnd(warm)) })
    warmUp.start()
    warmUp.end('the replica stops')
    await warmUp.join()
    const reason = {
      name: 'WarmUpOverError',
      code: 'WARM_UP_OVER',
      message: 'The warm-up of controller `janitor` has ended: the replica stops',
    }
    expect(warmUp.outcome).toEqual({ kind: 'cancelled' })
    expect(warms[0]?.signal.reason).toBeInstanceOf(WarmUpOverError)
    expect(warms[0]?.signal.reason).toMatchObject(reason)
    expect(warms[0]?.hardSignal.reason).toMatchObject(reason)
    expect(late).toEqual([])
  })

  test('stays ready when it ends later', async () => {
    const { warmUp } = warmUpOf({})
    warmUp.start()
    warmUp.end('its run has ended')
    expect(warmUp.outcome).toEqual({ kind: 'ready' })
    expect(await warmUp.settled).toEqual({ kind: 'ready' })
  })

  test('says when its cleanups take too long', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { warmUp, clock, log } = warmUpOf({
      warmUp: async (warm) => {
        warm.defer(() => promise)
      },
    })
    warmUp.start()
    await clock.runAllMicrotasks()
    warmUp.end('its run has ended')
    const over = warmUp.join()
    await clock.advance(999)
    expect(log).toEqual(['cleaning'])
    await clock.advance(1)
    expect(log).toEqual(['cleaning', 'overdue'])
    resolve()
    await over
  })
})

describe('A run that waits for a warm-up', () => {
  test('waits until it is ready', async () => {
    const { warmUp, clock } = warmUpOf({ warmUp: (warm) => warm.sleep(1000) })
    warmUp.start()
    const { signal } = new AbortController()
    const isReady = warmUp.isReadyWithin({ clock, timeoutMs: 2000, signal })
    await clock.advance(1000)
    expect(await isReady).toBe(true)
    expect([clock.pendingTimers, getEventListeners(signal, 'abort')]).toEqual([0, []])
    expect(await warmUp.isReadyWithin({ clock, timeoutMs: 0, signal })).toBe(true)
  })

  test('waits no longer than it may', async () => {
    const { warmUp, clock } = warmUpOf({ warmUp: untilEnd })
    warmUp.start()
    const { signal } = new AbortController()
    let isReady: boolean | undefined
    void warmUp.isReadyWithin({ clock, timeoutMs: 2000, signal }).then((answer) => (isReady = answer))
    await clock.advance(1999)
    expect(isReady).toBeUndefined()
    await clock.advance(1)
    expect(isReady).toBe(false)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('waits no more once its own signal aborts, although the warm-up is ready', async () => {
    const { warmUp, clock } = warmUpOf({ warmUp: untilEnd })
    warmUp.start()
    const own = new AbortController()
    const waiting = warmUp.isReadyWithin({ clock, timeoutMs: 2000, signal: own.signal })
    own.abort()
    expect(await waiting).toBe(false)
    const ready = warmUpOf({}).warmUp
    ready.start()
    expect(await ready.isReadyWithin({ clock, timeoutMs: 2000, signal: own.signal })).toBe(false)
  })

  test('does not use a warm-up that failed, or that has ended', async () => {
    const { signal } = new AbortController()
    const failed = warmUpOf({ warmUp: () => Promise.reject(new Error('no cache')) })
    failed.warmUp.start()
    expect(await failed.warmUp.isReadyWithin({ clock: failed.clock, timeoutMs: 2000, signal })).toBe(false)
    const ended = warmUpOf({})
    ended.warmUp.start()
    ended.warmUp.end('somebody else leads')
    expect(await ended.warmUp.isReadyWithin({ clock: ended.clock, timeoutMs: 2000, signal })).toBe(false)
  })
})
