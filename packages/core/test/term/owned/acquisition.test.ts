import { describe, expect, test } from 'vitest'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'

describe('term.acquire', () => {
  test('hands out what was opened, and closes it among the cleanups, last in first out', async () => {
    const { term } = freshTerm()
    const log: string[] = []
    const close = (name: string) => log.push(`close ${name}`)
    expect(await term.acquire('a', async () => 'a', close)).toBe('a')
    expect(await term.acquire('b', () => 'b', close)).toBe('b')
    term.defer(() => log.push('cleanup'))
    expect(log).toEqual([])
    term.end(ENDED)
    await term.scope.join()
    expect(log).toEqual(['cleanup', 'close b', 'close a'])
  })

  test('closes a resource that arrives after the end, before the term has ended, and does not return it', async () => {
    const { term, clock, left } = freshTerm()
    const opening = Promise.withResolvers<string>()
    const closing = Promise.withResolvers<void>()
    const closed: string[] = []
    const acquired = term.acquire(
      'database',
      () => opening.promise,
      async (connection) => {
        await closing.promise
        closed.push(connection)
      },
    )
    acquired.catch(() => {})
    term.end(ENDED)
    let isOver = false
    void term.scope.join().then(() => (isOver = true))
    await clock.runAllMicrotasks()
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'acquire database', waitsOn: '`open` of database' }])
    opening.resolve('connection')
    await expect(acquired).rejects.toBe(ENDED)
    expect([isOver, term.scope.liveTasks()[0]?.waitsOn]).toEqual([false, '`close` of database'])
    closing.resolve()
    await clock.runAllMicrotasks()
    expect([isOver, closed, left()]).toEqual([true, ['connection'], NOTHING])
  })

  test('closes a resource at once that arrives when the time of the term is up, although nothing has ended it yet', async () => {
    const { term, clock } = freshTerm()
    const opening = Promise.withResolvers<string>()
    const closed: unknown[] = []
    const acquired = term.acquire(
      'database',
      () => opening.promise,
      (connection, signal) => closed.push([connection, signal]),
    )
    const refused = expect(acquired).rejects.toBeUndefined()
    Object.assign(term, { admits: () => false })
    opening.resolve('connection')
    await clock.runAllMicrotasks()
    await refused
    expect([closed, term.taskCount]).toEqual([[['connection', term.hardSignal]], 0])
  })

  test('leaves a failure to open to the caller, who may try again', async () => {
    const { term, failures } = freshTerm()
    const closed: string[] = []
    const open = () => Promise.reject(new Error('refused'))
    await expect(term.acquire('database', open, () => closed.push('never'))).rejects.toThrow('refused')
    await term.acquire(
      'database',
      () => 'second',
      (name) => closed.push(name),
    )
    term.end(ENDED)
    await term.scope.join()
    expect([closed, failures]).toEqual([['second'], []])
  })

  test('tells the one who opens that the term ends', async () => {
    const { term } = freshTerm()
    const aborted = term.acquire(
      'database',
      (signal) => {
        const { promise, reject } = Promise.withResolvers<never>()
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        return promise
      },
      () => {},
    )
    term.end(ENDED)
    await expect(aborted).rejects.toBe(ENDED)
    await term.scope.join()
  })

  test('is refused once the term has ended, and opens nothing', () => {
    const { term } = freshTerm()
    let opened = 0
    term.end(ENDED)
    const acquire = () =>
      term.acquire(
        'database',
        () => (opened += 1),
        () => {},
      )
    expect(acquire).toThrow(ScopeClosedError)
    expect(acquire).toThrow('Task `acquire database` of controller `janitor` was refused')
    expect(opened).toBe(0)
  })
})

describe('term.use', () => {
  test('disposes of a resource among the cleanups, by its asynchronous method where it has both', async () => {
    const { term } = freshTerm()
    const log: string[] = []
    const both = {
      [Symbol.dispose]: () => log.push('both, synchronously'),
      [Symbol.asyncDispose]: async () => void log.push('both'),
    }
    expect(term.use(both)).toBe(both)
    term.use({ [Symbol.dispose]: () => log.push('one') })
    term.end(ENDED)
    await term.scope.join()
    expect(log).toEqual(['one', 'both'])
  })

  test('refuses what is no disposable', () => {
    const { term } = freshTerm()
    expect(() => term.use({} as Disposable)).toThrow('Expected `term.use()` to be given an object with')
    expect(() => term.use(null as unknown as Disposable)).toThrow('got `null`')
    expect(() => term.use({ [Symbol.dispose]: 7 } as unknown as Disposable)).toThrow('Expected `term.use()` to be')
    const callable = Object.assign(() => {}, { [Symbol.dispose]: () => {} })
    expect(() => term.use(callable)).toThrow('with `[Symbol.asyncDispose]` or `[Symbol.dispose]`, got `')
  })
})
