import { describe, expect, test } from 'vitest'
import type { Controller } from '../../src/controller/controller.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { BreakableLock } from '../support/breakable-lock.ts'
import { untilEnd } from '../support/replica.ts'
import { createManager, extension, janitor } from '../support/virtual-manager.ts'
import { never } from '../support/never.ts'

describe('A manager', () => {
  test('does nothing before it is started', async () => {
    const log: string[] = []
    const { clock, locks, manager } = createManager({ extensions: [extension('a', log)] })
    manager.register(() => janitor())
    await clock.advance(60_000)
    expect([log, locks, clock.pendingTimers]).toEqual([[], [], 0])
    expect(manager.state).toEqual({ kind: 'idle' })
  })

  test('starts many candidacies a few at a time, so that their renewals do not come all at once', async () => {
    const { manager, clock, locks } = createManager()
    for (let index = 1; index < 100; index++) manager.candidacy({ name: `lease-${index}` })
    const running = manager.start()
    await clock.advance(0)
    expect(locks).toHaveLength(10)
    await clock.advance(100)
    expect(locks).toHaveLength(60)
    await clock.advance(1000)
    expect(locks).toHaveLength(100)
    const stopping = manager.stop()
    await clock.advance(10_000)
    await Promise.all([stopping, running])
    expect(clock.pendingTimers).toBe(0)
  })

  test('starts no further candidacy after a stop', async () => {
    const { manager, clock, locks } = createManager()
    for (let index = 1; index < 100; index++) manager.candidacy({ name: `lease-${index}` })
    const running = manager.start()
    await clock.advance(50)
    const stopping = manager.stop()
    await clock.advance(10_000)
    await Promise.all([stopping, running])
    expect(locks).toHaveLength(30)
    expect(clock.pendingTimers).toBe(0)
  })

  test('starts no further candidacy after a failure', async () => {
    const { manager, clock, locks } = createManager({ restart: { maxRestarts: 0 } })
    for (let index = 1; index < 100; index++) manager.candidacy({ name: `lease-${index}` })
    const { promise: failing, reject: fail } = Promise.withResolvers<void>()
    manager.register(() => janitor(() => failing), { needsLeadership: false })
    const running = manager.start()
    running.catch(() => {})
    await clock.advance(50)
    fail(new Error('no socket'))
    await clock.advance(10_000)
    await expect(running).rejects.toMatchObject({ code: 'CONTROLLER_FAILED' })
    expect(locks).toHaveLength(30)
    expect(clock.pendingTimers).toBe(0)
  })

  test('starts extensions in order, then always-on controllers, then stands; and stops in reverse', async () => {
    const log: string[] = []
    const { manager, clock } = createManager({ extensions: [extension('a', log), extension('b', log)] })
    const logging = (name: string): Controller => ({
      name,
      run: async (term) => {
        log.push(`run ${name}`)
        term.defer(() => log.push(`end ${name}`))
        await untilEnd(term)
      },
    })
    manager.register(() => logging('leading')).register(() => logging('always'), { needsLeadership: false })
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(log).toEqual(['start a', 'start b', 'run always', 'run leading'])
    await manager.stop()
    await running
    expect(log.slice(4)).toEqual(['end leading', 'end always', 'stop b', 'stop a'])
    expect(clock.pendingTimers).toBe(0)
  })

  test('can be started once', async () => {
    const { manager } = createManager()
    const running = manager.start()
    await expect(manager.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' })
    await manager.stop()
    await running
    await expect(manager.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' })
  })

  test('cannot be started once it was stopped', async () => {
    const { manager } = createManager()
    await manager.stop()
    await expect(manager.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' })
  })

  test('gives the same promise to all who stop it, and that never rejects', async () => {
    const { manager } = createManager({
      extensions: [extension('bad', [], { start: () => Promise.reject(new Error('port in use')) })],
    })
    const running = manager.start()
    const stops = [manager.stop(), manager.stop()]
    expect(stops[0]).toBe(stops[1])
    await expect(running).rejects.toThrow('port in use')
    await stops[0]
  })

  test('is stopped by the end of its block', async () => {
    const { manager, clock, store } = createManager()
    manager.register(() => janitor())
    {
      await using running = manager
      void running.start()
      await clock.runAllMicrotasks()
      expect(manager.state.kind).toBe('leading')
    }
    expect(manager.state.kind).toBe('stopped')
    expect(store.read('lease')).toMatchObject({ record: { holderIdentity: '' } })
  })

  test('takes no controller, lease or bad factory after the start', async () => {
    const { manager } = createManager()
    expect(() => manager.register('nothing' as never)).toThrow(
      'a function that builds a controller, got `nothing` (string)',
    )
    const running = manager.start()
    expect(() => manager.register(() => janitor())).toThrow('to be called before `start()`')
    expect(() => manager.candidacy({ name: 'late' })).toThrow('to be called before `start()`')
    await manager.stop()
    await running
  })

  test('rejects with the cause and leaves nothing when an extension cannot start', async () => {
    const log: string[] = []
    const { manager, clock, locks } = createManager({
      extensions: [
        extension('a', log),
        extension('bad', log, { start: () => Promise.reject(new Error('port in use')) }),
        extension('c', log),
      ],
    })
    manager.register(() => janitor()).register(() => janitor(), { needsLeadership: false })
    await expect(manager.start()).rejects.toThrow('port in use')
    expect(log).toEqual(['start a', 'stop a'])
    expect([locks, clock.pendingTimers]).toEqual([[], 0])
  })

  test('stops the other extensions when one fails to stop, and rejects with that', async () => {
    const log: string[] = []
    const { manager, clock } = createManager({
      extensions: [
        extension('a', log),
        extension('bad', log, { stop: () => Promise.reject(new Error('stuck socket')) }),
      ],
    })
    const running = manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await expect(running).rejects.toThrow('stuck socket')
    expect(log).toEqual(['start a', 'start bad', 'stop a'])
  })

  test('stops in order, released and drained, when an always-on controller is beyond repair', async () => {
    const { manager, clock, store } = createManager({ restart: { maxRestarts: 0 } })
    manager.register(() => janitor())
    manager.register(() => janitor(() => Promise.reject(new Error('no socket'))), { needsLeadership: false })
    const running = manager.start()
    running.catch(() => {})
    await clock.advance(100)
    await expect(running).rejects.toMatchObject({ code: 'CONTROLLER_FAILED', cause: new Error('no socket') })
    const lease = store.read('lease')
    expect(lease.kind === 'present' ? lease.record.holderIdentity : '').toBe('')
  })

  test('rejects with bad options when two controllers have one name', async () => {
    const { manager, clock } = createManager()
    manager.register(() => janitor()).register(() => janitor())
    const running = manager.start()
    running.catch(() => {})
    await clock.advance(100)
    await expect(running).rejects.toMatchObject({ code: 'BAD_OPTIONS' })
    expect(clock.pendingTimers).toBe(0)
  })

  test('stands for several leases, each with its own controllers and health', async () => {
    const { manager, clock, store } = createManager()
    const leading: string[] = []
    const run = (name: string) => () =>
      janitor(async (term) => {
        leading.push(name)
        term.health.register('ok', () => {})
        await untilEnd(term)
      })
    manager.register(run('own'))
    manager.candidacy({ name: 'second' }).register(run('second'))
    expect(() => manager.candidacy({ name: 'second' })).toThrow(
      'Expected one candidacy for each lease, got `second` twice',
    )
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(leading).toEqual(['own', 'second'])
    expect(manager.livez.names).toEqual(
      expect.arrayContaining(['leader-election', 'janitor.ok', 'second.leader-election', 'second.janitor.ok']),
    )
    await manager.stop()
    await running
    for (const name of ['lease', 'second']) {
      expect(store.read(name)).toMatchObject({ record: { holderIdentity: '' } })
    }
  })

  test('tells listeners everything until they leave', async () => {
    const { manager, clock } = createManager()
    const kinds: string[] = []
    const leave = manager.on((event) => kinds.push(event.kind))
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(kinds).toContain('term-began')
    leave()
    const before = kinds.length
    await manager.stop()
    await running
    expect(kinds).toHaveLength(before)
  })

  test('is ready once it has seen the lease, leading or not, and not while it shuts down', async () => {
    const { manager, clock, locks } = createManager()
    const failing = async () =>
      (await manager.readyz.run()).flatMap(({ name, failure }) => (failure === undefined ? [] : [name]))
    expect(await failing()).toEqual(['lease-observed'])
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(await failing()).toEqual([])
    const stopped = manager.stop()
    expect(await failing()).toContain('shutdown')
    await stopped
    await running
    expect(locks).toHaveLength(1)
  })

  test('is ready once it has joined the standbys, so that a rollout stops the next leader only when a successor is known', async () => {
    const store = new MemoryLeaseStore()
    const leader = createManager({ createLock: () => store.lock('lease') })
    const { clock } = leader
    const running = [leader.manager.start()]
    await clock.runAllMicrotasks()
    const random = () => 0.5
    const next = createManager({
      clock,
      random,
      identity: 'next',
      revision: '2',
      createLock: () => store.lock('lease'),
    })
    running.push(next.manager.start())
    await clock.runAllMicrotasks()
    const failure = async () => (await next.manager.readyz.runOne('standby'))?.failure?.message
    expect(await failure()).toBe('the replica has not joined the standbys of the lease `lease` yet')
    await clock.advance(75)
    expect(await failure()).toBeUndefined()
    await Promise.all([leader.manager.stop(), next.manager.stop()])
    await Promise.all(running)
  })

  test.each(['not-found', 'forbidden', 'unauthenticated', 'rejected'] as const)(
    'is not ready, and explains why, while the write that acquires the lease is refused as %s, until it succeeds',
    async (failure) => {
      let broken: BreakableLock | undefined
      const store = new MemoryLeaseStore()
      const createLock = () => {
        broken ??= new BreakableLock(store.lock('lease'))
        broken.failure = failure
        return broken
      }
      const { manager, clock } = createManager({ createLock })
      const running = manager.start()
      await clock.advance(5000)
      const check = async () => (await manager.readyz.runOne('lease-writable'))?.failure?.message
      expect(await check()).toBe(`the lease \`lease\` cannot be acquired: broken: ${failure}`)
      expect(manager.candidacies[0]?.explain()).toContain(`broken: ${failure}`)
      if (broken !== undefined) broken.failure = undefined
      await clock.advance(10_000)
      expect(manager.state.kind).toBe('leading')
      expect(await check()).toBeUndefined()
      await manager.stop()
      await running
    },
  )

  test.each(['unreachable', 'throttled', 'unknown-outcome', 'conflict'] as const)(
    'stays ready when the write that acquires the lease fails as %s, which passes by itself',
    async (failure) => {
      const { manager, clock, locks } = createManager()
      manager.on((event) => {
        if (event.kind === 'request-failed' && locks[0] !== undefined) locks[0].failure = undefined
      })
      const running = manager.start()
      if (locks[0] !== undefined) locks[0].failure = failure
      await clock.advance(1)
      expect((await manager.readyz.runOne('lease-writable'))?.failure).toBeUndefined()
      await clock.advance(20_000)
      await manager.stop()
      await running
    },
  )

  test('is ready while another replica leads', async () => {
    const { manager, clock, store } = createManager()
    const time = '2026-01-01T00:00:00.000000Z'
    store.write(
      'lease',
      {
        holderIdentity: 'other',
        leaseDurationSeconds: 15,
        acquireTime: time,
        renewTime: time,
        leaseTransitions: 0,
        annotations: {},
      },
      undefined,
    )
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(manager.state).toMatchObject({ kind: 'following', observedLeader: 'other' })
    expect((await manager.readyz.run()).filter(({ failure }) => failure !== undefined)).toEqual([])
    await manager.stop()
    await running
  })

  test('steps down and stands again', async () => {
    const { manager, clock } = createManager()
    manager.register(() => janitor())
    const running = manager.start()
    await clock.runAllMicrotasks()
    const result = manager.stepDown({ cooldownMs: 100 })
    await clock.advance(50)
    expect(await result).toMatchObject({ kind: 'stepped-down', outcome: 'released' })
    await clock.advance(50)
    expect(manager.state).toMatchObject({ kind: 'leading' })
    await manager.stop()
    await running
  })

  test('rejects with what is wedged where nothing ends the process', async () => {
    const { manager, clock } = createManager()
    manager.register(() => janitor(() => never()))
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({ code: 'WEDGED', tasks: [{ controller: 'janitor' }] })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(24_000)
    await rejection
  })

  test('names an always-on controller that does not end', async () => {
    const errors: Error[] = []
    const { manager, clock } = createManager({ terminate: (error) => void errors.push(error) })
    manager.register(() => janitor(() => never()), { needsLeadership: false })
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(23_999)
    expect(errors).toEqual([])
    await clock.advance(1)
    expect(errors).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'run', controller: 'janitor', ageMs: 24_000 }] }])
    expect(errors[0]?.message).toMatch(/^The always-on controllers did not drain in time; still running: janitor\/run /)
  })

  test('starts no controller when it was stopped while its extensions start', async () => {
    const ready = Promise.withResolvers<void>()
    const { manager, locks } = createManager({ extensions: [extension('slow', [], { start: () => ready.promise })] })
    let built = 0
    manager.register(() => (built++, janitor()), { needsLeadership: false }).register(() => (built++, janitor()))
    const running = manager.start()
    const stopped = manager.stop()
    ready.resolve()
    await Promise.all([running, stopped])
    expect([built, locks]).toEqual([0, []])
  })

  test('closes everything and rejects with the cause when a lock fails to close', async () => {
    const log: string[] = []
    const failing = (name: string) =>
      Object.assign(new BreakableLock(new MemoryLeaseStore().lock(name)), {
        close: () => Promise.reject(new Error('stuck socket')),
      })
    const { manager, clock } = createManager({
      extensions: [extension('a', log)],
      createLock: (lease) => failing(lease.name),
    })
    const running = manager.start()
    const rejection = expect(running).rejects.toThrow('stuck socket')
    await clock.runAllMicrotasks()
    await manager.stop()
    await rejection
    expect(log).toEqual(['start a', 'stop a'])
  })

  test('has the process ended, once, when a drain is wedged', async () => {
    const fatal: unknown[] = []
    const { manager, clock } = createManager({ terminate: (error) => fatal.push(error) })
    manager.register(() => janitor(() => never()))
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stepDown()
    await clock.advance(60_000)
    expect(fatal).toMatchObject([{ code: 'WEDGED' }])
  })
})

describe('The options of a manager', () => {
  test.each<[Parameters<typeof createManager>[0], string]>([
    [{ identity: '' }, 'Expected `identity` to be a text that is not empty, got ``'],
    [{ identity: ' ' }, 'Expected `identity` to be a text that is not empty'],
    [{ lease: { name: '' } }, 'Expected `lease.name` to be a text that is not empty'],
    [{ lease: { name: 'a', leaseDuration: 1 } as never }, 'did you mean `leaseDurationMs`?'],
    [{ lease: { name: 'a', missingLease: 'ignore' as never } }, 'Expected `missingLease` to be one of create, wait'],
    [{ lease: { name: 'a', renewDeadlineMs: 20_000 } }, 'got `20000 + 1000 > 14250`'],
    [{ onWedged: 'ignore' as never }, 'Expected `onWedged` to be one of exit, hold, abandon, got `ignore`'],
    [{ rollout: 'new' as never }, 'Expected `rollout` to be one of prefer-new, eager, off, never-lead, got `new`'],
    [{ revision: '' }, 'Expected `revision` to be a text of 1 to 253 printable characters, got ``'],
    [{ revision: '  ' }, 'Expected `revision` to be a text of 1 to 253 printable characters, got `  `'],
    [{ revision: 'a'.repeat(10_000) }, 'Expected `revision` to be a text of 1 to 253 printable characters'],
    // As JSON, three of these are longer than a list of standbys that is read.
    [{ revision: '\u0001'.repeat(253) }, 'Expected `revision` to be a text of 1 to 253 printable characters'],
    [{ revision: '\ud800' }, 'Expected `revision` to be a text of 1 to 253 printable characters'],
    [{ revision: 7 as never }, 'Expected `revision` to be a text of 1 to 253 printable characters, got `7`'],
    [{ zone: '' }, 'Expected `zone` to be a text of 1 to 63 printable characters, got ``'],
    [{ zone: 'a'.repeat(64) }, 'Expected `zone` to be a text of 1 to 63 printable characters'],
    [{ zone: 7 as never }, 'Expected `zone` to be a text of 1 to 63 printable characters, got `7`'],
    [{ restart: { maxRestarts: -1 } }, 'Expected `restart.maxRestarts`'],
    [{ lease: { name: 'a', cleanupTimeoutMs: -1 } }, 'Expected `cleanupTimeoutMs` to be a number of milliseconds'],
    [{ groups: { leaders: {} } as never }, 'Unknown option `leaders` in `groups`'],
    [{ groups: { servers: { stopTimeout: 1 } as never } }, 'did you mean `stopTimeoutMs`?'],
    [{ groups: { caches: { stopTimeoutMs: Number.NaN } } }, 'Expected `groups.caches.stopTimeoutMs`'],
    [{ groups: { alwaysOn: { drainTimeoutMs: -1 } } }, 'Expected `groups.alwaysOn.drainTimeoutMs`'],
    [
      { extensions: [{ ...extension('a', []), group: 'webhooks' as never }] },
      'Expected `group` to be one of servers, caches',
    ],
    [{ featureGates: { Graceful: true } as never }, 'Unknown feature gate `Graceful`'],
  ])('%o are refused at once', (options, message) => {
    expect(() => createManager(options)).toThrow(message)
  })
})
