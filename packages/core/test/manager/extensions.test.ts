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
})
