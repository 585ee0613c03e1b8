import type { TraceRecord } from '@tenure/core/internal'
import { isEqualRecord, type Version } from './records.ts'

/** Versions that are remembered. An earlier one may repeat unnoticed. */
const MOST_KEPT = 200_000

/** Sightings of a missing lease, and writes, that are compared with each other. */
const MOST_COMPARED = 1000

/** A write that is known to have happened: the lease existed from the one version to the other. */
export interface Replacement {
  readonly base: Version
  readonly version: Version
}

/** What a version of the lease holds. A recording shows only the record. */
export interface Content {
  readonly record: TraceRecord
  readonly counted?: Version
  readonly isDeleting?: boolean
}

/** What the store of a lease held, by its versions. A store that was restored may say anything. */
export class StoreHistory {
  readonly #contents = new Map<Version, Content>()
  readonly #missing: Version[] = []
  readonly #replacements: Replacement[] = []
  /** The versions that were seen lately, in ascending order. */
  readonly #versions: Version[] = []
  /** The versions that those were written on, as far as that is known. */
  readonly #bases = new Map<Version, Version>()

  /** A version has this content. Returns the other content that it was seen with. */
  contradicts(version: Version, content: Content): Content | undefined {
    const known = this.#contents.get(version)
    return known === undefined || isSameContent(known, content) ? undefined : known
  }

  /** Enters the content of a version. Returns whether the version is new. */
  enter(version: Version, content: Content): boolean {
    if (this.#contents.has(version)) return false
    this.#contents.set(version, content)
    dropOldest(this.#contents, MOST_KEPT)
    this.#versions.splice(this.#placeOf(version), 0, version)
    if (this.#versions.length > MOST_COMPARED) this.#versions.splice(0, MOST_COMPARED / 2)
    return true
  }

  /** A new version was seen. Returns a write that replaced an earlier version by a later one. */
  skips(version: Version): Replacement | undefined {
    const next = this.#versions[this.#placeOf(version) + 1]
    const base = next === undefined ? undefined : this.#bases.get(next)
    return next === undefined || base === undefined || base >= version ? undefined : { base, version: next }
  }

  /** A write has replaced `base` by `version`. Returns a version in between, which it would have had to replace. */
  skipped(base: Version, version: Version): Version | undefined {
    this.#bases.set(version, base)
    dropOldest(this.#bases, MOST_COMPARED)
    const before = this.#versions[this.#placeOf(version) - 1]
    return before !== undefined && before > base ? before : undefined
  }

  /** Where a version is in the list, or belongs. Most are the last one. */
  #placeOf(version: Version): number {
    return this.#versions.findLastIndex((other) => other < version) + 1
  }

  /** The lease was missing at a version. Returns a write that shows that it was there. */
  misses(at: Version): Replacement | undefined {
    if (!this.#missing.includes(at)) keep(this.#missing, at)
    return this.#replacements.findLast((write) => isWithin(write, at))
  }

  /** A write has replaced a version. Returns a version in between at which the lease was missing. */
  replaces(base: Version, version: Version): Version | undefined {
    const write = { base, version }
    keep(this.#replacements, write)
    return this.#missing.find((at) => isWithin(write, at))
  }
}

function isSameContent(a: Content, b: Content): boolean {
  const isRecording = a.counted === undefined || b.counted === undefined
  return (
    isEqualRecord(a.record, b.record) && (isRecording || (a.counted === b.counted && a.isDeleting === b.isDeleting))
  )
}

function isWithin({ base, version }: Replacement, at: Version): boolean {
  return at >= base && at < version
}

function keep<T>(kept: T[], value: T): void {
  kept.push(value)
  if (kept.length > MOST_COMPARED) kept.splice(0, MOST_COMPARED / 2)
}

/** Forgets the oldest entry if there are more. */
export function dropOldest(kept: Map<unknown, unknown> | Set<unknown>, most: number): void {
  if (kept.size <= most) return
  for (const oldest of kept.keys()) {
    kept.delete(oldest)
    return
  }
}
