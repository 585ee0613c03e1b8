import { machineSuspension } from '../ports/suspension.ts'

/**
 * The memory that a process shares with its watchdog thread: for each guarded thing the moment by which it must have been
 * confirmed or lifted, in nanoseconds of the board's own clock, which is the same for all threads and goes on while the machine is
 * suspended. 0 where nothing is guarded.
 *
 * A confirmation is one atomic store. The thread is woken only when something becomes guarded that was not, or stops altogether:
 * to find that a deadline has moved on, it looks when the old one has come.
 */
export class DeadlineBoard {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigInt64Array

  /** A board with room for so many deadlines, or another view of one. */
  constructor(from: number | SharedArrayBuffer) {
    const bytes = BigInt64Array.BYTES_PER_ELEMENT
    this.memory = typeof from === 'number' ? new SharedArrayBuffer((FIRST + from) * bytes) : from
    this.#cells = new BigInt64Array(this.memory)
    if (typeof from === 'number') Atomics.store(this.#cells, AHEAD, UNKNOWN)
  }

  get size(): number {
    return this.#cells.length - FIRST
  }

  /** The time of the board. Whichever thread first notices a suspension of the machine, the clock goes on for all of them. */
  now(): bigint {
    const aheadNs = BigInt(Math.floor((machineSuspension?.aheadMs() ?? 0) * 1e6))
    for (let known = Atomics.load(this.#cells, AHEAD); aheadNs > known;) {
      Atomics.compareExchange(this.#cells, AHEAD, known, aheadNs)
      known = Atomics.load(this.#cells, AHEAD)
    }
    return process.hrtime.bigint() + Atomics.load(this.#cells, AHEAD)
  }

  /** Sets a deadline, or takes it away with 0. Returns what was there. */
  set(index: number, deadline: bigint): bigint {
    return Atomics.exchange(this.#cells, FIRST + index, deadline)
  }

  /** Takes a deadline away if it is still this one. */
  claim(index: number, deadline: bigint): boolean {
    return Atomics.compareExchange(this.#cells, FIRST + index, deadline, 0n) === deadline
  }

  /** The earliest deadline and whose it is; undefined when there is none. */
  earliest(): { readonly index: number; readonly deadline: bigint } | undefined {
    let found: { readonly index: number; readonly deadline: bigint } | undefined
    for (let index = 0; index < this.size; index++) {
      const deadline = Atomics.load(this.#cells, FIRST + index)
      if (deadline !== 0n && (found === undefined || deadline < found.deadline)) found = { index, deadline }
    }
    return found
  }

  /** Tells the thread to look at the board now. */
  ring(): void {
    Atomics.add(this.#cells, BELL, 1n)
    Atomics.notify(this.#cells, BELL)
  }

  /** Tells the thread to end. */
  close(): void {
    Atomics.store(this.#cells, CLOSED, 1n)
    this.ring()
  }

  get isClosed(): boolean {
    return Atomics.load(this.#cells, CLOSED) === 1n
  }

  /** How often the bell has rung. */
  get rings(): bigint {
    return Atomics.load(this.#cells, BELL)
  }

  /** Blocks this thread until the bell rings once more than `rings` times, or the time is up. */
  wait(rings: bigint, timeoutMs: number = Number.POSITIVE_INFINITY): void {
    Atomics.wait(this.#cells, BELL, rings, timeoutMs)
  }
}

const [BELL, CLOSED, AHEAD, FIRST] = [0, 1, 2, 3] as const

/** Less than any time by which one clock can be ahead of another. */
const UNKNOWN = -(2n ** 63n)
