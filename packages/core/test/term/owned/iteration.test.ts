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
