/** Something that can be in one {@link LinkedList} at a time. */
export interface LinkedListNode<T> {
  previous: T | undefined
  next: T | undefined
}

/**
 * Holds its nodes in the order in which they were added.
 *
 * Adding and removing cost the same however many there are, and allocate nothing: a `Set` of 100,000 live objects makes each of them
 * two to three times as expensive, because the garbage collector copies its tables.
 */
export class LinkedList<T extends LinkedListNode<T>> implements Iterable<T> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  /** How many nodes there are. */
  get size(): number {
    return this.#size
  }

  /** Adds a node that is in no list at the end. */
  add(node: T): void {
    node.previous = this.#last
    if (this.#last === undefined) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#size++
  }

  /** Removes a node that is in this list. */
  remove(node: T): void {
    const { previous, next } = node
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    node.previous = undefined
    node.next = undefined
    this.#size--
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let node = this.#first; node !== undefined; node = node.next) yield node
  }
}
