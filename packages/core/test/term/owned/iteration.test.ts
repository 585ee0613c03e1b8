import { EventEmitter, on } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'
import { collectGarbage } from '../../../../testing/src/leaks/collect-garbage.ts'
import { never } from '../../support/never.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** A source that yields the given values and reports when it is closed. */
function source() {
  const asked: PromiseWithResolvers<IteratorResult<number>>[] = []
  const log: string[] = []
  const closing = Promise.withResolvers<void>()
  const iterator: AsyncIterator<number> = {
    next: () => {
      const next = Promise.withResolvers<IteratorResult<number>>()
      asked.push(next)
      return next.promise
    },
    return: async () => {
      log.push('return')
      await closing.promise
      log.push('closed')
      return { done: true, value: undefined }
    },
  }
  return { asked, log, closing, iterable: { [Symbol.asyncIterator]: () => iterator } }
}

async function collect<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item)
  return into
}

describe('term.iterate', () => {
  test('hands out every item of a source that ends, does not close it twice, and leaves nothing', async () => {
    const { term, left } = freshTerm()
    const { iterable, asked, log } = source()
    const loop = collect(term.iterate(iterable))
    asked[0]?.resolve({ value: 1, done: false })
    await nextTurn()
    asked[1]?.resolve({ value: undefined, done: true })
    expect(await loop).toEqual([1])
    await nextTurn()
    expect([log, left()]).toEqual([[], NOTHING])
  })

  test('ends the loop when the term ends, also while an item is awaited, and is a task until the source has closed', async () => {
    const { term, clock, left } = freshTerm()
    const { iterable, log, closing } = source()
    const loop = collect(term.iterate(iterable))
    await clock.runAllMicrotasks()
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'iterate', waitsOn: 'the next item of `term.iterate`' }])
    term.end(ENDED)
    expect(await loop).toEqual([])
    expect(log).toEqual(['return'])
    expect(term.scope.liveTasks()).toMatchObject([
      { name: 'iterate', waitsOn: '`return()` of the source of `term.iterate`' },
    ])
    closing.resolve()
    await term.scope.join()
    expect([log, left()]).toEqual([['return', 'closed'], NOTHING])
  })

  test('closes the source when the loop is left early', async () => {
    const { term, left } = freshTerm()
    const log: string[] = []
    async function* count() {
      try {
        for (let n = 0; ; n++) yield n
      } finally {
        log.push('closed')
      }
    }
    for await (const n of term.iterate(count())) if (n === 2) break
    expect([log, left()]).toEqual([['closed'], NOTHING])
  })

  test('hands the failure of a source to the loop, and leaves nothing', async () => {
    const { term, left, failures } = freshTerm()
    const broken = Readable.from(
      (async function* () {
        yield 1
        throw new Error('broken')
      })(),
    )
    const items: unknown[] = []
    await expect(collect(term.iterate(broken), items)).rejects.toThrow('broken')
    await nextTurn()
    expect([items, failures, left()]).toEqual([[1], [], NOTHING])
  })

  test('reports a source that fails to close', async () => {
    const { term, failures } = freshTerm()
    const failing: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.withResolvers<IteratorResult<number>>().promise,
        return: () => Promise.reject(new Error('cannot close')),
      }),
    }
    const loop = collect(term.iterate(failing))
    term.end(ENDED)
    await loop
    await term.scope.join()
    expect(failures).toEqual([new Error('cannot close')])
  })

  test('yields nothing once the term has ended, and does not touch the source', async () => {
    const { term } = freshTerm()
    const { iterable, asked } = source()
    term.end(ENDED)
    expect(await collect(term.iterate(iterable))).toEqual([])
    expect(asked).toEqual([])
  })

  test.each([undefined, null, 7, 'text', {}, [1, 2]])('refuses %j, over which nobody can loop', (value) => {
    const { term } = freshTerm()
    expect(() => term.iterate(value as never)).toThrow(
      'Expected `source` of `term.iterate(source)` to be an async iterable or a readable stream, got `',
    )
  })

  test('drops an item, and a failure, that arrives once the time of the term is up', async () => {
    for (const settle of ['item', 'failure'] as const) {
      const { term, clock } = freshTerm()
      const { iterable, asked, log, closing } = source()
      const loop = collect(term.iterate(iterable))
      Object.assign(term, { admits: () => false })
      if (settle === 'item') asked[0]?.resolve({ value: 1, done: false })
      else asked[0]?.reject(new Error('broken'))
      expect(await loop).toEqual([])
      await clock.runAllMicrotasks()
      expect(log).toEqual(['return'])
      closing.resolve()
    }
  })

  test('asks for no further item once the time of the term is up', async () => {
    const { term } = freshTerm()
    const { iterable, asked } = source()
    const iterator = term.iterate(iterable)[Symbol.asyncIterator]()
    Object.assign(term, { admits: () => false })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect(asked).toEqual([])
  })

  test('is over for good once it was left, and touches no source that it has not opened', async () => {
    const { term, left } = freshTerm()
    const { iterable, asked, log } = source()
    const iterator = term.iterate(iterable)[Symbol.asyncIterator]()
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect([asked, log, left()]).toEqual([[], [], NOTHING])
  })

  test('answers all calls for an item that wait when it is left', async () => {
    const { term } = freshTerm()
    const { iterable, closing } = source()
    closing.resolve()
    const iterator = term.iterate(iterable)[Symbol.asyncIterator]()
    const items = [iterator.next(), iterator.next()]
    await iterator.return?.()
    expect(await Promise.all(items)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ])
  })

  test('hands on no value with the end of a source, and needs no way to close it', async () => {
    const { term, left } = freshTerm()
    const results: IteratorResult<number, string>[] = [
      { done: false, value: 1 },
      { done: true, value: 'last' },
    ]
    const next = async () => results.shift() ?? expect.fail('it was asked again')
    const iterator = term.iterate({ [Symbol.asyncIterator]: () => ({ next }) })[Symbol.asyncIterator]()
    expect(await iterator.next()).toEqual({ done: false, value: 1 })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    await nextTurn()
    expect(left()).toEqual(NOTHING)
    const other = freshTerm()
    const endless = other.term.iterate({ [Symbol.asyncIterator]: () => ({ next: never as () => Promise<never> }) })
    const loop = collect(endless)
    other.term.end(ENDED)
    expect(await loop).toEqual([])
    await other.term.scope.join()
    expect(other.failures).toEqual([])
  })

  test('destroys a stream when the term ends, and not when the loop is left', async () => {
    for (const isLeft of [true, false]) {
      const { term } = freshTerm()
      const log: string[] = []
      const iterator = {
        next: never as () => Promise<never>,
        return: async () => (log.push('return'), { done: true as const, value: undefined }),
      }
      const stream = { destroy: () => void log.push('destroy'), [Symbol.asyncIterator]: () => iterator }
      const own = term.iterate(stream)[Symbol.asyncIterator]()
      void own.next()
      if (isLeft) await own.return?.()
      else term.end(ENDED)
      await term.scope.join()
      expect(log).toEqual(isLeft ? ['return'] : ['destroy', 'return'])
    }
  })

  test('releases the reader of a web stream that it has cancelled', async () => {
    const { term } = freshTerm()
    const log: unknown[] = []
    const stream = new ReadableStream<number>({ cancel: (reason) => void log.push(['cancel', reason]) })
    const loop = collect(term.iterate(stream))
    await nextTurn()
    expect(stream.locked).toBe(true)
    term.end(ENDED)
    await loop
    await term.scope.join()
    expect([log, stream.locked]).toEqual([[['cancel', undefined]], false])
  })

  test('keeps nothing of the items that it has handed out', async () => {
    const { term, left } = freshTerm()
    let live = 0
    const exhausted = Promise.withResolvers<void>()
    const registry = new FinalizationRegistry(() => (live -= 1))
    async function* large() {
      for (let n = 0; n < 500; n++) {
        const item = { bytes: new Uint8Array(1000) }
        live += 1
        registry.register(item, undefined)
        yield item
      }
      exhausted.resolve()
      await never()
    }
    void collectLast(term.iterate(large()))
    await exhausted.promise
    for (let round = 0; round < 5; round++) await collectGarbage()
    expect(live).toBeLessThanOrEqual(5)
    expect(left().listeners).toBe(1)
  })

  test.each([
    ['a stream of Node that has nothing to read', () => new PassThrough()],
    ['a web stream that has nothing to read', () => new ReadableStream<Uint8Array>()],
    ['the events of an emitter', () => on(new EventEmitter(), 'message')],
  ])('closes %s', async (_what, open) => {
    const { term, left, failures } = freshTerm()
    const loop = collect(term.iterate(open() as AsyncIterable<unknown>))
    await nextTurn()
    term.end(ENDED)
    expect(await loop).toEqual([])
    await term.scope.join()
    expect([left(), failures]).toEqual([NOTHING, []])
  })
})

/** Unlike {@link collect}, keeps no item. */
async function collectLast(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) void item
}
