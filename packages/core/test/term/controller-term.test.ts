import { getEventListeners } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { HealthRegistry } from '../../src/health/health-registry.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import { ControllerTerm } from '../../src/term/controller-term.ts'
import { Leadership, NotHeldError } from '../../src/term/leadership.ts'
import { ScopeClosedError } from '../../src/term/task-scope.ts'
import type { StepDownOptions } from '../../src/term/term.ts'

const ENDED = new LeadershipEndedError('step-down', 7n)

function createTerm({ leads = true, logger }: { readonly leads?: boolean; readonly logger?: Logger } = {}) {
  const clock = new VirtualClock()
  const failures: unknown[] = []
  const stepDowns: StepDownOptions[] = []
  const leadership = leads ? new Leadership({ epoch: 7n, lease: 'lease', validUntil: 1000, clock }) : undefined
  const term = new ControllerTerm({
    controller: 'janitor',
    lease: 'lease',
    leadership,
    clock,
    onTaskFailure: (error) => failures.push(error),
    onIdle: () => {},
    onStepDown: (options) => stepDowns.push(options),
    ...(logger && { logger }),
  })
  onTestFinished(async () => {
    term.hardAbort(ENDED)
    leadership?.closeGate('step-down')
    await clock.advance(1000)
  })
  const timers = leads ? clock.pendingTimers : 0
  return { clock, term, leadership, failures, stepDowns, ownTimers: () => clock.pendingTimers - timers }
}

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('A term', () => {
  test('answers whether it is held by the clock', () => {
    const { clock, term } = createTerm()
    expect(() => term.assertHeld()).not.toThrow()
    expect(term.remainingMs()).toBe(1000)
    clock.stall(1000)
    expect(term.isHeld()).toBe(false)
    expect(() => term.assertHeld()).toThrow(NotHeldError)
  })

  test('of a controller that needs no leadership is never held and has epoch 0', () => {
    const { term } = createTerm({ leads: false })
    expect(term.epoch).toBe(0n)
    expect(term.isHeld()).toBe(false)
    expect(term.gateSignal.aborted).toBe(true)
  })

  test('hands its soft signal to tasks, and its hard one to those that finish on drain', async () => {
    const { term } = createTerm()
    const signals: AbortSignal[] = []
    await term.spawn('soft', (signal) => signals.push(signal))
    await term.spawn('hard', (signal) => signals.push(signal), { finishOnDrain: true })
    expect(signals).toEqual([term.signal, term.hardSignal])
    term.end(ENDED)
    expect([term.signal.aborted, term.hardSignal.aborted]).toEqual([true, false])
    term.hardAbort(ENDED)
    expect(term.hardSignal.reason).toBe(ENDED)
  })

  test('refuses work once it has begun to end, and says why it ends', () => {
    const { term } = createTerm()
    term.end(ENDED)
    expect(() => term.spawn('late', () => {})).toThrow(ScopeClosedError)
    expect(() => term.spawn('late', () => {})).toThrow(expect.objectContaining({ cause: ENDED }))
  })

  test('refuses health checks when nothing of it is left, and says where to register them', () => {
    const { term } = createTerm()
    term.over()
    expect(() => term.health.register('cache', () => {})).toThrow(
      'The health checks belong to a run of controller `janitor` that has ended (lease `lease`, epoch 7): ' +
        'register them in every run with `term.health`',
    )
  })

  test('takes no failure for a consequence of its end before it ends', () => {
    const { term } = createTerm()
    const aborted = new DOMException('aborted', 'AbortError')
    expect(term.isEchoOfEnd(aborted)).toBe(false)
    term.end(ENDED)
    expect(term.isEchoOfEnd(aborted)).toBe(true)
  })

  test.each<[string, unknown, boolean]>([
    ['the reason of its signals', ENDED, true],
    ['a refusal of new work', new ScopeClosedError('task', 'janitor'), true],
    ['an abort', new DOMException('aborted', 'AbortError'), true],
    ['an error that was caused by the reason', new Error('wrapped', { cause: ENDED }), true],
    ['an error that was caused by another one', new Error('wrapped', { cause: new Error('other') }), false],
    ['any other error', new Error('disk full'), false],
    ['a value with the name of an abort', { name: 'AbortError' }, false],
    ['nothing', undefined, false],
    [
      'an error that cannot be read',
      Object.defineProperty(new Error('odd'), 'name', { get: () => expect.fail('no name') }),
      false,
    ],
  ])('takes %s as it is while it ends', (_, error, isEcho) => {
    const { term } = createTerm()
    term.end(ENDED)
    expect(term.isEchoOfEnd(error)).toBe(isEcho)
  })

  test('says why it may not act', () => {
    const { term, leadership } = createTerm()
    leadership?.closeGate('step-down')
    expect(() => term.assertHeld()).toThrow(
      'Controller `janitor` may not act: `lease` is not held by the term with epoch 7',
    )
    const outside = createTerm({ leads: false }).term
    expect(() => outside.assertHeld()).toThrow('Controller `janitor` may not act: it runs outside of a term')
    expect(outside.gateSignal.reason).toMatchObject({
      code: 'NOT_HELD',
      message: 'Controller `janitor` may not act: it runs outside of a term',
    })
    expect(outside.remainingMs()).toBe(0)
  })

  test('starts nothing once its time is up, although nothing has ended it yet', async () => {
    const { clock, term } = createTerm()
    clock.stall(1000)
    expect(() => term.spawn('late', () => {})).toThrow(ScopeClosedError)
    expect(() => term.every(10, () => {})).toThrow('Task `every 10 ms` of controller `janitor` was refused')
    expect([term.signal.aborted, term.taskCount]).toEqual([false, 0])
  })

  test('starts whatever it is asked to where it needs no leadership', async () => {
    const { term } = createTerm({ leads: false })
    await expect(term.spawn('work', () => 7)).resolves.toBe(7)
    expect([term.admits(), term.leadership, term.inherited, term.predecessor]).toEqual([
      true,
      undefined,
      undefined,
      undefined,
    ])
    expect(() => term.bequeath(1)).toThrow(NotHeldError)
  })

  test('follows the leadership of the run that takes it over', () => {
    const { term } = createTerm({ leads: false })
    const other = createTerm()
    term.follow(other.leadership)
    expect([term.admits(), term.leadership, term.isHeld()]).toEqual([true, other.leadership, false])
    other.clock.stall(1000)
    expect(term.admits()).toBe(false)
    expect(() => term.spawn('late', () => {})).toThrow(ScopeClosedError)
  })

  test('notes when the controller last made progress', async () => {
    const { clock, term } = createTerm()
    await clock.advance(5)
    expect(term.progressedAt).toBe(0)
    term.progress()
    expect(term.progressedAt).toBe(5)
  })

  test('uses the health checks of its warm-up', () => {
    const health = new HealthRegistry()
    const options = { controller: 'janitor', lease: 'lease', leadership: undefined, clock: new VirtualClock(), health }
    const drop = () => {}
    const term = new ControllerTerm({ ...options, onTaskFailure: drop, onIdle: drop, onStepDown: drop })
    expect(term.health).toBe(health)
    expect(term.logger.info({}, 'dropped')).toBeUndefined()
  })

  test('passes a step-down on', () => {
    const { term, stepDowns } = createTerm()
    term.stepDown({ cooldownMs: 5 })
    term.stepDown()
    expect(stepDowns).toEqual([{ cooldownMs: 5 }, {}])
  })

  test('passes no step-down on once its gate has closed: the replica may have another term', () => {
    const { term, leadership, stepDowns } = createTerm()
    leadership?.closeGate('step-down')
    term.stepDown()
    expect(stepDowns).toEqual([])
  })

  test('names its lease, its controller and its epoch in every log line, and no epoch where it has none', () => {
    const children: unknown[] = []
    const logger: Logger = {
      ...silentLogger,
      child: (bindings) => {
        children.push(bindings)
        return silentLogger
      },
    }
    for (const leads of [true, false]) createTerm({ leads, logger }).term.logger.info({}, 'line')
    expect(children).toEqual([
      { lease: 'lease', controller: 'janitor', epoch: 7n },
      { lease: 'lease', controller: 'janitor' },
    ])
  })

  test('refuses options of a task that it does not know, and a choice that is neither true nor false', async () => {
    const { term } = createTerm()
    const spawn = (options: object) => term.spawn('task', (signal) => signal, options)
    expect(() => spawn({ finishOnDran: true })).toThrow(
      'Unknown option `finishOnDran` in `term.spawn()`; did you mean `finishOnDrain`?',
    )
    expect(() => spawn({ finishOnDrain: 1 })).toThrow('Expected `finishOnDrain` to be true or false, got `1`')
    expect(await spawn({ finishOnDrain: false })).toBe(term.signal)
  })
})

describe('term.sleep', () => {
  test('resolves after its time and leaves neither timer nor listener', async () => {
    const { clock, term, ownTimers } = createTerm()
    const slept = term.sleep(100)
    expect([ownTimers(), listeners(term.signal)]).toEqual([1, 1])
    await clock.advance(100)
    await slept
    expect([ownTimers(), listeners(term.signal)]).toEqual([0, 0])
  })

  test('rejects with the reason of the end and leaves neither timer nor listener', async () => {
    const { term, ownTimers } = createTerm()
    const slept = term.sleep(100)
    term.end(ENDED)
    await expect(slept).rejects.toBe(ENDED)
    expect([ownTimers(), listeners(term.signal)]).toEqual([0, 0])
  })

  test('rejects at once when the term has ended before', async () => {
    const { term, ownTimers } = createTerm()
    term.end(ENDED)
    await expect(term.sleep(100)).rejects.toBe(ENDED)
    expect(ownTimers()).toBe(0)
  })

  test('does not resolve once the time of the term is up, but rejects when the term ends', async () => {
    const { clock, term } = createTerm()
    let outcome: unknown
    term.sleep(1000).then(
      () => (outcome = 'slept'),
      (error: unknown) => (outcome = error),
    )
    clock.stall(1000)
    await clock.advance(0)
    expect(outcome).toBeUndefined()
    term.end(ENDED)
    await clock.runAllMicrotasks()
    expect(outcome).toBe(ENDED)
  })

  test('leaves nothing behind however often it is called', async () => {
    const { clock, term } = createTerm()
    for (let round = 0; round < 200; round++) {
      const slept = term.sleep(1)
      await clock.advance(1)
      await slept
    }
    expect(listeners(term.signal)).toBe(0)
  })
})

describe('A task that is stuck', () => {
  test('is reported with the wait of its term that it came from, also after several of them', async () => {
    const { clock, term } = createTerm()
    const stuck = Promise.withResolvers<void>()
    void term.spawn('export', async () => {
      await term.sleep(10)
      await term.sleep(20)
      await stuck.promise
    })
    void term.spawn('import', () => stuck.promise)
    void term.every(5, () => stuck.promise)
    void term.every(30, () => {})
    await clock.advance(100)
    expect(term.scope.liveTasks().map(({ name, waitsOn }) => [name, waitsOn])).toEqual([
      ['export', 'term.sleep 20 ms'],
      ['import', undefined],
      ['every 5 ms', 'the work of term.every 5 ms'],
      ['every 30 ms', 'the pause of term.every 30 ms'],
    ])
    stuck.resolve()
  })
})

describe('term.every', () => {
  test('works at once and then again after each pause, counted from the end of the work', async () => {
    const { clock, term } = createTerm()
    const times: number[] = []
    void term.every(100, async () => {
      times.push(clock.now())
      await term.sleep(50)
    })
    await clock.advance(400)
    expect(times).toEqual([0, 150, 300])
  })

  test('resolves when the term ends, also in the middle of a pause, and leaves no timer or listener', async () => {
    const { clock, term, failures, ownTimers } = createTerm()
    const loop = term.every(100, () => {})
    await clock.advance(50)
    term.end(ENDED)
    await loop
    expect(failures).toEqual([])
    expect([ownTimers(), listeners(term.signal), term.scope.size]).toEqual([0, 0, 0])
  })

  test('works no more once the time of the term is up', async () => {
    const { clock, term } = createTerm()
    let calls = 0
    const loop = term.every(100, () => {
      calls += 1
      clock.stall(1000)
    })
    await clock.advance(1000)
    expect(calls).toBe(1)
    term.end(ENDED)
    await loop
  })

  test('lets the work that is under way finish, and does not call it again', async () => {
    const { clock, term } = createTerm()
    const work = Promise.withResolvers<void>()
    let calls = 0
    const loop = term.every(100, () => {
      calls += 1
      return work.promise
    })
    await clock.runAllMicrotasks()
    term.end(ENDED)
    await clock.advance(1000)
    expect(term.scope.size).toBe(1)
    work.resolve()
    await loop
    expect(calls).toBe(1)
  })

  test('rejects when the work does, and stops', async () => {
    const { clock, term, failures } = createTerm()
    const loop = term.every(100, () => Promise.reject(new Error('broken')))
    await expect(loop).rejects.toThrow('broken')
    await clock.advance(1000)
    expect(failures).toEqual([new Error('broken')])
  })

  test('refuses an interval that is not a duration', () => {
    const { term } = createTerm()
    expect(() => term.every(Number.NaN, () => {})).toThrow('Expected `intervalMs` to be a number of milliseconds')
  })
})

describe('term.defer', () => {
  test('runs after the tasks have ended', async () => {
    const { term } = createTerm()
    const log: string[] = []
    term.defer(() => log.push('cleanup'))
    void term.spawn('task', async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      log.push('task')
    })
    term.end(ENDED)
    await term.scope.join()
    expect(log).toEqual(['task', 'cleanup'])
  })

  test('runs with a closed gate where the time of the term was over before, though no timer has noticed', async () => {
    const { clock, term } = createTerm()
    const seen: boolean[] = []
    term.defer(() => seen.push(term.gateSignal.aborted))
    term.end(ENDED)
    clock.stall(1000)
    await term.scope.join()
    expect(seen).toEqual([true])
  })
})

describe('A time that is no number of milliseconds', () => {
  const NO_TIMES: readonly unknown[] = [
    undefined,
    null,
    NaN,
    -1,
    Infinity,
    -Infinity,
    '1000',
    10n,
    {},
    [],
    new Date(0),
    Object.create(null),
  ]

  test.each(['sleep', 'every', 'timeout'] as const)('is refused by `term.%s()`, which starts nothing', (method) => {
    for (const value of NO_TIMES) {
      const { term, ownTimers } = createTerm()
      const work = (): never => expect.fail('it was called')
      expect(() => term[method](value as number, work)).toThrow(
        /^Expected `(delayMs|intervalMs)` to be a number of milliseconds of at least 0, got `/,
      )
      expect([term.taskCount, ownTimers()]).toEqual([0, 0])
    }
  })

  test('is shown with its type where it looks like one', () => {
    const { term } = createTerm()
    expect(() => term.sleep('1000' as unknown as number)).toThrow('got `1000` (string)')
    expect(() => term.sleep(1000n as unknown as number)).toThrow('got `1000` (bigint)')
  })
})

describe('A wrong argument of a call without TypeScript', () => {
  const work = (): undefined => undefined
  const name = 'job'

  test.each<[call: string, wrong: string, expected: 'text' | 'function', args: readonly unknown[]]>([
    ['term.spawn(name, work)', 'name', 'text', [7, work]],
    ['term.spawn(name, work)', 'work', 'function', [name, 7]],
    ['term.every(intervalMs, work)', 'work', 'function', [1000, 7]],
    ['term.timeout(delayMs, work)', 'work', 'function', [1000, 7]],
    ['term.acquire(name, open, close)', 'name', 'text', [7, work, work]],
    ['term.acquire(name, open, close)', 'open', 'function', [name, 7, work]],
    ['term.acquire(name, open, close)', 'close', 'function', [name, work, 7]],
    ['term.child(name, start)', 'name', 'text', [7, work]],
    ['term.child(name, start)', 'start', 'function', [name, 7]],
    ['term.worker(name, start)', 'name', 'text', [7, work]],
    ['term.worker(name, start)', 'start', 'function', [name, 7]],
    ['term.serve(name, server, listen)', 'name', 'text', [7, createServer(), { port: 0 }]],
    ['term.defer(cleanup)', 'cleanup', 'function', [7]],
    ['term.listen(target, event, listener)', 'listener', 'function', [new EventTarget(), 'event', 7]],
  ])('of `%s` is named: `%s`, where a %s is expected, and nothing starts', (call, wrong, expected, args) => {
    const { term, ownTimers } = createTerm()
    const method = Reflect.get(term, /\.(\w+)/.exec(call)?.[1] ?? '') as (...given: readonly unknown[]) => unknown
    expect(() => method.call(term, ...args)).toThrow(
      `Expected \`${wrong}\` of \`${call}\` to be a ${expected}, got \`7\``,
    )
    expect([term.taskCount, ownTimers()]).toEqual([0, 0])
  })
})
