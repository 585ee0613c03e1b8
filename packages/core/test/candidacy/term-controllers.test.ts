import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { supervision, TermControllers } from '../../src/candidacy/term-controllers.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { createRegistration } from '../../src/controller/registration.ts'
import { resolveRestartOptions } from '../../src/controller/restart-options.ts'
import type { ControllerTerm } from '../../src/term/controller-term.ts'
import { Leadership } from '../../src/term/leadership.ts'
import type { Term } from '../../src/term/term.ts'
import { never } from '../support/never.ts'
import { untilEnd } from '../support/replica.ts'

const TIMING = { drainTimeoutMs: 5000, abortGraceMs: 2000, cleanupTimeoutMs: 3000 }

/** The controllers of a term with epoch 7, and what they report. The first instance is that of the first call of each factory. */
function controllersOf(...factories: readonly (() => Controller)[]) {
  const clock = new VirtualClock()
  const log: unknown[] = []
  const restart = resolveRestartOptions()
  const leadership = new Leadership({ epoch: 7n, lease: 'lease', validUntil: 1e6, clock })
  const note =
    (name: string, controller: string) =>
    (...args: unknown[]) =>
      void log.push([name, controller, ...args])
  const controllers = new TermControllers({
    lease: 'lease',
    clock,
    random: () => 0,
    extensions: [],
    timing: TIMING,
    leadership,
    registrations: factories.map((factory) => createRegistration(factory, {}, restart)),
    warmUps: new Map(),
    seen: new WeakSet(),
    observe: (name) => ({
      runBegan: () => {},
      runOver: () => {},
      failed: note('failed', name),
      failedWhileEnding: note('failed while ending', name),
      gaveUp: note('gave up', name),
      cleaning: () => {},
      cleanupOverdue: note('cleanup overdue', name),
      stepDown: () => {},
    }),
    onCleaning: () => void log.push('cleaning'),
  })
  onTestFinished(async () => {
    controllers.end('shutdown', false)
    controllers.hardAbort()
    leadership.closeGate('shutdown')
    await clock.advance(60_000)
  })
  const start = async () => {
    controllers.start()
    await clock.runAllMicrotasks()
    return controllers
  }
  return { clock, log, controllers, leadership, start }
}

/** A controller whose runs are kept. */
function keeping(terms: Term[], run: (term: Term) => Promise<void> = untilEnd, name = 'janitor') {
  return (): Controller => ({ name, run: (term) => (terms.push(term), run(term)) })
}

describe('The controllers of a term', () => {
  test('run in the order of registration, the very instances that were built with the term', async () => {
    const log: string[] = []
    const build = (name: string) => (): Controller => {
      log.push(`build ${name}`)
      return { name, run: (term) => (log.push(`run ${name}`), untilEnd(term)) }
    }
    const { start } = controllersOf(build('a'), build('b'))
    expect(log).toEqual(['build a', 'build b'])
    await start()
    expect(log).toEqual(['build a', 'build b', 'run a', 'run b'])
  })

  test('fail with the error of the factory at first, and are built again then', async () => {
    const error = new Error('no database')
    let builds = 0
    const terms: Term[] = []
    const { clock, log, start } = controllersOf(() => {
      if (builds++ === 0) throw error
      return keeping(terms)()
    })
    await start()
    expect([builds, log]).toEqual([1, [['failed', 'controller-1', error, 200]]])
    await clock.advance(200)
    expect([builds, terms.length]).toEqual([2, 1])
  })

  test('have the time of the whole drain to end before a restart', () => {
    const registration = createRegistration(
      () => ({ name: 'a', run: untilEnd }),
      { progressTimeoutMs: 5, warmUpTimeoutMs: 6 },
      resolveRestartOptions(),
    )
    expect(supervision(registration, TIMING)).toEqual({
      restart: registration.restart,
      progressTimeoutMs: 5,
      warmUpTimeoutMs: 6,
      restartDrainMs: 10_000,
    })
  })

  test('are found by the scopes of their runs', async () => {
    const terms: Term[] = []
    const { controllers, start } = controllersOf(keeping(terms, untilEnd, 'a'), keeping(terms, untilEnd, 'b'))
    await start()
    const others: Term[] = []
    await controllersOf(keeping(others)).start()
    for (const term of terms) expect(controllers.hardSignalOf((term as ControllerTerm).scope)).toBe(term.hardSignal)
    expect(controllers.hardSignalOf((others[0] as ControllerTerm).scope)).toBeUndefined()
  })
})

describe('The end of the controllers', () => {
  test('has the first reason, whatever comes later', async () => {
    const terms: Term[] = []
    const { controllers, start } = controllersOf(keeping(terms))
    expect([controllers.reason, controllers.endReason]).toEqual([undefined, 'step-down'])
    await start()
    controllers.end('transferred', true)
    controllers.end('superseded', false)
    expect([controllers.reason, controllers.endReason]).toEqual(['transferred', 'transferred'])
    expect(terms[0]?.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'transferred', epoch: 7n })
  })

  test('tells when only cleanups are left, of all of them', async () => {
    const [a, b] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { clock, log, controllers, start } = controllersOf(
      () => ({ name: 'a', run: () => a.promise }),
      () => ({ name: 'b', run: () => b.promise }),
    )
    await start()
    controllers.noteCleaning()
    expect(log).toEqual([])
    controllers.end('step-down', true)
    a.resolve()
    await clock.runAllMicrotasks()
    expect(log).toEqual([])
    b.resolve()
    await clock.runAllMicrotasks()
    expect(new Set(log)).toEqual(new Set(['cleaning']))
  })

  test('tells so at once where nothing runs', () => {
    const { log, controllers } = controllersOf()
    controllers.end('step-down', true)
    expect(log).toEqual(['cleaning'])
  })

  test('is measured from the first order to the end of the last task', async () => {
    const work = Promise.withResolvers<void>()
    const { clock, controllers, start } = controllersOf(() => ({ name: 'a', run: () => work.promise }))
    await clock.advance(50)
    await start()
    expect(controllers.drainMs).toBe(0)
    await clock.advance(100)
    controllers.end('step-down', true)
    await clock.advance(30)
    controllers.end('step-down', true)
    expect(controllers.drainMs).toBe(30)
    const done = controllers.done()
    work.resolve()
    await done
    await clock.advance(500)
    expect(controllers.drainMs).toBe(30)
    expect(controllers.close({ outcome: 'released', successor: undefined })).toMatchObject({
      durationMs: 680,
      drainMs: 30,
    })
  })

  test('is done when the last of them is', async () => {
    const [a, b] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { clock, controllers, start } = controllersOf(
      () => ({ name: 'a', run: () => a.promise }),
      () => ({ name: 'b', run: () => b.promise }),
    )
    await start()
    controllers.end('step-down', true)
    let isDone = false
    void controllers.done().then(() => (isDone = true))
    a.resolve()
    await clock.runAllMicrotasks()
    expect([isDone, controllers.liveTasks().map(({ controller }) => controller)]).toEqual([false, ['b']])
    b.resolve()
    await clock.runAllMicrotasks()
    expect([isDone, controllers.liveTasks()]).toEqual([true, []])
  })

  test('collects what fails meanwhile, and hands it to the observer', async () => {
    const error = new Error('disk full')
    const { clock, log, controllers, start } = controllersOf(() => ({
      name: 'a',
      run: (term) => untilEnd(term).catch(() => Promise.reject(error)),
    }))
    await start()
    controllers.end('step-down', true)
    await clock.runAllMicrotasks()
    expect(controllers.errors).toEqual([error])
    expect(log).toContainEqual(['failed while ending', 'a', error, 'run'])
  })
})

describe('The drain of the controllers', () => {
  test('is clean, aborted, or wedged, which it stays', async () => {
    const terms: Term[] = []
    const { controllers, start } = controllersOf(keeping(terms, never))
    await start()
    expect(controllers.drain).toBe('clean')
    controllers.end('step-down', true)
    controllers.hardAbort()
    expect([controllers.drain, terms[0]?.hardSignal.aborted, controllers.wedged]).toEqual(['aborted', true, undefined])
    const error = controllers.wedge()
    expect([controllers.drain, controllers.wedged]).toEqual(['wedged', error])
    expect(error.message).toMatch(
      /^The term with epoch 7 on `lease` did not drain in time; still running: janitor\/run /,
    )
    controllers.hardAbort()
    expect(controllers.drain).toBe('wedged')
  })

  test('resolves for all who wait at the close, with the gate closed', async () => {
    const { clock, controllers, leadership, start } = controllersOf(() => ({ name: 'a', run: untilEnd }))
    await start()
    controllers.end('transferred', true)
    await clock.runAllMicrotasks()
    const over = controllers.close({ outcome: 'transferred', successor: 'other' })
    expect(over).toEqual({
      kind: 'term-over',
      epoch: 7n,
      reason: 'transferred',
      outcome: 'transferred',
      successor: 'other',
      drain: 'clean',
      durationMs: 0,
      drainMs: 0,
      errors: [],
    })
    expect(await controllers.over).toBe(over)
    expect(leadership.gateSignal.reason).toMatchObject({ reason: 'transferred' })
  })
})

describe('The time of cleanups', () => {
  /** When the signal of a cleanup aborts, half of the time after its beginning. */
  async function abortsAfter(end: (bench: ReturnType<typeof controllersOf>) => void): Promise<number> {
    const aborted = Promise.withResolvers<number>()
    const bench = controllersOf(() => ({
      name: 'a',
      run: (term) => {
        term.defer((signal) => {
          signal.addEventListener('abort', () => aborted.resolve(bench.clock.now()), { once: true })
          return never()
        })
        return untilEnd(term)
      },
    }))
    await bench.start()
    end(bench)
    await bench.clock.advance(10_000)
    return aborted.promise
  }

  test('is that of the option after a voluntary end, though the lease ends before', async () => {
    const aborts = abortsAfter(({ controllers, leadership }) => {
      leadership.shorten(1000)
      controllers.end('step-down', true)
    })
    expect(await aborts).toBe(1500)
  })

  test('ends with the lease after an involuntary end', async () => {
    const early = abortsAfter(({ controllers, leadership }) => {
      leadership.shorten(1000)
      controllers.end('renew-deadline', false)
    })
    const late = abortsAfter(({ controllers }) => controllers.end('renew-deadline', false))
    expect(await Promise.all([early, late])).toEqual([500, 1500])
  })

  test('is the grace period where the lease is lost already', async () => {
    const aborts = abortsAfter(({ controllers, leadership }) => {
      leadership.closeGate('superseded')
      controllers.end('superseded', false)
    })
    expect(await aborts).toBe(1000)
  })

  test('is that of an involuntary end which follows on a voluntary one', async () => {
    const aborts = abortsAfter(({ controllers, leadership }) => {
      leadership.shorten(1000)
      controllers.end('step-down', true)
      controllers.end('renew-deadline', false)
    })
    expect(await aborts).toBe(500)
  })
})
