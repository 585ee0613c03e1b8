import { describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { PresentTerm, type PresentTermOptions } from '../../src/candidacy/present-term.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { createRegistration } from '../../src/controller/registration.ts'
import { resolveRestartOptions } from '../../src/controller/restart-options.ts'
import { TerminalError } from '../../src/controller/terminal-error.ts'
import type { TermEffect } from '../../src/election/elector.ts'
import { resolveFeatureGates } from '../../src/feature-gates.ts'
import { HealthProbe } from '../../src/health/health-probe.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import type { Term } from '../../src/term/term.ts'
import { CONFIG } from '../election/pure-elector.ts'
import { never } from '../support/never.ts'
import { untilEnd } from '../support/replica.ts'

type Begin = Extract<TermEffect, { kind: 'begin-term' }>

interface Setup extends Partial<Pick<PresentTermOptions, 'gates' | 'config'>> {
  readonly hasGuard?: boolean
  readonly controllers?: readonly Controller[]
}

/** A term of these controllers, and all that it tells others. */
function termOf({ hasGuard = true, controllers = [], ...options }: Setup = {}) {
  const clock = new VirtualClock()
  const log: unknown[] = []
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void log.push([name, ...args])
  const restart = resolveRestartOptions({ maxRestarts: 0, withinMs: 7000 })
  const term = new PresentTerm({
    lease: { name: 'lease' },
    createLock: () => new MemoryLeaseStore().lock('lease'),
    config: CONFIG,
    warmUpStopTimeoutMs: 5000,
    gates: resolveFeatureGates(),
    clock,
    random: () => 0,
    logger: { ...silentLogger, error: note('log') },
    restart,
    extensions: [],
    ...(hasGuard && { guard: () => ({ hold: note('hold'), lift: note('lift') }) }),
    onEvent: note('event'),
    onFailure: note('failure'),
    onFatal: note('fatal'),
    registrations: controllers.map((controller) => createRegistration(() => controller, {}, restart)),
    seen: new WeakSet(),
    health: new HealthProbe(),
    elector: {
      cleaning: note('cleaning'),
      cleanupOverdue: note('cleanup overdue'),
      drained: note('drained'),
      lose: note('lose'),
      stepDown: note('step down'),
    },
    warmUps: { current: new Map(), handOver: note('hand over') },
    emit: (event) => void log.push(event),
    stepDown: note('asks'),
    ...options,
  })
  const begin = async (more: Partial<Begin> = {}) => {
    const legacy = { values: new Map(), versions: undefined }
    term.begin({ kind: 'begin-term', epoch: 7n, validUntil: 1000, handoverMs: 3, legacy, ...more })
    await clock.runAllMicrotasks()
  }
  onTestFinished(async () => {
    const { controllers: left } = term
    left?.end('shutdown', false)
    left?.hardAbort()
    left?.leadership.closeGate('shutdown')
    await clock.advance(60_000)
  })
  /** What was reported since the last call. */
  const news = () => log.splice(0)
  return { clock, term, begin, news }
}

const idle = (name = 'janitor'): Controller => ({ name, run: untilEnd })
const stuck = (until: Promise<void>): Controller => ({ name: 'janitor', run: () => until })

describe('A term that begins', () => {
  test('is guarded, takes the warm-ups over and runs its controllers', async () => {
    const terms: Term[] = []
    const { term, begin, news } = termOf({
      controllers: [{ name: 'janitor', run: (own) => (terms.push(own), untilEnd(own)) }],
    })
    expect(term.controllers).toBeUndefined()
    await begin()
    expect(news()).toEqual([['hold', 1000], ['hand over'], { kind: 'term-began', epoch: 7n, handoverMs: 3 }])
    expect(terms).toMatchObject([{ epoch: 7n, lease: 'lease', controller: 'janitor' }])
    expect(term.controllers?.liveTasks()).toHaveLength(1)
  })

  test('stays empty where a controller can never run, and the manager hears of that', async () => {
    const { term, begin, news } = termOf({ controllers: [idle(), idle()] })
    await begin()
    expect(news()).toEqual([
      ['hold', 1000],
      ['failure', expect.objectContaining({ code: 'BAD_OPTIONS' })],
      { kind: 'term-began', epoch: 7n, handoverMs: 3 },
    ])
    expect(term.controllers?.liveTasks()).toEqual([])
  })

  test('needs no guard', async () => {
    const { term, begin, news, clock } = termOf({ hasGuard: false })
    await begin()
    term.setValidity(2000, 'extend')
    term.end('shutdown', true)
    await clock.runAllMicrotasks()
    term.over({ outcome: 'released', successor: undefined })
    expect(news().filter((line) => Array.isArray(line) && ['hold', 'lift'].includes(line[0]))).toEqual([])
  })
})

describe('The validity of a term', () => {
  test('is extended and shortened, for its guard as well', async () => {
    const { term, begin, news } = termOf()
    term.setValidity(500, 'extend')
    expect(news()).toEqual([])
    await begin()
    term.setValidity(5000, 'extend')
    expect(term.controllers?.leadership.remainingMs()).toBe(5000)
    term.setValidity(400, 'shorten')
    expect(term.controllers?.leadership.remainingMs()).toBe(400)
    expect(news().slice(-2)).toEqual([
      ['hold', 5000],
      ['hold', 400],
    ])
  })

  test('that has run out is noticed by the first who asks, and ends the term as stalled', async () => {
    const { clock, term, begin, news } = termOf()
    await begin()
    news()
    clock.stall(1000)
    expect(term.controllers?.leadership.isHeld()).toBe(false)
    expect(news()).toEqual([['lose', 'stalled']])
  })
})

describe('A term that ends', () => {
  test('says so once, and closes its gate before the lease is released, when nothing is left', async () => {
    const work = Promise.withResolvers<void>()
    const { clock, term, begin, news } = termOf({ controllers: [stuck(work.promise)] })
    term.end('step-down', true)
    expect(news()).toEqual([])
    await begin()
    news()
    term.end('step-down', true)
    term.end('superseded', false)
    await clock.runAllMicrotasks()
    expect(news()).toEqual([{ kind: 'term-ending', epoch: 7n, reason: 'step-down' }])
    expect(term.controllers?.leadership.gateSignal.aborted).toBe(false)
    work.resolve()
    await clock.runAllMicrotasks()
    expect(term.controllers?.leadership.gateSignal.reason).toMatchObject({ reason: 'step-down' })
    expect(news()).toEqual([['cleaning'], ['drained', expect.objectContaining({ epoch: 7n })]])
  })

  test('reports nothing that is drained after it was abandoned', async () => {
    const work = Promise.withResolvers<void>()
    const { clock, term, begin, news } = termOf({ controllers: [stuck(work.promise)] })
    await begin()
    term.end('step-down', true)
    const { controllers } = term
    term.over({ outcome: 'expired', successor: undefined })
    news()
    work.resolve()
    await controllers?.done()
    await clock.runAllMicrotasks()
    expect(news()).toEqual([])
  })

  test('is over once, with how it ended', async () => {
    const { clock, term, begin, news } = termOf({ controllers: [idle()] })
    term.over({ outcome: 'released', successor: undefined })
    await begin()
    await clock.advance(10)
    term.end('transferred', true)
    await clock.runAllMicrotasks()
    news()
    term.over({ outcome: 'transferred', successor: 'other' })
    term.over({ outcome: 'released', successor: undefined })
    expect(news()).toEqual([
      ['lift'],
      {
        kind: 'term-over',
        epoch: 7n,
        reason: 'transferred',
        outcome: 'transferred',
        successor: 'other',
        drain: 'clean',
        durationMs: 10,
        drainMs: 0,
        errors: [],
      },
    ])
    expect(term.controllers).toBeUndefined()
  })
})

describe('Without a graceful transition', () => {
  const gates = resolveFeatureGates({ GracefulLeaderTransition: false })
  const fatals = (news: readonly unknown[]) =>
    news.flatMap((line) => (Array.isArray(line) && line[0] === 'fatal' ? [(line[1] as Error).message] : []))

  test('the process ends when the lease is lost, and when a term is over', async () => {
    const { clock, term, begin, news } = termOf({ gates })
    await begin()
    term.end('step-down', true)
    expect(fatals(news())).toEqual([])
    term.end('superseded', false)
    expect(fatals(news())).toEqual(['The lease `lease` was lost: superseded'])
    await clock.runAllMicrotasks()
    term.over({ outcome: 'lost', successor: undefined })
    expect(fatals(news())).toEqual(['The term on `lease` is over: step-down'])
  })

  test('the process ends when the elector has failed', async () => {
    const { term, begin, news } = termOf({ gates })
    await begin()
    await term.endAlone()
    expect(fatals(news())).toEqual([
      'The lease `lease` was lost: elector-failed',
      'The term on `lease` is over: elector-failed',
    ])
  })

  test('the process goes on after a shutdown', async () => {
    const { clock, term, begin, news } = termOf({ gates })
    await begin()
    term.end('shutdown', true)
    await clock.runAllMicrotasks()
    term.over({ outcome: 'released', successor: undefined })
    expect(fatals(news())).toEqual([])
  })
})

describe('A wedged term', () => {
  test('names its tasks, and closes its gate when the process must end', async () => {
    const { term, begin, news } = termOf({ controllers: [stuck(never())] })
    term.wedge()
    term.exit()
    await begin()
    term.end('step-down', true)
    news()
    term.exit()
    expect([news(), term.controllers?.leadership.gateSignal.aborted]).toEqual([[], false])
    term.wedge()
    const tasks = [expect.objectContaining({ controller: 'janitor', name: 'run' })]
    expect(news()).toEqual([{ kind: 'wedged', epoch: 7n, tasks }])
    term.exit()
    expect(news()).toEqual([['fatal', expect.objectContaining({ code: 'WEDGED', tasks })]])
    expect(term.controllers?.leadership.gateSignal.reason).toMatchObject({ reason: 'step-down' })
  })
})

describe('A controller of a term', () => {
  const err = new Error('disk full')

  test('that fails for good ends the term, and the replica leaves the lease to others', async () => {
    const error = new TerminalError('no such table')
    const { begin, news } = termOf({ controllers: [{ name: 'janitor', run: () => Promise.reject(error) }] })
    await begin()
    expect(news().slice(3)).toEqual([
      { kind: 'controller-failed', controller: 'janitor', error, restartInMs: undefined },
      ['step down', { reason: 'controller-failed', cooldownMs: 7000 }],
    ])
  })

  test('that fails because of a wrong option stops the manager as well', async () => {
    const run = () => createRegistration(7 as never, {}, resolveRestartOptions()) as never
    const { begin, news } = termOf({ controllers: [{ name: 'janitor', run }] })
    await begin()
    expect(news().slice(4)).toEqual([
      ['failure', expect.objectContaining({ code: 'BAD_OPTIONS' })],
      ['step down', { reason: 'controller-failed', cooldownMs: 7000 }],
    ])
  })

  test('that fails while the term ends has that logged', async () => {
    const { clock, term, begin, news } = termOf({
      controllers: [{ name: 'janitor', run: (own) => untilEnd(own).catch(() => Promise.reject(err)) }],
    })
    await begin()
    term.end('step-down', true)
    news()
    await clock.runAllMicrotasks()
    expect(news()[0]).toEqual([
      'log',
      { lease: 'lease', controller: 'janitor', task: 'run', err },
      'task failed while its term ended',
    ])
    expect(term.controllers?.errors).toEqual([err])
  })

  test('may ask for a step-down', async () => {
    const run = (own: Term) => (own.stepDown({ cooldownMs: 5 }), untilEnd(own))
    const { begin, news } = termOf({ controllers: [{ name: 'janitor', run }] })
    await begin()
    expect(news()).toContainEqual(['asks', { cooldownMs: 5 }])
  })

  test('whose cleanups take too long is reported', async () => {
    const run = (own: Term) => (own.defer(never), untilEnd(own))
    const { clock, term, begin, news } = termOf({
      controllers: [{ name: 'janitor', run }],
      config: { ...CONFIG, cleanupTimeoutMs: 300 },
    })
    await begin()
    term.end('step-down', true)
    await clock.advance(299)
    expect(news()).not.toContainEqual(['cleanup overdue'])
    await clock.advance(1)
    expect(news()).toEqual([['cleanup overdue']])
  })
})

describe('A term whose elector has failed', () => {
  test('is nothing where there is none', async () => {
    const { term, news } = termOf()
    await term.endAlone()
    expect(news()).toEqual([])
  })

  test('is aborted at once, and is over when nothing of it is left', async () => {
    const work = Promise.withResolvers<void>()
    const terms: Term[] = []
    const { clock, term, begin, news } = termOf({
      controllers: [{ name: 'janitor', run: (own) => (terms.push(own), work.promise) }],
    })
    await begin()
    news()
    await clock.advance(100)
    let isOver = false
    const ended = term.endAlone().then(() => (isOver = true))
    expect(news()).toEqual([{ kind: 'term-ending', epoch: 7n, reason: 'elector-failed' }])
    expect(terms[0]?.hardSignal.aborted).toBe(true)
    await clock.advance(899)
    expect([isOver, news()]).toEqual([false, []])
    work.resolve()
    await ended
    expect(news()).toEqual([
      ['cleaning'],
      ['drained', expect.anything()],
      ['lift'],
      expect.objectContaining({ kind: 'term-over', reason: 'elector-failed', outcome: 'expired', drain: 'aborted' }),
    ])
    await clock.advance(60_000)
    expect([news(), clock.pendingTimers]).toEqual([[], 0])
  })

  test.each([
    ['exit', ['wedged', 'fatal']],
    ['hold', ['wedged', 'fatal']],
    ['abandon', ['wedged']],
  ] as const)('is wedged when its time is up, and under policy %s tells %j', async (onWedged, told) => {
    const work = Promise.withResolvers<void>()
    const { clock, term, begin, news } = termOf({
      controllers: [stuck(work.promise)],
      config: { ...CONFIG, onWedged },
    })
    await begin()
    await clock.advance(100)
    const ended = term.endAlone()
    await clock.advance(899)
    const kinds = () => news().map((line) => (Array.isArray(line) ? line[0] : (line as { kind: string }).kind))
    expect(kinds()).not.toContain('wedged')
    await clock.advance(1)
    expect(kinds().filter((kind) => kind === 'wedged' || kind === 'fatal')).toEqual(told)
    work.resolve()
    await ended
  })

  test('is not over twice where it was over before', async () => {
    const work = Promise.withResolvers<void>()
    const { term, begin, news } = termOf({ controllers: [stuck(work.promise)] })
    await begin()
    const ended = term.endAlone()
    term.over({ outcome: 'lost', successor: undefined })
    news()
    work.resolve()
    await ended
    expect(news()).toEqual([])
  })
})
