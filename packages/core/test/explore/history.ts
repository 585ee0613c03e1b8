/** A part of a history: the fingerprints, the parents and the actions of successive worlds. */
export interface Entries {
  readonly high: Uint32Array
  readonly low: Uint32Array
  readonly parents: Uint32Array
  readonly actions: Uint16Array
}

/**
 * Every visited world: its fingerprint, the world from which it was first reached, and the number of the action that led to it.
 *
 * An open hash table with 16 bytes per world. Ten million worlds fit into the memory of a small machine. Two worlds with the same 64-bit
 * fingerprint count as one. With 10^7 worlds the probability of that is 1 in 370 000.
 */
export class History {
  /** The number of worlds. */
  size = 0
  readonly #slots: Uint32Array
  readonly #high: Uint32Array
  readonly #low: Uint32Array
  readonly #parents: Uint32Array
  readonly #actions: Uint16Array

  constructor(capacity: number) {
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(capacity * 1.6)))
    this.#high = new Uint32Array(capacity)
    this.#low = new Uint32Array(capacity)
    this.#parents = new Uint32Array(capacity)
    this.#actions = new Uint16Array(capacity)
  }

  /** Whether the table is full. */
  get isFull(): boolean {
    return this.size === this.#high.length
  }

  /** Adds a world. Returns its number, or undefined if it is known. */
  enter(print: { readonly high: number; readonly low: number }, parent: number, action: number): number | undefined {
    const high = print.high >>> 0
    const low = print.low >>> 0
    const mask = this.#slots.length - 1
    for (let slot = (low ^ Math.imul(high, 0x9e3779b1)) & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] ?? 0
      if (entry === 0) {
        const number = this.size++
        this.#slots[slot] = number + 1
        this.#high[number] = high
        this.#low[number] = low
        this.#parents[number] = parent
        this.#actions[number] = action
        return number
      }
      if (this.#high[entry - 1] === high && this.#low[entry - 1] === low) return undefined
    }
  }

  /** The worlds from this number on. */
  entriesFrom(world: number): Entries {
    const [from, to] = [world, this.size]
    return {
      high: this.#high.slice(from, to),
      low: this.#low.slice(from, to),
      parents: this.#parents.slice(from, to),
      actions: this.#actions.slice(from, to),
    }
  }

  /** Adds worlds that an earlier history had. @throws Error if they do not fit, or one is known */
  restore({ high, low, parents, actions }: Entries): void {
    for (const [index, parent] of parents.entries()) {
      const print = { high: high[index] ?? 0, low: low[index] ?? 0 }
      if (this.isFull) throw new Error(`Expected at least ${this.size + 1} worlds, as many as were visited before`)
      if (this.enter(print, parent, actions[index] ?? 0) === undefined)
        throw new Error(`Expected world ${this.size} to be new: the files of the exploration are damaged`)
    }
  }

  /** The numbers of the actions that lead to a world, in order. */
  pathTo(world: number): readonly number[] {
    const path: number[] = []
    for (let at = world; at !== 0; at = this.#parents[at] ?? 0) path.push(this.#actions[at] ?? 0)
    return path.toReversed()
  }
}
