import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Controller, WarmUp } from '../../src/controller/controller.ts'
import { buildNext } from '../../src/controller/registration.ts'
import { resolveRestartOptions, type RestartOptions } from '../../src/controller/restart-options.ts'
import { ControllerSupervisor } from '../../src/controller/supervisor.ts'
import { ControllerWarmUp } from '../../src/controller/warm-up.ts'
import type { SupervisorObserver } from '../../src/controller/supervisor-observer.ts'
import { type ControllerFailedError, TerminalError } from '../../src/controller/terminal-error.ts'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import type { ControllerTerm } from '../../src/term/controller-term.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import { Leadership } from '../../src/term/leadership.ts'
import type { TermExtension } from '../../src/term/term-extension.ts'
import type { Term } from '../../src/term/term.ts'
import { never } from '../support/never.ts'

const ENDED = new LeadershipEndedError('step-down', 7n)

type Run = (term: Term, run: number) => Promise<void>

interface Settings {
  readonly progressTimeoutMs?: number
  readonly warmUpTimeoutMs?: number
  readonly cleanupBudgetMs?: number
  readonly logger?: Logger
  /** Until when this replica may act. @default long enough */
  readonly validUntil?: number
  /** @default true */
  readonly needsLeadership?: boolean
}

class Bench {
  readonly clock = new VirtualClock()
  readonly terms: Term[] = []
  readonly failures: { readonly error: unknown; readonly restartInMs: number | undefined }[] = []
  readonly whileEnding: unknown[] = []
  readonly gaveUp: ControllerFailedError[] = []
  readonly runsOver: Term[] = []
  readonly supervisor: ControllerSupervisor
  /** Tests may replace what it does. */
  readonly observer: { -readonly [K in keyof SupervisorObserver]: SupervisorObserver[K] }
  isDone = false
  overdueAt: number | undefined

  constructor(
    build: () => Controller,
    restart: RestartOptions = {},
    extensions: readonly TermExtension[] = [],
    options: Settings = {},
  ) {
    this.observer = {
      runBegan: (term) => this.terms.push(term),
      runOver: (term) => this.runsOver.push(term),
      failed: (error, restartInMs) => this.failures.push({ error, restartInMs }),
      failedWhileEnding: (error) => this.whileEnding.push(error),
      gaveUp: (error) => this.gaveUp.push(error),
      cleaning: () => {},
      cleanupOverdue: () => (this.overdueAt = this.clock.now()),
      stepDown: () => this.supervisor.end(ENDED),
    }
    const seen = new WeakSet<Controller>()
    const resolved = resolveRestartOptions(restart)
    this.supervisor = new ControllerSupervisor({
      name: 'janitor',
      lease: 'lease',
      build: () => buildNext({ factory: build }, seen),
      leadership:
        options.needsLeadership === false
          ? undefined
          : new Leadership({ epoch: 7n, lease: 'lease', validUntil: options.validUntil ?? 1e9, clock: this.clock }),
      ...(options.logger && { logger: options.logger }),
      clock: this.clock,
      random: () => 0,
      restart: resolved,
      progressTimeoutMs: options.progressTimeoutMs ?? Infinity,
      warmUpTimeoutMs: options.warmUpTimeoutMs ?? 1000,
      restartDrainMs: 5000,
      cleanupBudgetMs: () => options.cleanupBudgetMs ?? 2000,
      extensions,
      observer: this.observer,
    })
    void this.supervisor.done.then(() => (this.isDone = true))
    onTestFinished(async () => {
      this.supervisor.hardAbort(ENDED)
      await this.clock.runAllMicrotasks()
    })
  }

  static of(
    run: Run,
    restart: RestartOptions = {},
    extensions: readonly TermExtension[] = [],
    options: Settings = {},
  ): Bench {
    let runs = 0
    return new Bench(() => ({ name: 'janitor', run: (term) => run(term, ++runs) }), restart, extensions, options)
  }

  async start(): Promise<this> {
    this.supervisor.start()
    await this.clock.runAllMicrotasks()
    return this
  }
}

const untilEnd: Run = (term) => term.sleep(1e12)
const fails: Run = () => Promise.reject(new Error('boom'))

describe('A supervised controller', () => {
  test('runs until its term ends, and nothing of it is left then', async () => {
    const bench = await Bench.of(untilEnd).start()
    expect(bench.supervisor.liveTasks()).toMatchObject([{ name: 'run', controller: 'janitor' }])
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.supervisor.liveTasks()).toEqual([])
    expect(bench.runsOver).toEqual(bench.terms)
    expect([bench.failures, bench.whileEnding]).toEqual([[], []])
    expect(bench.clock.pendingTimers).toBe(1)
  })

  test('is not done before its last task has settled, although `run` has returned', async () => {
    const work = Promise.withResolvers<void>()
    const bench = await Bench.of(async (term) => {
      void term.spawn('work', () => work.promise)
      await untilEnd(term, 1)
    }).start()
    bench.supervisor.end(ENDED)
    await bench.clock.advance(1000)
    expect(bench.isDone).toBe(false)
    expect(bench.supervisor.liveTasks()).toMatchObject([{ name: 'work', ageMs: 1000 }])
    work.resolve()
    await bench.supervisor.done
  })

  test('whose `run` has returned while its tasks live is still at work', async () => {
    const work = Promise.withResolvers<void>()
    const bench = await Bench.of(async (term) => void term.spawn('work', () => work.promise)).start()
    await bench.clock.advance(60_000)
    expect(bench.failures).toEqual([])
    work.resolve()
    await bench.clock.runAllMicrotasks()
    expect(bench.failures).toMatchObject([{ error: { code: 'CONTROLLER_RETURNED' }, restartInMs: 200 }])
  })

  test('is restarted with a fresh instance and a fresh term after a failure, with growing pauses', async () => {
    const bench = await Bench.of(fails).start()
    await bench.clock.advance(200 + 400 + 800)
    expect(bench.failures.map(({ restartInMs }) => restartInMs)).toEqual([200, 400, 800, 1600])
    expect(new Set(bench.terms).size).toBe(4)
    expect(bench.terms.every((term) => term.epoch === 7n)).toBe(true)
  })

  test('is given up when it fails more often than the limit allows', async () => {
    const bench = await Bench.of(fails, { maxRestarts: 2, backoffMs: 10 }).start()
    await bench.clock.advance(60_000)
    expect(bench.terms).toHaveLength(3)
    expect(bench.gaveUp).toMatchObject([{ code: 'CONTROLLER_FAILED', controller: 'janitor', cause: new Error('boom') }])
    expect(bench.isDone).toBe(true)
  })

  test('may fail any number of times at long enough intervals', async () => {
    const bench = await Bench.of(
      async (term) => {
        await term.sleep(40_000)
        throw new Error('now and then')
      },
      { maxRestarts: 2, withinMs: 60_000 },
    ).start()
    await bench.clock.advance(3_600_000)
    expect(bench.gaveUp).toEqual([])
    expect(bench.terms.length).toBeGreaterThan(80)
  })

  test('is given up at once after a TerminalError', async () => {
    const bench = await Bench.of(() => Promise.reject(new TerminalError('no such table'))).start()
    expect(bench.failures).toMatchObject([{ restartInMs: undefined }])
    expect(bench.gaveUp).toHaveLength(1)
    expect(bench.terms).toHaveLength(1)
  })

  test('is given up at once when its factory returns the same instance again', async () => {
    const instance: Controller = { name: 'janitor', run: () => fails(bench.terms[0] as Term, 1) }
    const bench: Bench = new Bench(() => instance)
    await bench.start()
    await bench.clock.advance(1000)
    expect(bench.terms).toHaveLength(1)
    expect(bench.gaveUp).toMatchObject([{ cause: { code: 'BAD_OPTIONS' } }])
    expect(bench.gaveUp[0]?.message).toContain('build a new instance for every run')
  })

  test('whose factory throws is tried again like a controller that fails', async () => {
    let builds = 0
    const bench = new Bench(() => {
      builds += 1
      if (builds < 3) throw new Error('database is down')
      return { name: 'janitor', run: (term) => untilEnd(term, 1) }
    })
    await bench.start()
    await bench.clock.advance(10_000)
    expect(builds).toBe(3)
    expect(bench.failures).toHaveLength(2)
    expect(bench.supervisor.liveTasks()).toHaveLength(1)
  })

  test('fails when one of its tasks fails, and is not restarted before its other tasks have ended', async () => {
    const other = Promise.withResolvers<void>()
    const bench = await Bench.of(async (term, run) => {
      if (run === 1) {
        void term.spawn('other', () => other.promise)
        void term.spawn('bad', () => Promise.reject(new Error('task')))
      }
      await term.sleep(1e12)
    }).start()
    await bench.clock.advance(4000)
    expect(bench.terms).toHaveLength(1)
    expect(bench.terms[0]?.hardSignal.aborted).toBe(true)
    other.resolve()
    await bench.clock.advance(1000)
    expect(bench.failures).toMatchObject([{ error: new Error('task') }])
    expect(bench.terms).toHaveLength(2)
  })

  test('that does not end after a failure is given up, because it can never be restarted', async () => {
    const bench = await Bench.of(async (term) => {
      void term.spawn('stuck', never)
      throw new Error('boom')
    }).start()
    await bench.clock.advance(4999)
    expect(bench.gaveUp).toEqual([])
    await bench.clock.advance(1)
    expect(bench.gaveUp).toHaveLength(1)
    expect(bench.supervisor.liveTasks()).toMatchObject([{ name: 'stuck' }])
  })

  test('is not restarted after its term ended during the pause, and leaves no timer', async () => {
    const bench = await Bench.of(fails).start()
    expect(bench.clock.pendingTimers).toBe(2)
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.clock.pendingTimers).toBe(1)
    expect(bench.terms).toHaveLength(1)
  })

  test('ends without a failure when it throws the reason of its signal', async () => {
    const quiet: readonly Run[] = [
      untilEnd,
      async (term) => {
        await term.sleep(1e12).catch((cause: unknown) => {
          throw new Error('wrapped', { cause })
        })
      },
      async (term) => {
        await term.sleep(1e12).catch(() => {
          throw new DOMException('aborted', 'AbortError')
        })
      },
      async (term) => {
        await term.sleep(1e12).catch(() => term.spawn('too late', () => {}))
      },
    ]
    for (const run of quiet) {
      const bench = await Bench.of(run).start()
      bench.supervisor.end(ENDED)
      await bench.supervisor.done
      expect(bench.whileEnding).toEqual([])
    }
  })

  test('has what fails while it ends reported, and nothing follows from it', async () => {
    const bench = await Bench.of(async (term) => {
      await term.sleep(1e12).catch(() => {
        throw new Error('disk full')
      })
    }).start()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.whileEnding).toEqual([new Error('disk full')])
    expect([bench.failures, bench.gaveUp]).toEqual([[], []])
  })

  test('that steps down in its first line takes no new work, and drains to its end', async () => {
    const work = Promise.withResolvers<void>()
    const bench = await Bench.of(async (term) => {
      void term.spawn('in flight', () => work.promise, { finishOnDrain: true })
      term.stepDown()
      await work.promise
    }).start()
    await bench.clock.advance(1000)
    expect(bench.terms[0]?.signal.aborted).toBe(true)
    expect(bench.terms[0]?.hardSignal.aborted).toBe(false)
    work.resolve()
    await bench.supervisor.done
    expect(bench.terms[0]?.hardSignal.aborted).toBe(false)
    expect(bench.failures).toEqual([])
  })

  test('has its health checks taken out when the run is over', async () => {
    const bench = await Bench.of(async (term) => {
      term.health.register('cache', () => {})
      await term.sleep(1e12)
    }).start()
    const [term] = bench.terms
    expect(term?.health.names).toEqual(['cache'])
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(term?.health.names).toEqual([])
    expect(() => term?.health.register('late', () => {})).toThrow(
      expect.objectContaining({
        code: 'TERM_ENDED',
        message: expect.stringContaining('run of controller `janitor` that has ended (lease `lease`, epoch 7)'),
      }),
    )
  })

  test('has every failure reported when several tasks fail at once: one as why the run failed, none dropped', async () => {
    const bench = await Bench.of(
      async (term) => {
        for (const name of ['a', 'b', 'c']) void term.spawn(name, () => Promise.reject(new Error(name))).catch(() => {})
        await term.sleep(1e12)
      },
      { maxRestarts: 0 },
    ).start()
    expect(bench.failures).toMatchObject([{ error: new Error('a') }])
    expect(bench.whileEnding).toEqual([new Error('b'), new Error('c')])
  })

  test('leaves no listener on the signals of its term', async () => {
    const bench = await Bench.of(untilEnd).start()
    const [term] = bench.terms
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    for (const signal of [term?.signal, term?.hardSignal, term?.gateSignal]) {
      expect(signal === undefined ? -1 : getEventListeners(signal, 'abort').length).toBe(0)
    }
  })
})

describe('A term extension', () => {
  test('is attached before the controller runs and detached after its last task and cleanup, in reverse order', async () => {
    const log: string[] = []
    const extension = (name: string): TermExtension => ({
      attach: () => {
        log.push(`attach ${name}`)
        return () => log.push(`detach ${name}`)
      },
    })
    const bench = await Bench.of(
      async (term) => {
        log.push('run')
        term.defer(() => log.push('cleanup'))
        await term.sleep(1e12)
      },
      {},
      [extension('a'), extension('b')],
    ).start()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(log).toEqual(['attach a', 'attach b', 'run', 'cleanup', 'detach b', 'detach a'])
  })

  test('that throws fails the run, and those attached before are detached', async () => {
    const log: string[] = []
    const bench = await Bench.of(untilEnd, { maxRestarts: 0 }, [
      { attach: () => () => log.push('detached') },
      {
        attach: () => {
          throw new Error('no registry')
        },
      },
    ]).start()
    expect(log).toEqual(['detached'])
    expect(bench.gaveUp).toMatchObject([{ cause: new Error('no registry') }])
  })

  test('that throws when it is detached stops neither the others nor the end of the run', async () => {
    const log: string[] = []
    const bench = await Bench.of(untilEnd, {}, [
      { attach: () => () => log.push('detached') },
      {
        attach: () => () => {
          throw new Error('stuck registry')
        },
      },
    ]).start()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(log).toEqual(['detached'])
    expect(bench.runsOver).toHaveLength(1)
    expect(bench.whileEnding).toEqual([new Error('stuck registry')])
  })
})

describe('A run that failed', () => {
  const stuck: Run = async (term) => {
    void term.spawn('stuck', never)
    throw new Error('boom')
  }

  test('is reported at once, however long it takes to end', async () => {
    const bench = await Bench.of(stuck).start()
    expect(bench.failures).toEqual([{ error: new Error('boom'), restartInMs: 200 }])
  })

  test('is aborted at once, because what it does is of no use', async () => {
    const bench = await Bench.of(stuck).start()
    expect(bench.terms[0]?.hardSignal.aborted).toBe(true)
  })

  test('and does not end in time is given up with what failed and what is left', async () => {
    const bench = await Bench.of(stuck).start()
    await bench.clock.advance(5000)
    const message = bench.gaveUp[0]?.message
    expect(message).toMatch(
      /: boom; its run has not ended within 5000 ms, still running: janitor\/stuck \(5000 ms, .+\)$/,
    )
    expect(bench.failures.slice(1)).toEqual([{ error: bench.gaveUp[0], restartInMs: undefined }])
    expect(bench.gaveUp[0]?.cause).toEqual(new Error('boom'))
  })

  test('and must end at the same moment is reported among the failures of the end', async () => {
    const bench = Bench.of(async (term) => {
      void term.spawn('late', () => Promise.reject(new Error('boom')))
      await untilEnd(term, 1)
    })
    bench.supervisor.start()
    await Promise.resolve()
    await Promise.resolve()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect([...bench.failures.map(({ error }) => error), ...bench.whileEnding]).toEqual([new Error('boom')])
  })

  test('is restarted at once, as often as that is allowed, where the pause is 0', async () => {
    let runs = 0
    const bench = Bench.of(() => (++runs < 1200 ? fails(bench.terms[0] as Term, runs) : never()), {
      backoffMs: 0,
      maxRestarts: 5000,
    })
    await bench.start()
    await bench.clock.advance(10)
    expect(runs).toBe(1200)
    expect(bench.failures.every(({ restartInMs }) => restartInMs === 0)).toBe(true)
  })
})

describe('A supervision whose observer throws', () => {
  test.each(['runBegan', 'failed', 'runOver', 'gaveUp', 'cleanupOverdue', 'failedWhileEnding'] as const)(
    'in `%s` is not done before its last task has ended',
    async (hook) => {
      const work = Promise.withResolvers<void>()
      const bench = Bench.of(
        async (term) => {
          void term.spawn('work', () => work.promise)
          throw new Error('boom')
        },
        { maxRestarts: 0 },
      )
      bench.observer[hook] = () => {
        throw Object.create(null)
      }
      await bench.start()
      bench.supervisor.hardAbort(ENDED)
      await bench.clock.advance(1000)
      // A run whose beginning was refused has no task.
      expect(bench.isDone).toBe(hook === 'runBegan')
      work.resolve()
      await bench.supervisor.done
      expect(bench.supervisor.liveTasks()).toEqual([])
    },
  )
})

/** A controller that is warming up, and the two signals and the health checks of that. */
function warming(clock: VirtualClock, warmUp: NonNullable<Controller['warmUp']>) {
  const warms: WarmUp[] = []
  const controller: Controller = {
    name: 'janitor',
    run: (term) => untilEnd(term, 1),
    warmUp: (warm) => (warms.push(warm), warmUp(warm)),
  }
  const started = new ControllerWarmUp({
    controller,
    name: 'janitor',
    lease: 'lease',
    clock,
    cleanupBudgetMs: () => 1000,
    onCleaning: () => {},
    onCleanupOverdue: () => {},
    onLateFailure: () => {},
  })
  started.start()
  return { controller, warmUp: started, warm: warms[0] as WarmUp }
}

const overBecause = (why: string) => ({ message: `The warm-up of controller \`janitor\` has ended: ${why}` })

describe('A supervision that is asked to end before it starts', () => {
  test('ends the warm-up that it gets, and is done when nothing of that is left', async () => {
    const bench = Bench.of(untilEnd)
    const work = Promise.withResolvers<void>()
    const { controller, warmUp, warm } = warming(bench.clock, () => work.promise)
    bench.supervisor.end(ENDED)
    bench.supervisor.start(controller, warmUp)
    await bench.clock.runAllMicrotasks()
    expect([bench.isDone, warmUp.outcome, bench.terms]).toEqual([false, { kind: 'cancelled' }, []])
    expect(warm.signal.reason).toMatchObject(overBecause('its term ended before its run began'))
    work.resolve()
    await bench.clock.runAllMicrotasks()
    expect(bench.isDone).toBe(true)
  })
})

describe('A supervision that gets a warm-up', () => {
  /** A supervision of a controller whose instances are counted, with a warm-up of the first. */
  function warmed(run: Run, warmUp: NonNullable<Controller['warmUp']>, settings: Settings = {}) {
    const built: Controller[] = []
    const build = (): Controller => {
      const controller: Controller = { name: 'janitor', run: (term) => run(term, built.length) }
      built.push(controller)
      return controller
    }
    const bench: Bench = new Bench(build, {}, [], settings)
    const { warmUp: started, warm } = warming(bench.clock, warmUp)
    const first: Controller = { name: 'janitor', run: (term) => run(term, 0) }
    bench.supervisor.start(first, started)
    return { bench, built, warm }
  }

  test('runs its instance once it is ready, and builds a new one for the next run', async () => {
    const { bench, built } = warmed(fails, (warm) => warm.sleep(500))
    await bench.clock.advance(499)
    expect(bench.terms).toEqual([])
    await bench.clock.advance(1)
    expect([bench.terms.length, built.length]).toEqual([1, 0])
    await bench.clock.advance(200)
    expect([bench.terms.length, built.length]).toEqual([2, 1])
  })

  test('lists its tasks with those of the run, and keeps its health checks', async () => {
    const { bench, warm } = warmed(untilEnd, async (term) => {
      void term.spawn('cache', () => term.sleep(1e12))
      term.health.register('cache', () => {})
    })
    await bench.clock.runAllMicrotasks()
    expect(bench.supervisor.liveTasks()).toMatchObject([{ name: 'run' }, { name: 'cache' }])
    expect(bench.terms[0]?.health).toBe(warm.health)
    expect(warm.health.names).toEqual(['cache'])
  })

  test('is the owner of its scope until the run has ended', async () => {
    const { bench, warm } = warmed(untilEnd, async () => {})
    await bench.clock.runAllMicrotasks()
    const { scope } = warm as ControllerTerm
    expect(bench.supervisor.hardSignalOf(scope)).toBe(warm.hardSignal)
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.supervisor.hardSignalOf(scope)).toBeUndefined()
  })

  test('ends it with the run, and waits for the last task of it', async () => {
    const work = Promise.withResolvers<void>()
    const { bench, warm } = warmed(untilEnd, async (term) => void term.spawn('cache', () => work.promise))
    await bench.clock.runAllMicrotasks()
    bench.supervisor.end(ENDED)
    await bench.clock.runAllMicrotasks()
    expect(warm.signal.reason).toMatchObject(overBecause('its run has ended'))
    expect([bench.isDone, bench.supervisor.isCleaning, bench.runsOver]).toEqual([false, false, []])
    work.resolve()
    await bench.supervisor.done
    expect([bench.supervisor.isCleaning, bench.runsOver.length]).toEqual([true, 1])
  })

  test('restarts the controller when a task of it fails later', async () => {
    const cache = Promise.withResolvers<void>()
    const { bench } = warmed(untilEnd, async (term) => void term.spawn('cache', () => cache.promise))
    await bench.clock.runAllMicrotasks()
    cache.reject(new Error('cache lost'))
    await bench.clock.advance(200)
    expect(bench.failures).toEqual([{ error: new Error('cache lost'), restartInMs: 200 }])
    expect(bench.terms).toHaveLength(2)
  })

  test('has its failure reported that comes at the moment at which `run` returns', async () => {
    const [run, cache] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { bench } = warmed(
      () => run.promise,
      async (term) => void term.spawn('cache', () => cache.promise),
    )
    await bench.clock.runAllMicrotasks()
    run.resolve()
    cache.reject(new Error('cache lost'))
    await bench.clock.runAllMicrotasks()
    expect(bench.failures).toMatchObject([{ error: { code: 'CONTROLLER_RETURNED' } }])
    expect(bench.whileEnding).toEqual([new Error('cache lost')])
  })

  test('admits new tasks of it while the replica may act, once a run has it', async () => {
    const { bench, warm } = warmed(untilEnd, async () => {}, { validUntil: 1000 })
    await bench.clock.advance(999)
    await warm.spawn('in time', () => {})
    await bench.clock.advance(1)
    expect(() => warm.spawn('late', () => {})).toThrow(expect.objectContaining({ code: 'SCOPE_CLOSED' }))
  })

  test('builds another instance where it is not ready in time, and waits for its last task nevertheless', async () => {
    const work = Promise.withResolvers<void>()
    const { bench, built, warm } = warmed(untilEnd, () => work.promise, { warmUpTimeoutMs: 300 })
    await bench.clock.advance(299)
    expect([bench.terms.length, built.length, warm.signal.aborted]).toEqual([0, 0, false])
    await bench.clock.advance(1)
    expect([bench.terms.length, built.length]).toEqual([1, 1])
    expect(warm.signal.reason).toMatchObject(overBecause('it was not ready when its term began'))
    bench.supervisor.end(ENDED)
    await bench.clock.runAllMicrotasks()
    expect(bench.isDone).toBe(false)
    work.resolve()
    await bench.supervisor.done
  })

  test('builds nothing where it must end while it waits', async () => {
    const { bench, built } = warmed(untilEnd, (warm) => warm.sleep(1e12), { warmUpTimeoutMs: 300 })
    await bench.clock.advance(299)
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect([bench.terms, built, bench.failures]).toEqual([[], [], []])
  })

  test('is never done where the end of that cannot be observed', async () => {
    const bench = Bench.of(untilEnd)
    const { controller, warmUp } = warming(bench.clock, async () => {})
    vi.spyOn(warmUp, 'join').mockRejectedValue(new Error('no memory'))
    bench.supervisor.end(ENDED)
    bench.supervisor.start(controller, warmUp)
    await bench.clock.advance(60_000)
    expect([bench.isDone, bench.terms]).toEqual([false, []])
    vi.restoreAllMocks()
    await warmUp.join()
  })
})

describe('A run that ends', () => {
  test('keeps the supervision from being done where its end cannot be observed', async () => {
    const bench = await Bench.of(untilEnd).start()
    const { scope } = bench.terms[0] as ControllerTerm
    vi.spyOn(scope, 'join').mockRejectedValue(new Error('no memory'))
    bench.supervisor.end(ENDED)
    await bench.clock.advance(60_000)
    expect([bench.isDone, bench.runsOver]).toEqual([false, []])
    expect(bench.gaveUp).toMatchObject([{ cause: new Error('no memory') }])
    vi.restoreAllMocks()
    await scope.join()
  })

  test('while it drains after a failure is followed by no pause, and not given up', async () => {
    for (const maxRestarts of [0, 10]) {
      const work = Promise.withResolvers<void>()
      const bench = Bench.of(
        async (term) => {
          void term.spawn('work', () => work.promise)
          throw new Error('boom')
        },
        { maxRestarts },
      )
      await bench.start()
      bench.supervisor.end(ENDED)
      work.resolve()
      await bench.clock.runAllMicrotasks()
      expect([bench.isDone, bench.gaveUp]).toEqual([true, []])
    }
  })

  test('while it drains after a failure may take any time, as the term decides that', async () => {
    const bench = Bench.of(async (term) => {
      void term.spawn('stuck', never)
      throw new Error('boom')
    })
    await bench.start()
    bench.supervisor.end(ENDED)
    await bench.clock.advance(60_000)
    expect([bench.failures.length, bench.gaveUp]).toEqual([1, []])
  })

  test('at the moment at which it fails has the failure reported as one of the end, with its task', async () => {
    const heard: unknown[] = []
    const endsOnce = async (bench: Bench, failed: Promise<unknown>, task: string) => {
      bench.observer.failedWhileEnding = (error, name) => heard.push([(error as Error).message, name])
      bench.supervisor.start()
      await failed.catch(() => {})
      bench.supervisor.end(ENDED)
      await bench.supervisor.done
      expect(heard.pop()).toEqual([expect.any(String), task])
      expect([heard, bench.failures]).toEqual([[], []])
    }
    const run = Promise.resolve()
    await endsOnce(
      Bench.of(() => run),
      run,
      'run',
    )
    const bench = new Bench(() => expect.fail('no database'))
    await endsOnce(bench, Promise.resolve(), 'run')
    const work = Promise.reject(new Error('boom'))
    await endsOnce(
      Bench.of(async (term) => {
        void term.spawn('work', () => work)
        await untilEnd(term, 1)
      }),
      work,
      'work',
    )
  })

  test('leaves the pause before the next one, which does not begin once the replica may not act', async () => {
    const bench = await Bench.of(fails, {}, [], { validUntil: 200 }).start()
    await bench.clock.advance(199)
    expect([bench.terms.length, bench.isDone]).toEqual([1, false])
    await bench.clock.advance(1)
    expect([bench.terms.length, bench.isDone]).toEqual([1, true])
  })
})

test('A controller that needs no leadership runs, and is restarted', async () => {
  const bench = await Bench.of(fails, {}, [], { needsLeadership: false }).start()
  await bench.clock.advance(200)
  expect(bench.terms.map(({ epoch }) => epoch)).toEqual([0n, 0n])
})

test('A run logs with the logger of its controller', async () => {
  const lines: unknown[] = []
  const loggerOf = (bindings: object): Logger => ({
    ...silentLogger,
    info: (fields, message) => void lines.push([{ ...bindings, ...fields }, message]),
    child: (more) => loggerOf({ ...bindings, ...more }),
  })
  const bench = await Bench.of(untilEnd, {}, [], { logger: loggerOf({ pid: 1 }) }).start()
  bench.terms[0]?.logger.info({ size: 2 }, 'swept')
  expect(lines).toEqual([[{ pid: 1, lease: 'lease', controller: 'janitor', epoch: 7n, size: 2 }, 'swept']])
})

describe('A supervision that has failed itself', () => {
  test('gives the controller up, because nothing would restart it', async () => {
    const bench = Bench.of(fails)
    const error = new Error('no metrics')
    bench.observer.runOver = () => {
      throw error
    }
    await bench.start()
    expect(bench.failures).toEqual([
      { error: new Error('boom'), restartInMs: 200 },
      { error, restartInMs: undefined },
    ])
    expect(bench.gaveUp).toMatchObject([{ code: 'CONTROLLER_FAILED', controller: 'janitor', cause: error }])
    await bench.clock.advance(60_000)
    expect([bench.terms.length, bench.isDone]).toEqual([1, true])
  })

  test('gives the controller up although nobody hears of the failure', async () => {
    const bench = Bench.of(fails)
    const error = new Error('no log')
    bench.observer.failed = () => {
      throw error
    }
    await bench.start()
    expect(bench.gaveUp).toMatchObject([{ cause: error }])
    expect(bench.isDone).toBe(true)
  })
})

describe('A controller has only cleanups left', () => {
  const cleansUp = () =>
    Bench.of(
      async (term) => {
        term.defer(never)
        await untilEnd(term, 1)
      },
      {},
      [],
      { cleanupBudgetMs: 2000 },
    )

  test('from the end of its last task, until its cleanups are overdue', async () => {
    const bench = await cleansUp().start()
    expect(bench.supervisor.isCleaning).toBe(false)
    bench.supervisor.end(ENDED)
    await bench.clock.advance(1999)
    expect([bench.supervisor.isCleaning, bench.overdueAt]).toEqual([true, undefined])
    await bench.clock.advance(1)
    expect([bench.supervisor.isCleaning, bench.overdueAt]).toEqual([false, 2000])
  })

  test('where no run is left', async () => {
    const bench = await Bench.of(untilEnd).start()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.supervisor.isCleaning).toBe(true)
  })
})

describe('What an observer hears of a controller', () => {
  test('is for how long a controller that was given up counts restarts', async () => {
    const bench = Bench.of(fails, { maxRestarts: 0, withinMs: 7000 })
    const heard: unknown[] = []
    bench.observer.gaveUp = (error, cooldownMs) => heard.push([error.message, cooldownMs])
    await bench.start()
    expect(heard).toEqual([['Controller `janitor` failed and will not restart: boom', 7000]])
  })

  test('is which task failed while the run ended, or that an extension did', async () => {
    const bench = Bench.of((term) => term.sleep(1e12).catch(() => Promise.reject(new Error('disk full'))), {}, [
      {
        attach: () => () => {
          throw new Error('stuck registry')
        },
      },
    ])
    const heard: unknown[] = []
    bench.observer.failedWhileEnding = (error, task) => heard.push([error, task])
    await bench.start()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(heard).toEqual([
      [new Error('disk full'), 'run'],
      [new Error('stuck registry'), 'extension'],
    ])
  })

  test('is that a controller makes no progress, once, and its health check says so', async () => {
    const bench = await Bench.of(untilEnd, {}, [], { progressTimeoutMs: 1000 }).start()
    const [term] = bench.terms
    await bench.clock.advance(999)
    expect(await term?.health.run()).toEqual([{ name: 'progress' }])
    await bench.clock.advance(1)
    const error = { code: 'NO_PROGRESS', message: 'Controller `janitor` has not called `term.progress()` for 1000 ms' }
    expect(await term?.health.run()).toMatchObject([{ name: 'progress', failure: error }])
    await bench.clock.advance(60_000)
    expect(bench.failures).toMatchObject([{ error, restartInMs: undefined }])
    expect(bench.gaveUp.map(({ message, cause }) => [message, cause])).toMatchObject([
      [`Controller \`janitor\` failed and will not restart: ${error.message}`, error],
    ])
    expect(bench.terms).toHaveLength(1)
  })

  test('is nothing about progress where no time is set', async () => {
    const bench = await Bench.of(untilEnd).start()
    expect(bench.terms[0]?.health.names).toEqual([])
  })
})

describe('The signals of a run', () => {
  test('have the restart as their reason after a failure, and the end of the term after that', async () => {
    const bench = await Bench.of((term, run) => (run === 1 ? fails(term, run) : untilEnd(term, run))).start()
    await bench.clock.advance(200)
    const [first, second] = bench.terms
    const restart = { code: 'CONTROLLER_RESTART', message: 'Controller `janitor` restarts: boom' }
    expect(first?.signal.reason).toMatchObject(restart)
    expect(first?.hardSignal.reason).toMatchObject(restart)
    bench.supervisor.hardAbort(ENDED)
    await bench.supervisor.done
    expect([second?.signal.reason, second?.hardSignal.reason]).toEqual([ENDED, ENDED])
  })

  test('are found by the scope of the run, and only while it lasts', async () => {
    const [bench, other] = [await Bench.of(untilEnd).start(), await Bench.of(untilEnd).start()]
    const scopeOf = ({ terms }: Bench) => (terms[0] as ControllerTerm).scope
    expect(bench.supervisor.hardSignalOf(scopeOf(bench))).toBe(bench.terms[0]?.hardSignal)
    expect(bench.supervisor.hardSignalOf(scopeOf(other))).toBeUndefined()
    bench.supervisor.end(ENDED)
    await bench.supervisor.done
    expect(bench.supervisor.hardSignalOf(scopeOf(bench))).toBeUndefined()
  })
})
