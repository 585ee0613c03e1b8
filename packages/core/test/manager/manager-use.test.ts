import { describe, expect, test } from 'vitest'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import type { Manager } from '../../src/manager/manager.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import { BreakableLock } from '../support/breakable-lock.ts'
import { never } from '../support/never.ts'
import { createManager, extension, janitor } from '../support/virtual-manager.ts'

/** A logger that keeps the errors. */
function errorLog() {
  const errors: (readonly [object, string])[] = []
  const logger = {
    ...silentLogger,
    error: (fields: object, text: string) => void errors.push([fields, text]),
    child: () => logger,
  }
  return { errors, logger }
}

describe('A manager that was started, or stopped before', () => {
  test.each(['start', 'stop'] as const)('takes nothing more after `%s()`', async (call) => {
    const { manager } = createManager()
    const called = manager[call]()
    const tooLate = (name: string) => `Expected \`${name}\` to be called before \`start()\` and \`stop()\``
    expect(() => manager.register(() => janitor())).toThrow(tooLate('register()'))
    expect(() => manager.use(extension('a', []))).toThrow(tooLate('use()'))
    expect(() => manager.candidacy({ name: 'late' })).toThrow(tooLate('candidacy()'))
    await expect(manager.start()).rejects.toThrow(
      'Expected `start()` to be called once, on a manager that was not stopped',
    )
    await manager.stop()
    await called
  })
})

describe('A manager refuses', () => {
  test.each<[string, (manager: Manager) => unknown, string]>([
    [
      'an unknown option of a controller',
      (manager) => manager.register(() => janitor(), { needLeadership: true } as never),
      'Unknown option `needLeadership` in `register()`; did you mean `needsLeadership`?',
    ],
    [
      'a value for `needsLeadership` that is not a boolean',
      (manager) => manager.register(() => janitor(), { needsLeadership: 'no' as never }),
      'Expected `needsLeadership` to be true or false, got `no` (string)',
    ],
    [
      'a value for `proveDeath` that is not a boolean',
      (manager) => manager.candidacy({ name: 'second', proveDeath: 'yes' as never }),
      'Expected `proveDeath` to be true or false, got `yes` (string)',
    ],
    [
      'a value for `missingLease` that does not exist',
      (manager) => manager.candidacy({ name: 'second', missingLease: 'ignore' as never }),
      'Expected `missingLease` to be one of create, wait, got `ignore` (string)',
    ],
    [
      'a lease without a name',
      (manager) => manager.candidacy({} as never),
      'Expected `lease.name` to be a text that is not empty, got `undefined`',
    ],
    [
      'an unknown option of a lease',
      (manager) => manager.candidacy({ name: 'second', label: {} } as never),
      'Unknown option `label` in `lease`; did you mean `labels`?',
    ],
  ])('%s', (_, call, message) => {
    const { manager } = createManager()
    expect(() => call(manager)).toThrow(message)
    expect(manager.candidacies.map(({ lease }) => lease)).toEqual(['lease'])
  })
})

test('A manager whose lock cannot be made stops, and rejects with that', async () => {
  const log: string[] = []
  const error = new Error('no kubeconfig')
  const { manager, clock } = createManager({
    extensions: [extension('a', log)],
    createLock: () => {
      throw error
    },
  })
  const running = manager.start()
  const rejection = expect(running).rejects.toBe(error)
  await clock.runAllMicrotasks()
  await rejection
  expect(log).toEqual(['start a', 'stop a'])
})

describe('A manager logs', () => {
  test('a listener that throws, and calls the others', async () => {
    const { errors, logger } = errorLog()
    const { manager, clock } = createManager({ logger })
    const err = new Error('no metrics')
    const seen: string[] = []
    manager.on(({ kind }) => {
      if (kind === 'term-began') throw err
    })
    manager.on(({ kind }) => void seen.push(kind))
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(errors).toEqual([[{ lease: 'lease', event: 'term-began', err }, 'a listener failed: no metrics']])
    expect(seen).toContain('term-began')
    await manager.stop()
    await running
  })

  test('why it stops', async () => {
    const { errors, logger } = errorLog()
    const err = new Error('port in use')
    const { manager } = createManager({
      logger,
      extensions: [extension('bad', [], { start: () => Promise.reject(err) })],
    })
    await expect(manager.start()).rejects.toBe(err)
    expect(errors).toEqual([[{ event: 'failed', err }, 'port in use']])
  })

  test('why the process must end at once', async () => {
    const { errors, logger } = errorLog()
    const fatal: Error[] = []
    const { manager, clock } = createManager({ logger, terminate: (error) => void fatal.push(error) })
    manager.register(() => janitor(() => never()))
    void manager.start()
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(60_000)
    const [err] = fatal
    expect(fatal).toMatchObject([{ code: 'WEDGED' }])
    expect(errors.filter(([fields]) => 'event' in fields && fields.event === 'fatal')).toEqual([
      [{ event: 'fatal', err }, err?.message],
    ])
    expect(errors.filter(([fields]) => 'event' in fields && fields.event === 'failed')).toEqual([])
  })
})

describe('A manager whose work cannot be stopped', () => {
  test('closes its extensions, and rejects with what is wedged', async () => {
    const log: string[] = []
    const { manager, clock } = createManager({ extensions: [extension('a', log)] })
    manager.register(() => janitor(() => never()))
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({ code: 'WEDGED' })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(24_000)
    await rejection
    expect(log).toEqual(['start a', 'stop a'])
  })

  test('and which cannot end the process rejects with both failures, the first as the cause', async () => {
    const cause = new Error('no such process')
    const { manager, clock } = createManager({
      terminate: () => {
        throw cause
      },
    })
    manager.register(() => janitor(() => never()))
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({
      message: expect.stringMatching(/^2 failures: no such process; The term with epoch 1 on `lease` did not drain/),
      errors: [cause, { code: 'WEDGED' }],
      cause,
    })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(24_000)
    await rejection
  })

  test('ends always-on controllers after the terms of all candidacies, although one of these fails to stop', async () => {
    const log: string[] = []
    const store = new MemoryLeaseStore()
    const { manager, clock } = createManager({
      createLock: ({ name }) => {
        const lock = new BreakableLock(store.lock(name))
        return name === 'lease' ? Object.assign(lock, { close: () => Promise.reject(new Error('stuck socket')) }) : lock
      },
    })
    const logged = (name: string) => () =>
      janitor(async (term) => {
        term.defer(() => log.push(`end ${name}`))
        await term.sleep(1e12)
      })
    manager.register(logged('always'), { needsLeadership: false })
    manager.candidacy({ name: 'second' }).register(logged('second'))
    const running = manager.start()
    const rejection = expect(running).rejects.toThrow('stuck socket')
    await clock.runAllMicrotasks()
    await manager.stop()
    await rejection
    expect(log).toEqual(['end second', 'end always'])
  })
})

test('A listener hears nothing after the manager has stopped', async () => {
  const { manager, clock, store } = createManager()
  const kinds: string[] = []
  manager.on(({ kind }) => void kinds.push(kind))
  const running = manager.start()
  await clock.runAllMicrotasks()
  await manager.stop()
  await running
  const before = kinds.length
  await clock.advance(60_000)
  expect(kinds.slice(before)).toEqual([])
  expect(kinds.at(-1)).toBe('state')
  expect(store.read('lease')).toMatchObject({ record: { holderIdentity: '' } })
})
