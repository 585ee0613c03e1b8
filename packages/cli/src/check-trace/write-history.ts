import type { TraceRecord, TraceWrite } from '@tenure/core/internal'
import type { Version } from './records.ts'
import { dropOldest } from './store-history.ts'
import { EPSILON_MS, type Moment } from './times.ts'

/** How often a record was sent, and the newest version that a replica on the machine of the sender had seen before. */
interface Sending {
  times: number
  readonly after: Version | undefined
}

/** The newest version that was seen on a machine, when, and the newest one before that. */
interface Newest {
  readonly version: Version
  readonly at: number
  readonly before: Version | undefined
}

/** Writes that are remembered. */
const MOST_KEPT = 200_000

/** The writes of the holders of a lease, and the answers to their offers: what became of them, and when they were sent. */
export class WriteHistory {
  readonly #sent = new Map<string, Sending>()
  readonly #refused = new Set<string>()
  readonly #written = new Map<string, Version>()
  readonly #newest = new Map<string, Newest>()

  /** Whether a holder sent this record. */
  wasSent(record: TraceRecord): boolean {
    return this.#sent.has(keyOf(record))
  }

  /** A holder sends this record. */
  send(record: TraceRecord, moment: Moment): void {
    const key = keyOf(record)
    this.#refused.delete(key)
    const sent = this.#sent.get(key)
    if (sent !== undefined) sent.times += 1
    else this.#sent.set(key, { times: 1, after: this.#newestBefore(moment) })
    dropOldest(this.#sent, MOST_KEPT)
  }

  /**
   * A write was refused. Returns the version that it has made nevertheless. If it was sent twice with the same times, the other one may have made it.
   */
  refuse({ u, r }: TraceWrite): Version | undefined {
    const key = u === 'answer' ? r.y?.[1] : keyOf(r)
    if (u === 'announce' || key === undefined || (this.#sent.get(key)?.times ?? 1) > 1) return undefined
    const version = this.#written.get(key)
    if (version !== undefined) return version
    this.#refused.add(key)
    dropOldest(this.#refused, MOST_KEPT)
    return undefined
  }

  /** A new version was seen. Returns whether the write that made it was refused. */
  isRefused(version: Version, record: TraceRecord): boolean {
    const keys = record.y === undefined ? [keyOf(record)] : [keyOf(record), record.y[1]]
    for (const key of keys) if (!this.#written.has(key)) this.#written.set(key, version)
    dropOldest(this.#written, MOST_KEPT)
    return keys.some((key) => this.#refused.has(key))
  }

  /** The newest version that had been seen on the machine of the sender before it sent this record. */
  seenBefore(record: TraceRecord): Version | undefined {
    return this.#sent.get(keyOf(record))?.after
  }

  /** A version was seen. */
  noteSeen(version: Version, { machine, at }: Moment): void {
    const last = this.#newest.get(machine)
    if (last !== undefined && last.version >= version) return
    const before = last !== undefined && last.at + EPSILON_MS < at ? last.version : last?.before
    this.#newest.set(machine, { version, at, before })
  }

  #newestBefore({ machine, at }: Moment): Version | undefined {
    const last = this.#newest.get(machine)
    return last !== undefined && last.at + EPSILON_MS < at ? last.version : last?.before
  }
}

/** What tells the writes of holders apart. */
export function keyOf({ h, a, r }: TraceRecord): string {
  return `${h} ${a} ${r}`
}
