import type { Overlap, TermLife } from './term-life.ts'

/** One line of the log. */
export interface LogLine {
  readonly at: number
  /** The replica; empty for an oracle. */
  readonly who: string
  readonly what: string
  /** Whether it says that something is wrong. */
  readonly isProblem: boolean
}

/** Something that a reader watches. Times are in milliseconds from its beginning. */
export interface Run {
  readonly now: number
  readonly terms: readonly TermLife[]
  /** Every time in which two terms last. */
  readonly overlaps: readonly Overlap[]
  readonly log: readonly LogLine[]
  /** The replicas, in order. */
  readonly names: readonly string[]
  /** Lets whole milliseconds pass. */
  advance(ms: number): Promise<void>
  /** Lets time pass until something happens that the log shows. */
  step(): Promise<void>
  /** The part of the address after `#` that opens it. */
  address(): Promise<string>
}
