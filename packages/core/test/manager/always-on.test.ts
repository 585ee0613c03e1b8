import { describe, expect, test } from 'vitest'
import type { Controller } from '../../src/controller/controller.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import type { Term } from '../../src/term/term.ts'
import { never } from '../support/never.ts'
import { untilEnd } from '../support/replica.ts'
import { createManager, janitor } from '../support/virtual-manager.ts'

const needsNone = { needsLeadership: false } as const

/** A manager that writes down its errors. */
function withErrors(options: Parameters<typeof createManager>[0] = {}) {
  const errors: (readonly [object, string])[] = []
  const logger = {
    ...silentLogger,
    error: (fields: object, text: string) => void errors.push([fields, text]),
    child: () => logger,
  }
  return { ...createManager({ logger, ...options }), errors }
}

describe('A controller that needs no leadership', () => {
  test('is built once for its first run, and once for each further run', async () => {
    const { manager, clock } = createManager()
    let builds = 0
    manager.register(() => {
      const run = ++builds
      return janitor(async (term) => {
        await term.sleep(run === 1 ? 1000 : 1e12)
        throw new Error('no socket')
      })
    }, needsNone)
    const running = manager.start()
    await clock.advance(999)
    expect(builds).toBe(1)
    await clock.advance(201)
    expect(builds).toBe(2)
    await manager.stop()
    await running
  })

  test('whose factory throws at the start is built again, and the log says why', async () => {
    const { manager, clock, errors } = withErrors()
    let builds = 0
    let runs = 0
    const err = new Error('database is down')
    manager.register((): Controller => {
      if (builds++ < 2) throw err
      return janitor((term) => (runs++, untilEnd(term)))
    }, needsNone)
    const running = manager.start()
    await clock.advance(1000)
    expect([builds, runs]).toEqual([3, 1])
    expect(errors).toEqual([
      [
        { event: 'controller-failed', controller: 'controller-1', restartInMs: 200, err },
        'controller controller-1 failed: database is down',
      ],
    ])
    await manager.stop()
    await running
  })

  test('has the failure of its run logged, with the remedy', async () => {
    const { manager, clock, errors } = withErrors({ restart: { maxRestarts: 0 } })
    const err = new Error('A metric with the name runs_total has already been registered.')
    manager.register(() => janitor(() => Promise.reject(err)), needsNone)
    const running = manager.start()
    running.catch(() => {})
    await clock.advance(1000)
    expect(errors[0]).toEqual([
      { event: 'controller-failed', controller: 'janitor', restartInMs: undefined, err },
      'controller janitor failed: A metric with the name runs_total has already been registered. Define it with `registers: [metrics(term)]`: such a metric ends with its run',
    ])
  })

  test('has the failure of a task logged that fails while it ends', async () => {
    const { manager, clock, errors } = withErrors()
    const err = new Error('disk full')
    manager.register(() => janitor((term) => untilEnd(term).catch(() => Promise.reject(err))), needsNone)
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(errors).toEqual([[{ controller: 'janitor', task: 'run', err }, 'task failed while its controller ended']])
  })

  test('serves its health checks under its name, until its run is over', async () => {
    const { manager, clock } = createManager()
    manager.register(
      () =>
        janitor(async (term) => {
          term.health.register('socket', () => {})
          await untilEnd(term)
        }, 'server'),
      needsNone,
    )
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(manager.livez.names).toEqual(['leader-election', 'ping', 'server.socket'])
    await manager.stop()
    await running
    expect(manager.livez.names).toEqual(['leader-election', 'ping'])
  })

  test('has no term to step down from, so it goes on', async () => {
    const { manager, clock } = createManager()
    const terms: Term[] = []
    manager.register(
      () =>
        janitor(async (term) => {
          terms.push(term)
          term.stepDown()
          await untilEnd(term)
        }),
      needsNone,
    )
    const running = manager.start()
    await clock.advance(1000)
    expect(terms.map(({ signal }) => signal.aborted)).toEqual([false])
    expect(manager.state.kind).toBe('leading')
    await manager.stop()
    await running
  })

  test('ends because of the shutdown, without a hard abort when it ends in time', async () => {
    const { manager, clock } = createManager()
    const terms: Term[] = []
    manager.register(() => janitor((term) => (terms.push(term), untilEnd(term))), needsNone)
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    await clock.advance(60_000)
    const [term] = terms
    expect(term?.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'shutdown', epoch: undefined })
    expect(term?.hardSignal.aborted).toBe(false)
    expect(clock.pendingTimers).toBe(0)
  })

  test('that is wedged leaves its error, once, in the log and to the start', async () => {
    const { manager, clock, errors } = withErrors()
    manager.register(() => janitor(() => never(), 'first'), needsNone)
    manager.register(() => janitor(() => never(), 'second'), needsNone)
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      code: 'WEDGED',
      tasks: [{ controller: 'first' }, { controller: 'second' }],
    })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(60_000)
    await rejection
    expect(errors.map(([fields]) => fields)).toMatchObject([
      { event: 'fatal', err: { code: 'WEDGED' } },
      { event: 'failed', err: { code: 'WEDGED' } },
    ])
    expect(errors[0]?.[1]).toMatch(
      /^The always-on controllers did not drain in time; still running: first\/run \(24000 ms.*second\/run \(24000 ms/,
    )
  })

  test('sees `always-on` in the place of its lease', async () => {
    const { manager, clock } = createManager()
    const leases: string[] = []
    manager.register(() => janitor((term) => (leases.push(term.lease), untilEnd(term))), needsNone)
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(leases).toEqual(['always-on'])
  })

  test('is aborted in time although another one has only cleanups left', async () => {
    const { manager, clock } = createManager({ groups: { alwaysOn: { drainTimeoutMs: 1000 } } })
    const terms: Term[] = []
    const { promise: cleaned, resolve: endCleanup } = Promise.withResolvers<void>()
    manager.register(
      () =>
        janitor(async (term) => {
          term.defer(() => cleaned)
          await untilEnd(term)
        }, 'quick'),
      needsNone,
    )
    manager.register(
      () =>
        janitor(async (term) => {
          terms.push(term)
          await term.spawn('upload', (signal) => untilAbort(signal), { finishOnDrain: true })
        }, 'slow'),
      needsNone,
    )
    const running = manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(999)
    expect(terms[0]?.hardSignal.aborted).toBe(false)
    await clock.advance(1)
    expect(terms[0]?.hardSignal.aborted).toBe(true)
    endCleanup()
    await clock.runAllMicrotasks()
    await running
  })

  test('whose cleanup takes too long is wedged at once, and the others still have the time of their group', async () => {
    const fatal: Error[] = []
    const { manager, clock } = createManager({
      groups: { alwaysOn: { cleanupTimeoutMs: 500 } },
      terminate: (error) => void fatal.push(error),
    })
    const terms: Term[] = []
    manager.register(
      () =>
        janitor(async (term) => {
          term.defer(never)
          await untilEnd(term)
        }, 'stuck'),
      needsNone,
    )
    manager.register(() => janitor((term) => (terms.push(term), never()), 'other'), needsNone)
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(499)
    expect(fatal).toEqual([])
    await clock.advance(1)
    expect(fatal).toMatchObject([
      {
        code: 'WEDGED',
        tasks: [
          { controller: 'stuck', name: 'cleanup' },
          { controller: 'other', name: 'run' },
        ],
      },
    ])
    expect(terms[0]?.hardSignal.aborted).toBe(false)
    await clock.advance(19_500)
    expect(terms[0]?.hardSignal.aborted).toBe(true)
  })
})

/** Resolves when the signal aborts. */
function untilAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
