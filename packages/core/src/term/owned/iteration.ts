import { OptionsError } from '../../options/options-error.ts'
import type { TaskNote } from '../task-scope.ts'
import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/**
 * Yields the items of `source` until the term begins to end. Then the loop ends as if there were no more items, and the source is closed.
 * The loop counts as a task until the source has closed.
 */
export function iterate<T>(owner: Owner, source: AsyncIterable<T>): AsyncIterable<T> {
  if (!isIterable(source)) {
    throw OptionsError.expected(
      '`source` of `term.iterate(source)` to be an async iterable or a readable stream',
      source,
    )
  }
  return { [Symbol.asyncIterator]: () => new Iteration(owner, source) }
}

function isIterable(source: unknown): boolean {
  if (typeof source !== 'object' || source === null) return false
  return source instanceof ReadableStream || typeof Reflect.get(source, Symbol.asyncIterator) === 'function'
}

const OVER = { done: true, value: undefined } as const

type Item<T> = IteratorResult<T, undefined>

/**
 * One loop over a source. Owns the iterator of the source from the first `next()` to the end of its `return()`.
 */
class Iteration<T> implements AsyncIterator<T, undefined> {
  readonly #owner: Owner
  readonly #source: AsyncIterable<T>
  /** The pending calls of `next()`. A race against one long-lived promise would leak memory with every item. */
  readonly #waiting = new Set<(item: Item<T>) => void>()
  readonly #over = Promise.withResolvers<void>()
  #iterator: AsyncIterator<T> | undefined
  #task: Promise<void> | undefined
  #isOver = false

  constructor(owner: Owner, source: AsyncIterable<T>) {
    this.#owner = owner
    this.#source = source
  }

  next(): Promise<Item<T>> {
    if (this.#isOver || !this.#owner.admits() || this.#owner.signal.aborted) return Promise.resolve(this.#finish())
    const { promise, resolve, reject } = Promise.withResolvers<Item<T>>()
    this.#waiting.add(resolve)
    this.#pull().then(
      (item) => {
        if (!this.#owner.admits()) return resolve(this.#finish())
        this.#waiting.delete(resolve)
        if (item.done === true) this.#ended()
        resolve(item)
      },
      (error: unknown) => {
        if (!this.#owner.admits()) return resolve(this.#finish())
        this.#waiting.delete(resolve)
        this.#ended()
        reject(error)
      },
    )
    return promise
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    const over = this.#finish()
    await this.#task
    return over
  }

  async #pull(): Promise<Item<T>> {
    const item = await (this.#iterator ??= this.#open()).next()
    return item.done === true ? OVER : item
  }

  #open(): AsyncIterator<T> {
    const iterator = iteratorOf(this.#source)
    this.#task = this.#owner.track('iterate', (task) => this.#watchOver(iterator, task))
    this.#task.catch(() => {})
    return iterator
  }

  async #watchOver(iterator: AsyncIterator<T>, task: TaskNote): Promise<void> {
    task.waitsOn = 'the next item of `term.iterate`'
    const forget = onAbort(this.#owner.signal, () => this.#finish())
    await this.#over.promise
    forget()
    if (this.#iterator === undefined) return
    task.waitsOn = '`return()` of the source of `term.iterate`'
    // The iterator of a stream waits for the requested item, which may never come.
    if (this.#owner.signal.aborted) destroy(this.#source)
    await iterator.return?.()
  }

  /** The source has ended by itself and needs no closing. */
  #ended(): void {
    this.#iterator = undefined
    this.#finish()
  }

  #finish(): IteratorReturnResult<undefined> {
    this.#isOver = true
    for (const resolve of this.#waiting) resolve(OVER)
    this.#waiting.clear()
    this.#over.resolve()
    return OVER
  }
}

/** The iterator of a web stream cannot be closed while an item is awaited; its reader can. */
function iteratorOf<T>(source: AsyncIterable<T>): AsyncIterator<T> {
  if (!(source instanceof ReadableStream)) return source[Symbol.asyncIterator]()
  const reader: ReadableStreamDefaultReader<T> = source.getReader()
  return {
    next: () => reader.read() as Promise<IteratorResult<T>>,
    return: async () => {
      await reader.cancel()
      reader.releaseLock()
      return OVER
    },
  }
}

function destroy(source: object): void {
  const method: unknown = Reflect.get(source, 'destroy')
  if (typeof method === 'function') method.call(source)
}
