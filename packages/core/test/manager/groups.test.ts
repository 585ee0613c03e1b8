import { describe, expect, test } from 'vitest'
import { untilEnd } from '../support/replica.ts'
import { createManager, extension, janitor } from '../support/virtual-manager.ts'
import { never } from '../support/never.ts'

describe('The groups of a manager', () => {
  test('start in order, servers, caches, always-on, warm-up, leaders, and stop in reverse', async () => {
    const log: string[] = []
    const { manager, clock, store } = createManager({
      extensions: [
        extension('cache', log, { group: 'caches' }),
        extension('server', log),
        extension('second server', log),
      ],
    })
    const logged = (name: string) => async (term: Parameters<typeof untilEnd>[0]) => {
      log.push(`start ${name}`)
      term.defer(() => log.push(`stop ${name}`))
      await untilEnd(term)
    }
    manager.register(() => janitor(logged('always-on')), { needsLeadership: false })
    manager.register(
      () => ({
        name: 'janitor',
        run: logged('leader'),
        warmUp: async (warm) => {
          log.push('start warm-up')
          warm.defer(() => log.push('stop warm-up'))
        },
      }),
      { warmUp: 'following' },
    )
    const other = { holderIdentity: 'other', leaseDurationSeconds: 1, acquireTime: '', renewTime: '' }
    const { signal } = new AbortController()
    await store.lock('lease').create({ ...other, leaseTransitions: 0, annotations: {} }, { signal })
    const running = manager.start()
    await clock.advance(2000)
    await manager.stop()
    await running
    expect(log).toEqual([
      'start server',
      'start second server',
      'start cache',
      'start always-on',
      'start warm-up',
      'start leader',
      'stop leader',
      'stop warm-up',
      'stop always-on',
      'stop cache',
      'stop second server',
      'stop server',
    ])
  })

  test('each have a budget of their own: a group that uses all its time takes none from the next', async () => {
    const log: string[] = []
    const slow = (name: string, ms: number) => ({
      stop: () =>
        new Promise<void>((resolve) => {
          clock.setTimer(ms, () => {
            log.push(`stopped ${name} at ${clock.now()}`)
            resolve()
          })
        }),
    })
    const { manager, clock } = createManager({
      lease: { name: 'lease', drainTimeoutMs: 1000, abortGraceMs: 1000 },
      groups: {
        servers: { stopTimeoutMs: 1000 },
        caches: { stopTimeoutMs: 1000 },
        alwaysOn: { drainTimeoutMs: 1000, abortGraceMs: 1000 },
      },
      extensions: [
        extension('server', [], slow('server', 900)),
        extension('cache', [], { group: 'caches', ...slow('cache', 900) }),
      ],
    })
    const lingering = () =>
      janitor((term) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        term.hardSignal.addEventListener('abort', () => clock.setTimer(900, resolve), { once: true })
        return promise
      })
    manager.register(lingering)
    manager.register(lingering, { needsLeadership: false })
    const running = manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(1900 + 1900 + 900 + 900)
    await running
    expect(log).toEqual(['stopped cache at 4700', 'stopped server at 5600'])
  })

  test('do not wait for an extension that is overdue: the rest stops, and the start rejects with its name', async () => {
    const log: string[] = []
    const { manager, clock } = createManager({
      groups: { servers: { stopTimeoutMs: 1000 } },
      extensions: [extension('first', log), extension('stuck', log, { stop: never })],
    })
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      code: 'EXTENSION_OVERDUE',
      message: 'Extension `stuck` did not stop within the 1000 ms of the group `servers`',
    })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(1000)
    await rejection
    expect(log).toEqual(['start first', 'start stuck', 'stop first'])
  })

  test('that fail more than once have all of it told, the first as the cause', async () => {
    const failing = (name: string) => extension(name, [], { stop: () => Promise.reject(new Error(name)) })
    const { manager, clock } = createManager({ extensions: [failing('a'), failing('b')] })
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      message: '2 failures: b; a',
      errors: [new Error('b'), new Error('a')],
      cause: new Error('b'),
    })
    await clock.runAllMicrotasks()
    await manager.stop()
    await rejection
  })
})

describe('Controllers that need no leadership', () => {
  test('have the budgets of their group', async () => {
    const fatal: Error[] = []
    const { manager, clock } = createManager({
      groups: { alwaysOn: { drainTimeoutMs: 100, abortGraceMs: 50 } },
      terminate: (error) => void fatal.push(error),
    })
    let abortedAt = 0
    manager.register(
      () =>
        janitor((term) => {
          term.hardSignal.addEventListener('abort', () => (abortedAt = clock.now()), { once: true })
          return never()
        }),
      { needsLeadership: false },
    )
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(149)
    expect([abortedAt, fatal]).toEqual([100, []])
    await clock.advance(1)
    expect(fatal).toMatchObject([{ code: 'WEDGED', tasks: [{ controller: 'janitor', ageMs: 150 }] }])
  })

  test('have a time of their own for cleanups', async () => {
    const fatal: Error[] = []
    const { manager, clock } = createManager({
      groups: { alwaysOn: { drainTimeoutMs: 100, abortGraceMs: 50, cleanupTimeoutMs: 500 } },
      terminate: (error) => void fatal.push(error),
    })
    manager.register(
      () =>
        janitor(async (term) => {
          term.defer(never)
          await untilEnd(term)
        }),
      { needsLeadership: false },
    )
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(499)
    expect(fatal).toEqual([])
    await clock.advance(1)
    expect(fatal).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'cleanup' }] }])
  })

  test('that make no progress end the manager', async () => {
    const { manager, clock } = createManager()
    manager.register(() => janitor(untilEnd), { needsLeadership: false, progressTimeoutMs: 1000 })
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      code: 'CONTROLLER_FAILED',
      cause: { code: 'NO_PROGRESS' },
    })
    await clock.advance(1000)
    await rejection
  })

  test('cannot warm up', () => {
    const { manager } = createManager()
    expect(() => manager.register(() => janitor(), { needsLeadership: false, warmUp: 'following' })).toThrow(
      'Expected `warmUp` to be given only for a controller that needs leadership',
    )
  })
})
