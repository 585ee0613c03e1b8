import type { TraceHeader, TraceLine, TraceRecord, TraceWrite } from '@tenure/core/internal'
import type { Version } from './records.ts'
import { SeenVersions } from './seen-versions.ts'
import type { Line } from './shape.ts'
import type { View } from './view.ts'

/** A write that was sent. */
export interface Sent extends TraceWrite {
  readonly sentAt: number
  readonly base: Version | undefined
  /** The record that it replaces. */
  readonly replaced: TraceRecord | undefined
  /** Whether it is known to have happened. */
  isAcknowledged: boolean
  isAnswered: boolean
}

/** A term, by the account of its elector. */
export interface Term {
  readonly epoch: Version
  /** Until when it may act, on the clock of the elector. */
  until: number
  end: 'none' | 'voluntary' | 'involuntary'
  isEmpty: boolean
  isWedged: boolean
}

/** What entitles a replica to begin a term. */
export interface Grant {
  readonly epoch: Version
  /** Not before this time, on the clock of the elector. Infinity if the replica may only give the lease back. */
  readonly actFrom: number
}

/** A moment at which another term acted. Whether this one did too is known after a later step. */
export interface Doubt {
  /** On the clock of the machine. */
  readonly at: number
  readonly term: Term
  /** Until when the term could act then, on the clock of the elector. */
  readonly until: number
  readonly other: Replica
  readonly epoch: Version
  readonly line: number
}

/** One elector, as its trace shows it. */
export class Replica {
  readonly header: TraceHeader
  readonly file: string
  readonly validityMs: number
  steps = 0
  /** The number of its last request. */
  requests = 0
  /** The last step: the clock of the machine, when the elector decided by its own clock, and how long before `machineAt` that was at most. */
  machineAt = 0
  at = 0
  apartMs = 0
  line = 0
  state: TraceLine['s'] = 'idle'
  isWatching = false
  coordination: TraceLine['c'] | undefined
  view: View | undefined
  /** Whether the lease was ever seen. */
  existed = false
  /** The first version of the lease that it saw. */
  firstVersion: Version | undefined
  /** The records of the versions that it has seen lately. */
  readonly seen: SeenVersions = new SeenVersions()
  /** Writes without an answer, and writes of unknown outcome. */
  readonly writes: Map<number, Sent> = new Map()
  /** Reads without an answer, and the newest version when each was sent. */
  readonly reads: Map<number, Version | undefined> = new Map()
  /** The last record that it wrote and that took effect. */
  own: TraceRecord | undefined
  /** The read whose answer it waits for. The answer to an earlier one shows it nothing. */
  reading: number | undefined
  /** The write of the holder that waits for its answer. */
  inFlight: number | undefined
  /** When the last write was sent that counts for the validity. */
  validFrom: number = -Infinity
  /** Until when it may act; `-Infinity` without a lease. */
  validUntil: number = -Infinity
  /** What `validUntil` was before an edit shortened it. */
  uncut: number | undefined
  grant: Grant | undefined
  /** Until when a leader of a deleted lease may act. */
  actNotBefore: number = -Infinity
  /** The deleted lease that the held one follows on directly, and what `actNotBefore` is if its holder is proved dead. */
  replaced: { readonly record: TraceRecord; readonly actNotBefore: number } | undefined
  /** The nonces of its answers, and when each was sent. */
  readonly nonces: Map<string, number> = new Map()
  dead: { readonly h: string; readonly a: string | undefined } | undefined
  highestEpoch: Version = 0
  /** The longest duration that any holder for life was seen to have, in milliseconds. */
  longestHeldMs = 0
  /** The number of the last acquisition that it sent. */
  lastAcquire: number | undefined
  term: Term | undefined
  doubts: Doubt[] = []
  /** The most by which its clock was certainly ever ahead of the slowest clock that the tolerance allows. */
  #mostAhead: number = -Infinity

  constructor(header: TraceHeader, file: string) {
    this.header = header
    this.file = file
    this.validityMs = header.leaseMs * (1 - header.tolerance)
  }

  get identity(): string {
    return this.header.identity
  }

  /** Whether it holds the lease, by the state of its last step. */
  get isHolding(): boolean {
    return HOLDING.has(this.state)
  }

  /** When it decided at the earliest, on the clock of the machine. Its own clock may be as slow as the tolerance allows. */
  earliest({ m, j = 0 }: Line): number {
    return j === 0 ? m : m - j / (1 - this.header.tolerance)
  }

  /**
   * By how much its clock has certainly fallen behind the slowest clock that the tolerance allows, over any time before this step. The steps add
   * up: a clock that loses a little in every step is noticed.
   */
  fallsBehind(line: Line): number {
    const rate = 1 - this.header.tolerance
    this.#mostAhead = Math.max(this.#mostAhead, line.t - line.m * rate)
    return this.#mostAhead - (line.t - this.earliest(line) * rate)
  }

  /** Forgets what entitled it to act. */
  lose(): void {
    this.inFlight = undefined
    this.validFrom = -Infinity
    this.validUntil = -Infinity
    this.uncut = undefined
    this.grant = undefined
    this.replaced = undefined
  }
}

/** States in which an elector holds the lease. */
export const HOLDING: ReadonlySet<string> = new Set(['reserving', 'leading', 'draining', 'releasing'])
