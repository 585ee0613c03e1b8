import { describe, expect, test } from 'vitest'
import type { Extension } from '../../src/manager/extension.ts'
import { untilEnd } from '../support/replica.ts'
import { createManager, extension, janitor } from '../support/virtual-manager.ts'

describe('An extension of a manager', () => {
  test('sees the manager at its start', async () => {
    const seen: unknown[] = []
    const { manager, clock } = createManager()
    manager.use({ name: 'observer', start: (host) => void seen.push(host) })
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(seen).toEqual([manager])
  })

  test('may have any of the methods alone', async () => {
    const log: string[] = []
    const { manager, clock } = createManager()
    manager
      .use({ name: 'starter', start: () => void log.push('start') })
      .use({ name: 'stopper', stop: () => void log.push('stop') })
      .use({ name: 'observer', onEvent: ({ kind }) => void log.push(kind) })
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(log.at(0)).toBe('start')
    expect(log).toContain('state')
    expect(log.at(-1)).toBe('stop')
  })

  test('receives the events in the order of use(), also after another extension has thrown', async () => {
    const log: string[] = []
    const observer = (name: string): Extension => ({
      name,
      onEvent: ({ kind }) => {
        if (kind === 'term-began') log.push(name)
        throw new Error(name)
      },
    })
    const { manager, clock } = createManager({ extensions: [observer('a'), observer('b')] })
    manager.register(() => janitor())
    const running = manager.start()
    await clock.advance(1000)
    await manager.stop()
    await running
    expect(log).toEqual(['a', 'b'])
  })

  test('is attached to every run of every controller, always-on ones included, and detached after its last cleanup', async () => {
    const log: string[] = []
    const { manager, clock } = createManager()
    const logged = (name: string) =>
      janitor(async (term) => {
        term.defer(() => log.push(`cleanup ${name}`))
        await untilEnd(term)
      }, name)
    manager
      .register(() => logged('leader'))
      .register(() => logged('always-on'), { needsLeadership: false })
      .use({
        name: 'observer',
        onTerm: ({ controller }) => {
          log.push(`attach ${controller}`)
          return () => log.push(`detach ${controller}`)
        },
      })
    const running = manager.start()
    await clock.advance(1000)
    await manager.stop()
    await running
    expect(log).toEqual([
      'attach always-on',
      'attach leader',
      'cleanup leader',
      'detach leader',
      'cleanup always-on',
      'detach always-on',
    ])
  })

  test('that fails to start is not stopped', async () => {
    const log: string[] = []
    const bad = extension('bad', log, { start: () => Promise.reject(new Error('no port')) })
    const { manager } = createManager({ extensions: [bad] })
    await expect(manager.start()).rejects.toThrow('no port')
    expect(log).toEqual([])
  })

  test('is refused twice, and after the start', async () => {
    const { manager, clock } = createManager()
    const used = extension('a', [])
    manager.use(used)
    expect(() => manager.use(used)).toThrow('got `a` twice')
    const running = manager.start()
    expect(() => manager.use(extension('b', []))).toThrow('`use()`')
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
  })

  test('is started no more once the manager stops while another one starts', async () => {
    const log: string[] = []
    const ready = Promise.withResolvers<void>()
    const { manager, clock } = createManager({
      extensions: [extension('slow', log, { start: () => ready.promise }), extension('next', log)],
    })
    const running = manager.start()
    await clock.runAllMicrotasks()
    const stopped = manager.stop()
    ready.resolve()
    await Promise.all([running, stopped])
    expect(log).toEqual(['stop slow'])
  })

  test('that misses its stop timeout keeps none of its group waiting, and nothing follows when it fails later', async () => {
    const stuck = Promise.withResolvers<void>()
    const log: string[] = []
    const { manager, clock } = createManager({
      groups: { servers: { stopTimeoutMs: 1000 } },
      extensions: [
        extension('first', log, { stop: () => (log.push('stop first'), stuck.promise) }),
        extension('stuck', log, { stop: () => stuck.promise }),
      ],
    })
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      name: 'ExtensionOverdueError',
      message: 'Extension `stuck` did not stop within the 1000 ms of the group `servers`',
    })
    await clock.runAllMicrotasks()
    const stopped = manager.stop()
    await clock.advance(1000)
    await rejection
    stuck.reject(new Error('too late'))
    await stopped
    expect(log).toEqual(['start first', 'start stuck', 'stop first'])
  })

  test('leaves no timer when it stops in time', async () => {
    const { manager, clock } = createManager({ extensions: [extension('a', [])] })
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(clock.pendingTimers).toBe(0)
  })

  test('that is attached to a run may have nothing to detach', async () => {
    const { manager, clock } = createManager({ extensions: [{ name: 'a', onTerm: () => undefined as never }] })
    manager.register(() => janitor())
    const running = manager.start()
    await clock.runAllMicrotasks()
    await manager.stop()
    await running
    expect(manager.state).toEqual({ kind: 'stopped' })
  })

  test.each<[unknown, string]>([
    [undefined, 'Expected `use()` to be given an extension, got `undefined`'],
    [null, 'Expected `use()` to be given an extension, got `null`'],
    [() => {}, 'Expected `use()` to be given an extension, got `'],
    [{ stop: () => {} }, 'Expected the `name` of an extension to be a text that is not empty, got `undefined`'],
    [{ name: '', stop: () => {} }, 'Expected the `name` of an extension to be a text that is not empty, got ``'],
    [{ name: 'a', group: 'x', stop: () => {} }, 'Expected `group` to be one of servers, caches, got `x` (string)'],
    [{ name: 'a', start: 7 }, 'Expected `start` of extension `a` to be a function, got `7` (number)'],
    [{ name: 'a', stop: 7 }, 'Expected `stop` of extension `a` to be a function, got `7` (number)'],
    [{ name: 'a', onEvent: 7 }, 'Expected `onEvent` of extension `a` to be a function, got `7` (number)'],
    [{ name: 'a', onTerm: 7 }, 'Expected `onTerm` of extension `a` to be a function, got `7` (number)'],
    [{ name: 'a' }, 'Expected extension `a` to have one of start, stop, onEvent, onTerm, got none'],
  ])('must not be %o', (value, message) => {
    const { manager } = createManager()
    expect(() => manager.use(value as Extension)).toThrow(message)
  })

  test('is refused twice with its name', () => {
    const { manager } = createManager()
    const used = extension('a', [])
    manager.use(used).use(extension('b', []))
    expect(() => manager.use(used)).toThrow('Expected `use()` to be called once for each extension, got `a` twice')
  })
})
