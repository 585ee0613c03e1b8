import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { ScopeClosedError, TaskScope, taskScopeOf } from '../../src/term/task-scope.ts'
import { never } from '../support/never.ts'

interface Failure {
  readonly error: unknown
  readonly task: string
}

function createScope() {
  const clock = new VirtualClock()
  const failures: Failure[] = []
  let idle = 0
  const scope = new TaskScope({
    controller: 'janitor',
    clock,
    onFailure: (error, task) => failures.push({ error, task }),
    onIdle: () => (idle += 1),
  })
  return { clock, scope, failures, idleCount: () => idle }
}

/** Whether a promise has settled by now. */
async function isSettled(promise: Promise<unknown>, clock: VirtualClock): Promise<boolean> {
  let settled = false
  void promise.finally(() => (settled = true)).catch(() => {})
  await clock.runAllMicrotasks()
  return settled
}

describe('TaskScope', () => {
  test('hands back what the work resolves with', async () => {
    const { scope } = createScope()
    await expect(scope.spawn('sum', async () => 40 + 2)).resolves.toBe(42)
    await expect(scope.spawn('plain', () => 'value')).resolves.toBe('value')
  })

  test('tracks the promise of the work although the caller races it against something faster', async () => {
    const { scope, clock } = createScope()
    const work = Promise.withResolvers<void>()
    await Promise.race([scope.spawn('slow', () => work.promise), Promise.resolve()])
    expect(scope.size).toBe(1)
    const joined = scope.join()
    expect(await isSettled(joined, clock)).toBe(false)
    work.resolve()
    await joined
    expect(scope.size).toBe(0)
  })

  test('reports a rejection once, and does not fail the process for a rejection without a handler', async () => {
    const { scope, failures, clock } = createScope()
    const error = new Error('boom')
    void scope.spawn('bad', () => Promise.reject(error))
    await clock.runAllMicrotasks()
    expect(failures).toEqual([{ error, task: 'bad' }])
    expect(scope.size).toBe(0)
  })

  test('reports work that throws before it returns a promise like any other failure', async () => {
    const { scope, failures } = createScope()
    const task = scope.spawn('sync', () => {
      throw new Error('at once')
    })
    await expect(task).rejects.toThrow('at once')
    expect(failures).toHaveLength(1)
  })

  test('says when the last task of an open scope has settled, and not while one is left', async () => {
    const { scope, clock, idleCount } = createScope()
    const work = Promise.withResolvers<void>()
    void scope.spawn('short', () => {})
    void scope.spawn('long', () => work.promise)
    await clock.runAllMicrotasks()
    expect(idleCount()).toBe(0)
    work.resolve()
    await clock.runAllMicrotasks()
    expect(idleCount()).toBe(1)
  })

  test('refuses new work once it is closed, and lets the old work go on', async () => {
    const { scope, clock } = createScope()
    const work = Promise.withResolvers<void>()
    void scope.spawn('old', () => work.promise)
    scope.close()
    expect(() => scope.spawn('new', () => {})).toThrow(ScopeClosedError)
    expect(await isSettled(scope.join(), clock)).toBe(false)
    work.resolve()
    await scope.join()
  })

  test('refuses new work from a task that is still running when it closes', async () => {
    const { scope } = createScope()
    const gate = Promise.withResolvers<void>()
    const task = scope.spawn('late', async () => {
      await gate.promise
      return scope.spawn('later', () => {})
    })
    const joined = scope.join()
    gate.resolve()
    await expect(task).rejects.toThrow('Task `later` of controller `janitor` was refused')
    await joined
  })

  test('runs cleanups after the last task, last in first out, each to its end before the next', async () => {
    const { scope } = createScope()
    const log: string[] = []
    for (const name of ['first', 'second']) {
      scope.defer(async () => {
        log.push(`${name} begins`)
        await Promise.resolve()
        log.push(`${name} ends`)
      })
    }
    void scope.spawn('task', async () => {
      await Promise.resolve()
      log.push('task ends')
    })
    await scope.join()
    expect(log).toEqual(['task ends', 'second begins', 'second ends', 'first begins', 'first ends'])
  })

  test('runs the other cleanups when one fails, and reports the failure', async () => {
    const { scope, failures } = createScope()
    const log: string[] = []
    scope.defer(() => log.push('ran'))
    scope.defer(() => Promise.reject(new Error('cleanup broke')))
    await scope.join()
    expect(log).toEqual(['ran'])
    expect(failures).toMatchObject([{ task: 'cleanup' }])
  })

  test('runs a cleanup that a cleanup registers', async () => {
    const { scope } = createScope()
    const log: string[] = []
    scope.defer(() => {
      log.push('outer')
      scope.defer(() => log.push('inner'))
    })
    await scope.join()
    expect(log).toEqual(['outer', 'inner'])
  })

  test('refuses a cleanup once the cleanups have run', async () => {
    const { scope } = createScope()
    await scope.join()
    expect(() => scope.defer(() => {})).toThrow(ScopeClosedError)
  })

  test('refuses a cleanup also after it was joined or closed again', async () => {
    const { scope } = createScope()
    await scope.join()
    await scope.join()
    scope.close()
    expect(() => scope.defer(() => {})).toThrow('Task `cleanup` of controller `janitor` was refused')
  })

  test('is cleaning from its last task on until its cleanups have run', async () => {
    const { scope, clock } = createScope()
    const [work, cleanup] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    void scope.spawn('work', () => work.promise)
    scope.defer(() => cleanup.promise)
    const joined = scope.join()
    expect(scope.isCleaning).toBe(false)
    work.resolve()
    await clock.runAllMicrotasks()
    expect([scope.isCleaning, scope.size]).toEqual([true, 1])
    cleanup.resolve()
    await joined
    expect(scope.isCleaning).toBe(false)
  })

  test('is idle only while it is open', async () => {
    const { scope, idleCount } = createScope()
    scope.defer(() => {})
    void scope.spawn('work', () => {})
    await scope.join()
    expect(idleCount()).toBe(0)
  })

  test('asks for the time of cleanups when there are any, and leaves no timer', async () => {
    const clock = new VirtualClock()
    const asked: number[] = []
    const scopeOf = () =>
      new TaskScope({
        controller: 'janitor',
        clock,
        onFailure: () => {},
        cleanupBudgetMs: () => (asked.push(clock.now()), 1000),
      })
    await scopeOf().join()
    expect(asked).toEqual([])
    const scope = scopeOf()
    await clock.advance(5)
    scope.defer(() => expect(clock.pendingTimers).toBe(1))
    await scope.join()
    expect([asked, clock.pendingTimers]).toEqual([[5], 0])
  })

  test('gives cleanups without a limit a signal that never aborts', async () => {
    const { scope, clock } = createScope()
    const signals: AbortSignal[] = []
    scope.defer((signal) => signals.push(signal))
    await scope.join()
    await clock.advance(1e9)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  test('aborts the signal of cleanups after half of their time, and says when all of it is up', async () => {
    const clock = new VirtualClock()
    const log: string[] = []
    const scope = new TaskScope({
      controller: 'janitor',
      clock,
      onFailure: () => {},
      cleanupBudgetMs: () => 1000,
      onCleaning: () => log.push('cleaning'),
      onCleanupOverdue: () => log.push('overdue'),
    })
    const cleanup = Promise.withResolvers<void>()
    const signals: AbortSignal[] = []
    scope.defer((signal) => (signals.push(signal), cleanup.promise))
    const joined = scope.join()
    await clock.advance(499)
    expect([log, signals[0]?.aborted]).toEqual([['cleaning'], false])
    await clock.advance(1)
    expect(signals[0]?.reason).toMatchObject({
      code: 'CLEANUP_TIMEOUT',
      message: 'The cleanups of controller `janitor` must end now: half of their 1000 ms is up',
    })
    await clock.advance(499)
    expect(log).toEqual(['cleaning'])
    await clock.advance(1)
    expect(log).toEqual(['cleaning', 'overdue'])
    cleanup.resolve()
    await joined
    expect(clock.pendingTimers).toBe(0)
  })

  test('knows where a thousand names were started first, and no more', async () => {
    const { scope } = createScope()
    for (let index = 0; index <= 1000; index++) void scope.spawn(`task ${index}`, never)
    void scope.spawn('task 0', never)
    const places = scope.liveTasks().map(({ spawnedAt }) => spawnedAt)
    expect(places[999]).toMatch(/task-scope\.test\.ts:\d+:\d+$/)
    expect(places[1000]).toBe('unknown')
    expect(places[1001]).toBe(places[0])
  })

  test('is that of the code that it runs, and of all that this starts, until it is over', async () => {
    const { scope } = createScope()
    const later = Promise.withResolvers<void>()
    const found: unknown[] = []
    const started = later.promise
    await scope.enter(async () => {
      found.push(taskScopeOf())
      void started.then(() => found.push(taskScopeOf()))
    })
    expect(taskScopeOf()).toBeUndefined()
    expect([found, scope.controller]).toEqual([[scope], 'janitor'])
    await scope.join()
    later.resolve()
    await Promise.resolve()
    expect(found).toEqual([scope, undefined])
  })

  test('joins once: every caller waits for the same end', async () => {
    const { scope } = createScope()
    let cleanups = 0
    scope.defer(() => (cleanups += 1))
    await Promise.all([scope.join(), scope.join()])
    expect(cleanups).toBe(1)
  })

  test('names the tasks that are left with controller, age and the place where they were started', async () => {
    const { scope, clock } = createScope()
    await clock.advance(500)
    void scope.spawn('stuck', () => never())
    await clock.advance(1234)
    expect(scope.liveTasks()).toEqual([
      {
        name: 'stuck',
        controller: 'janitor',
        ageMs: 1234,
        spawnedAt: expect.stringMatching(/task-scope\.test\.ts:\d+:\d+$/),
      },
    ])
  })

  test('names a cleanup that is stuck by the place where it was deferred', async () => {
    const { scope, clock } = createScope()
    scope.defer(() => never())
    void scope.join()
    await clock.runAllMicrotasks()
    expect(scope.liveTasks()).toMatchObject([
      { name: 'cleanup', spawnedAt: expect.stringMatching(/task-scope\.test\.ts:\d+:\d+$/) },
    ])
  })

  test('tells what a stuck task waited on last, as far as that is known', async () => {
    const { scope, clock } = createScope()
    const wait = Promise.withResolvers<void>()
    let resumed = () => {}
    void scope.spawn('stuck', async () => {
      resumed = scope.waits('first')
      await wait.promise
      scope.waits('second')
      await never()
    })
    void scope.spawn('other', () => never())
    const waits = () => scope.liveTasks().map(({ waitsOn }) => waitsOn)
    expect(waits()).toEqual(['first', undefined])
    wait.resolve()
    resumed()
    await clock.runAllMicrotasks()
    expect(waits()).toEqual(['second', undefined])
    scope.waits('nobody knows whose')
    expect(waits()).toEqual(['second', undefined])
  })

  test('tells what a task waits on whose wait ended together with that of another', async () => {
    const { scope, clock } = createScope()
    const [first, second] = ['first', 'second'].map((name) => {
      const resumed: (() => void)[] = []
      void scope.spawn(name, () => (resumed.push(scope.waits('the beginning')), never()))
      return () => resumed[0]?.()
    })
    first?.()
    queueMicrotask(() => scope.waits('the end'))
    second?.()
    await clock.runAllMicrotasks()
    expect(scope.liveTasks().map(({ waitsOn }) => waitsOn)).toEqual(['the beginning', 'the end'])
  })

  test('holds nothing of a task that has settled', async () => {
    const { scope, clock } = createScope()
    for (let index = 0; index < 5000; index++) void scope.spawn(`task ${index}`, () => {})
    await clock.runAllMicrotasks()
    expect(scope.size).toBe(0)
    expect(scope.liveTasks()).toEqual([])
  })
})

describe('A task whose promise is not an ordinary one', () => {
  function createScope() {
    const failures: unknown[] = []
    const scope = new TaskScope({
      controller: 'janitor',
      clock: new VirtualClock(),
      onFailure: (error) => failures.push(error),
    })
    return { scope, failures }
  }

  test('is over when the promise is, whatever its own `then` says', async () => {
    const { scope, failures } = createScope()
    const { promise, resolve } = Promise.withResolvers<void>()
    // oxlint-disable-next-line unicorn/no-thenable -- that is the point
    void Object.defineProperty(promise, 'then', { value: (settle: () => void) => settle() })
    void scope.spawn('work', () => promise)
    await new Promise(setImmediate)
    expect(scope.size).toBe(1)
    resolve()
    await scope.join()
    expect(failures).toEqual([])
  })

  test('fails and stays where nobody can see its end', async () => {
    const { scope, failures } = createScope()
    // It can be read up to where the scope asks for its end.
    const isAskedForEnd = (): boolean => new Error('asked').stack?.includes('TaskScope.#watch') === true
    const blind = Object.defineProperty(Promise.resolve(), 'constructor', {
      get: () => {
        if (isAskedForEnd()) throw new Error('blind')
        return Promise
      },
    })
    void scope.spawn('work', () => blind)
    await new Promise(setImmediate)
    expect([scope.size, failures]).toEqual([1, [new Error('blind')]])
  })

  test('is over although the one who hears of its failure throws', async () => {
    const onUnhandled = (): void => {}
    process.on('unhandledRejection', onUnhandled)
    const onFailure = (): never => {
      throw new Error('deaf')
    }
    const scope = new TaskScope({ controller: 'janitor', clock: new VirtualClock(), onFailure })
    scope.spawn('work', () => Promise.reject(new Error('boom'))).catch(() => {})
    await scope.join()
    await new Promise(setImmediate)
    process.off('unhandledRejection', onUnhandled)
    expect(scope.size).toBe(0)
  })
})
