/** A call that is due at a moment of true time. */
export interface Call {
  readonly dueAt: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

/**
 * The pending calls, as a binary heap. The earliest comes first. Calls that are due at the same moment keep the order in which they were
 * added.
 *
 * A cancelled call stays in the heap until it is due, and is then skipped.
 */
export class Agenda {
  #order = 0
  readonly #heap: Call[] = []

  /** Adds a call. */
  add(dueAt: number, run: () => void): Call {
    const call: Call = { dueAt, order: this.#order++, run, isCancelled: false }
    this.#siftUp(call, this.#heap.length)
    return call
  }

  /** Removes and returns the next call that is due at `until` or before. */
  take(until: number): Call | undefined {
    const heap = this.#heap
    for (let first = heap[0]; first !== undefined && first.dueAt <= until; first = heap[0]) {
      const last = heap.pop()
      if (last !== undefined && last !== first) this.#siftDown(last)
      if (!first.isCancelled) return first
    }
    return undefined
  }

  #siftUp(call: Call, from: number): void {
    const heap = this.#heap
    let index = from
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = heap[parentIndex]
      if (parent === undefined || !isBefore(call, parent)) break
      heap[index] = parent
      index = parentIndex
    }
    heap[index] = call
  }

  #siftDown(call: Call): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      const left = heap[2 * index + 1]
      const right = heap[2 * index + 2]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (!isBefore(child, call)) break
      heap[index] = child
      index = 2 * index + (isRight ? 2 : 1)
    }
    heap[index] = call
  }
}

function isBefore(a: Call, b: Call): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order)
}
