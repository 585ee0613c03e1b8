/** Something that is to happen at a moment of true time. */
export interface Call {
  readonly dueAt: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

/**
 * What is still to happen, as a binary heap: earliest first, and at one moment in the order in which it was entered.
 *
 * A cancelled call stays where it is until its turn comes, and is then left out.
 */
export class Agenda {
  #order = 0
  readonly #heap: Call[] = []

  /** Enters a call. */
  add(dueAt: number, run: () => void): Call {
    const call: Call = { dueAt, order: this.#order++, run, isCancelled: false }
    this.#siftUp(call, this.#heap.length)
    return call
  }

  /** Takes out the next call that is due at `until` or before. */
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
