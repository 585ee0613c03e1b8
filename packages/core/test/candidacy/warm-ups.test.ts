import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { WarmUps } from '../../src/candidacy/warm-ups.ts'
import type { Controller, WarmUp } from '../../src/controller/controller.ts'
import { createRegistration, type RegisterOptions } from '../../src/controller/registration.ts'
import { resolveRestartOptions } from '../../src/controller/restart-options.ts'
import type { OptionsError } from '../../src/options/options-error.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import type { ControllerTerm } from '../../src/term/controller-term.ts'
import type { LiveTask } from '../../src/term/task-scope.ts'
import { never } from '../support/never.ts'
import { untilEnd } from '../support/replica.ts'

/** A controller of the lease, by its name. */
interface Registered extends RegisterOptions {
  readonly name: string
  readonly warmUp?: 'never' | 'successor' | 'following'
  /** What it does to warm up, in its nth instance. */
  readonly warms?: (warm: WarmUp, instance: number) => Promise<void>
  /** Builds the controller in place of the usual factory. */
  readonly factory?: () => Controller
}

const untilOver = (warm: WarmUp): Promise<void> => warm.sleep(1e12)

/** The warm-ups of these controllers, and what they report. */
function warmUpsOf(...registered: readonly Registered[]) {
  const clock = new VirtualClock()
  const log: unknown[] = []
  const warms: Record<string, WarmUp[]> = {}
  const unusable: OptionsError[] = []
  const wedged: (readonly LiveTask[])[] = []
  const registrations = registered.map(({ name, warms: does = untilOver, factory, ...options }) => {
    const build = (): Controller => ({
      name,
      run: untilEnd,
      warmUp: (warm) => {
        const all = (warms[name] ??= [])
        return does(warm, all.push(warm))
      },
    })
    return createRegistration(factory ?? build, { warmUp: 'following', ...options }, resolveRestartOptions())
  })
  const line = (level: string) => (fields: object, message: string) => void log.push([level, fields, message])
  const logger: Logger = { ...silentLogger, warn: line('warn'), error: line('error') }
  const warmUps = new WarmUps({
    clock,
    logger,
    lease: 'lease',
    registrations,
    seen: new WeakSet(),
    cleanupTimeoutMs: 1000,
    warmUpStopTimeoutMs: 5000,
    onOver: (controller, outcome) => void log.push([controller, outcome]),
    onUnusable: (error) => void unusable.push(error),
    onCleaning: () => void log.push('cleaning'),
    onCleanupOverdue: () => void log.push('cleanup overdue'),
    onWedged: (tasks) => void wedged.push(tasks),
  })
  onTestFinished(async () => {
    void warmUps.stop()
    await clock.advance(60_000)
  })
  return { clock, log, warms, warmUps, registrations, unusable, wedged }
}

/** How many instances of a controller have warmed up. */
const countOf = ({ warms }: ReturnType<typeof warmUpsOf>, name = 'a'): number => warms[name]?.length ?? 0

const overBecause = (why: string) => ({
  code: 'WARM_UP_OVER',
  message: `The warm-up of controller \`a\` has ended: ${why}`,
})

describe('The warm-ups of a lease', () => {
  test('begin for the controllers of their mode, once', () => {
    const bench = warmUpsOf({ name: 'a' }, { name: 'b', warmUp: 'successor' }, { name: 'c', warmUp: 'never' })
    bench.warmUps.begin('following')
    bench.warmUps.begin('following')
    expect(Object.keys(bench.warms)).toEqual(['a'])
    bench.warmUps.begin('successor')
    expect(Object.keys(bench.warms)).toEqual(['a', 'b'])
    expect(countOf(bench)).toBe(1)
    expect([...bench.warmUps.current.values()].map(({ name }) => name)).toEqual(['a', 'b'])
    expect([...bench.warmUps.current.keys()]).toEqual(bench.registrations.slice(0, 2))
  })

  test('end for the controllers of one mode, or for all, with the reason', async () => {
    const bench = warmUpsOf({ name: 'a' }, { name: 'b', warmUp: 'successor' })
    bench.warmUps.begin('following')
    bench.warmUps.begin('successor')
    await bench.warmUps.end('somebody else leads', 'successor')
    expect([bench.warms['a']?.[0]?.signal.aborted, bench.warms['b']?.[0]?.signal.aborted]).toEqual([false, true])
    expect(bench.log).toContainEqual(['b', { kind: 'cancelled' }])
    await bench.warmUps.end('nobody needs it')
    expect(bench.warms['a']?.[0]?.hardSignal.reason).toMatchObject(overBecause('nobody needs it'))
    expect(bench.warmUps.current.size).toBe(0)
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('begin no more once they were stopped, because the replica stops', async () => {
    const bench = warmUpsOf({ name: 'a' })
    bench.warmUps.begin('following')
    await bench.warmUps.stop()
    expect(bench.warms['a']?.[0]?.signal.reason).toMatchObject(overBecause('the replica stops'))
    bench.warmUps.begin('following')
    expect(countOf(bench)).toBe(1)
    expect([bench.clock.pendingTimers, bench.wedged]).toEqual([0, []])
  })

  test('are wedged by what is left when the time to stop is over', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: () => work.promise }, { name: 'b' })
    bench.warmUps.begin('following')
    const stopped = bench.warmUps.stop()
    await bench.clock.advance(4999)
    expect(bench.wedged).toEqual([])
    await bench.clock.advance(1)
    expect(bench.wedged).toMatchObject([[{ controller: 'a', name: 'warmUp', ageMs: 5000 }]])
    work.resolve()
    await stopped
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('are not wedged by what a term has taken over meanwhile', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: () => work.promise })
    bench.warmUps.begin('following')
    const stopped = bench.warmUps.stop()
    bench.warmUps.handOver()
    await bench.clock.advance(5000)
    expect(bench.wedged).toEqual([])
    work.resolve()
    await stopped
  })

  test('are ready when those while following are, whatever becomes of the others', async () => {
    const ready = Promise.withResolvers<void>()
    const bench = warmUpsOf(
      { name: 'a', warms: () => ready.promise },
      { name: 'b', warms: async () => {} },
      { name: 'c', warmUp: 'successor' },
      { name: 'd', warmUp: 'never' },
    )
    const { clock, warmUps } = bench
    expect(warmUps.areReady).toBe(false)
    warmUps.begin('following')
    await clock.runAllMicrotasks()
    expect(warmUps.areReady).toBe(false)
    ready.resolve()
    await clock.runAllMicrotasks()
    expect(warmUps.areReady).toBe(true)
    await warmUps.end('it is stopped')
    expect(warmUps.areReady).toBe(false)
    expect(warmUpsOf({ name: 'a', warmUp: 'successor' }).warmUps.areReady).toBe(true)
  })

  test('that failed are not ready', async () => {
    const { warmUps, clock } = warmUpsOf({ name: 'a', warms: () => Promise.reject(new Error('no cache')) })
    warmUps.begin('following')
    await clock.runAllMicrotasks()
    expect(warmUps.areReady).toBe(false)
  })

  test('own their scopes', () => {
    const bench = warmUpsOf({ name: 'a' }, { name: 'b' })
    const other = warmUpsOf({ name: 'a' })
    for (const { warmUps } of [bench, other]) warmUps.begin('following')
    const scopeOf = (warm: WarmUp | undefined) => (warm as ControllerTerm).scope
    for (const name of ['a', 'b'])
      expect(bench.warmUps.hardSignalOf(scopeOf(bench.warms[name]?.[0]))).toBe(bench.warms[name]?.[0]?.hardSignal)
    expect(bench.warmUps.hardSignalOf(scopeOf(other.warms['a']?.[0]))).toBeUndefined()
  })

  test('belong to the term once they were handed over, and begin again after it', async () => {
    const bench = warmUpsOf({ name: 'a', warms: async () => {} })
    const { clock, warmUps } = bench
    warmUps.begin('following')
    await clock.runAllMicrotasks()
    const [taken] = warmUps.current.values()
    warmUps.handOver()
    expect([warmUps.current.size, warmUps.areReady]).toEqual([0, false])
    await warmUps.end('somebody else leads')
    expect(bench.warms['a']?.[0]?.signal.aborted).toBe(false)
    warmUps.begin('following')
    expect(countOf(bench)).toBe(2)
    taken?.end('the test is over')
    await taken?.join()
  })

  test('that a term took over and that fail there leave the next ones alone', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: (warm, instance) => (instance === 1 ? work.promise : untilOver(warm)) })
    const { clock, warmUps } = bench
    warmUps.begin('following')
    const [taken] = warmUps.current.values()
    warmUps.handOver()
    warmUps.begin('following')
    work.reject(new Error('no cache'))
    await clock.runAllMicrotasks()
    expect([countOf(bench), warmUps.current.size]).toEqual([2, 1])
    expect(bench.warms['a']?.[1]?.signal.aborted).toBe(false)
    taken?.end('the test is over')
    await taken?.join()
  })

  test('that a term took over while they ended are not in the way of the next ones', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: (warm, instance) => (instance === 1 ? work.promise : untilOver(warm)) })
    const { clock, warmUps } = bench
    warmUps.begin('following')
    void warmUps.end('somebody else leads')
    warmUps.handOver()
    warmUps.begin('following')
    expect(countOf(bench)).toBe(2)
    work.resolve()
    await clock.runAllMicrotasks()
    expect(warmUps.current.size).toBe(1)
    expect(bench.warms['a']?.[1]?.signal.aborted).toBe(false)
  })
})

describe('A warm-up that is wanted again while it ends', () => {
  test('begins when nothing of the previous one is left', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: (warm, instance) => (instance === 1 ? work.promise : untilOver(warm)) })
    const { clock, warmUps } = bench
    warmUps.begin('following')
    let isOver = false
    void warmUps.end('somebody else leads').then(() => (isOver = true))
    warmUps.begin('following')
    await clock.advance(1000)
    expect([countOf(bench), isOver]).toEqual([1, false])
    work.resolve()
    await clock.runAllMicrotasks()
    expect([countOf(bench), isOver]).toEqual([2, true])
  })

  test('is ended once, with its first reason', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({ name: 'a', warms: () => work.promise })
    bench.warmUps.begin('following')
    void bench.warmUps.end('somebody else leads')
    const stopped = bench.warmUps.stop()
    await bench.clock.runAllMicrotasks()
    expect(bench.warms['a']?.[0]?.signal.reason).toMatchObject(overBecause('somebody else leads'))
    work.resolve()
    await stopped
    expect(countOf(bench)).toBe(1)
  })
})

describe('A warm-up that fails', () => {
  const err = new Error('no cache')
  const fails = () => Promise.reject(err)

  test('is tried again with growing pauses, up to 30 s', async () => {
    const bench = warmUpsOf({ name: 'a', warms: fails, restart: { backoffMs: 8000 } })
    bench.warmUps.begin('following')
    const counts: number[] = []
    for (const ms of [7999, 1, 15_999, 1, 29_999, 1, 29_999, 1]) {
      await bench.clock.advance(ms)
      counts.push(countOf(bench))
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4, 5])
    expect(bench.log.filter((entry) => entry !== 'cleaning').slice(0, 2)).toEqual([
      ['a', { kind: 'failed', error: err }],
      ['a', { kind: 'failed', error: err }],
    ])
    expect(bench.warms['a']?.[0]?.signal.reason).toMatchObject(overBecause('it failed'))
  })

  test('is tried again after a millisecond at least', async () => {
    const bench = warmUpsOf({ name: 'a', warms: fails, restart: { backoffMs: 0 } })
    bench.warmUps.begin('following')
    await bench.clock.runAllMicrotasks()
    expect(countOf(bench)).toBe(1)
    await bench.clock.advance(1)
    expect(countOf(bench)).toBe(2)
    await bench.clock.advance(1)
    expect(countOf(bench)).toBe(2)
    await bench.clock.advance(1)
    expect(countOf(bench)).toBe(3)
  })

  test('is not tried again where nobody wants it, and has its first pause when it is wanted again', async () => {
    const bench = warmUpsOf({ name: 'a', warms: fails })
    bench.warmUps.begin('following')
    await bench.clock.advance(200)
    expect(countOf(bench)).toBe(2)
    await bench.warmUps.end('somebody else leads')
    expect(bench.clock.pendingTimers).toBe(0)
    await bench.clock.advance(60_000)
    expect(countOf(bench)).toBe(2)
    bench.warmUps.begin('following')
    await bench.clock.advance(199)
    expect(countOf(bench)).toBe(3)
    await bench.clock.advance(1)
    expect(countOf(bench)).toBe(4)
  })

  test('begins when the previous warm-up has ended, though an earlier warm-up had failed', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({
      name: 'a',
      warms: async (warm, instance) => {
        if (instance === 1) throw err
        void warm.spawn('rest', () => work.promise)
        await untilOver(warm)
      },
    })
    bench.warmUps.begin('following')
    await bench.clock.advance(0)
    await bench.warmUps.end('somebody else leads')
    bench.warmUps.begin('following')
    const ending = bench.warmUps.end('somebody else leads')
    bench.warmUps.begin('following')
    expect(countOf(bench)).toBe(2)
    work.resolve()
    await ending
    await bench.clock.runAllMicrotasks()
    expect(countOf(bench)).toBe(3)
  })

  test('waits for the rest of it and for the pause, whichever is longer', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({
      name: 'a',
      warms: async (warm, instance) => {
        if (instance === 1) void warm.spawn('rest', () => work.promise)
        throw err
      },
    })
    bench.warmUps.begin('following')
    await bench.clock.advance(1000)
    expect(countOf(bench)).toBe(1)
    work.resolve()
    await bench.clock.runAllMicrotasks()
    expect(countOf(bench)).toBe(2)
  })

  /** A warm-up that has failed and leaves work behind. */
  const leaving = (work: Promise<void>) => {
    const bench = warmUpsOf({
      name: 'a',
      warms: async (warm) => {
        void warm.spawn('rest', () => work)
        throw err
      },
    })
    bench.warmUps.begin('following')
    return bench
  }

  test('that cannot end is warned of after the time to stop, with what is left', async () => {
    const work = Promise.withResolvers<void>()
    const bench = leaving(work.promise)
    await bench.clock.advance(4999)
    expect(bench.log).toEqual([['a', { kind: 'failed', error: err }]])
    await bench.clock.advance(1)
    expect(bench.log.slice(1)).toEqual([
      [
        'warn',
        { lease: 'lease', event: 'warm-up-stuck', controller: 'a', tasks: [expect.objectContaining({ name: 'rest' })] },
        expect.stringMatching(/^warm-up of a does not end, still running: a\/rest \(5000 ms, /),
      ],
    ])
    work.resolve()
    await bench.clock.runAllMicrotasks()
  })

  test('that cannot end is warned of once, also where nobody wants it any more', async () => {
    const work = Promise.withResolvers<void>()
    const bench = leaving(work.promise)
    await bench.clock.advance(1000)
    void bench.warmUps.end('somebody else leads')
    await bench.clock.advance(20_000)
    expect(bench.log).toEqual([
      ['a', { kind: 'failed', error: err }],
      ['warn', expect.anything(), expect.stringContaining('warm-up of a does not end')],
    ])
    work.resolve()
    await bench.clock.runAllMicrotasks()
  })

  test('as it is ended is not tried again, and leaves the next one alone', async () => {
    const work = Promise.withResolvers<void>()
    const bench = warmUpsOf({
      name: 'a',
      warms: async (warm, instance) => {
        if (instance === 1) void warm.spawn('rest', () => work.promise)
      },
    })
    bench.warmUps.begin('following')
    await bench.clock.runAllMicrotasks()
    const ended = bench.warmUps.end('somebody else leads')
    work.reject(err)
    await bench.clock.runAllMicrotasks()
    await ended
    expect(bench.clock.pendingTimers).toBe(0)
    bench.warmUps.begin('following')
    await bench.clock.advance(60_000)
    expect(countOf(bench)).toBe(2)
  })

  test('after it was ready is a failure like others', async () => {
    const cache = Promise.withResolvers<void>()
    const bench = warmUpsOf({
      name: 'a',
      warms: async (warm, instance) => {
        if (instance === 1) void warm.spawn('cache', () => cache.promise).catch(() => {})
      },
    })
    bench.warmUps.begin('following')
    await bench.clock.runAllMicrotasks()
    cache.reject(err)
    await bench.clock.advance(199)
    expect([countOf(bench), bench.warmUps.areReady]).toEqual([1, false])
    await bench.clock.advance(1)
    expect([countOf(bench), bench.warmUps.areReady]).toEqual([2, true])
    expect(bench.log.filter((entry) => entry !== 'cleaning')).toEqual([
      ['a', { kind: 'ready' }],
      ['a', { kind: 'failed', error: err }],
      ['a', { kind: 'ready' }],
    ])
  })

  test('while it ends has only a line in the log', async () => {
    for (const isReady of [true, false]) {
      const bench = warmUpsOf({
        name: 'a',
        warms: async (warm) => {
          const rest = warm.spawn('cache', () => untilOver(warm).catch(() => Promise.reject(err)))
          if (!isReady) await rest.catch(() => untilOver(warm))
        },
      })
      bench.warmUps.begin('following')
      await bench.clock.runAllMicrotasks()
      const before = bench.log.length
      // The term that takes it over ends it. Nobody else has heard of it since.
      const [taken] = bench.warmUps.current.values()
      if (isReady) bench.warmUps.handOver()
      else void bench.warmUps.end('somebody else leads')
      taken?.end('the term is over')
      await taken?.join()
      const lines = bench.log.slice(before).filter((entry) => Array.isArray(entry) && entry[0] === 'error')
      expect(lines).toEqual([
        ['error', { lease: 'lease', controller: 'a', task: 'cache', err }, 'task failed while its warm-up ended'],
      ])
      await bench.clock.advance(60_000)
      expect(countOf(bench)).toBe(1)
    }
  })
})

describe('A factory', () => {
  test('that fails is tried again later, and its controller has a name by its place', async () => {
    let builds = 0
    const error = new Error('no database')
    const factory = (): Controller => {
      builds += 1
      if (builds < 3) throw error
      return { name: 'b', run: untilEnd }
    }
    const bench = warmUpsOf({ name: 'a' }, { name: 'b', factory })
    bench.warmUps.begin('following')
    const failed = ['controller-2', { kind: 'failed', error }]
    expect([bench.log, bench.warmUps.current.size]).toEqual([[failed], 1])
    await bench.clock.advance(200)
    expect(bench.log).toEqual([failed, failed])
    await bench.clock.advance(400)
    expect(bench.log).toEqual([failed, failed, ['b', { kind: 'ready' }]])
    expect(bench.unusable).toEqual([])
  })

  test('whose controller can never run is reported, and not tried again', async () => {
    let builds = 0
    const factory = (): Controller => ((builds += 1), { name: 'no name', run: untilEnd })
    const bench = warmUpsOf({ name: 'a', factory })
    bench.warmUps.begin('following')
    await bench.clock.advance(60_000)
    expect([builds, bench.log]).toEqual([1, []])
    expect(bench.unusable).toMatchObject([{ code: 'BAD_OPTIONS' }])
  })
})

test('The cleanups of a warm-up are reported, and when they take too long', async () => {
  const cleaned = Promise.withResolvers<void>()
  const bench = warmUpsOf({
    name: 'a',
    warms: async (warm) => {
      warm.defer(() => cleaned.promise)
      await untilOver(warm)
    },
  })
  bench.warmUps.begin('following')
  const over = bench.warmUps.end('somebody else leads')
  await bench.clock.advance(999)
  expect(bench.log).toEqual([['a', { kind: 'cancelled' }], 'cleaning'])
  await bench.clock.advance(1)
  expect(bench.log.at(-1)).toBe('cleanup overdue')
  cleaned.resolve()
  await over
  expect(bench.clock.pendingTimers).toBe(0)
})

test('A stop without warm-ups wedges nothing', async () => {
  const bench = warmUpsOf({ name: 'a', warms: () => never() })
  await bench.warmUps.stop()
  await bench.clock.advance(60_000)
  expect([bench.wedged, bench.log]).toEqual([[], []])
})
