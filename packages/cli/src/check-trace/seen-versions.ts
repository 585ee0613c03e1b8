import type { TraceRecord } from '@tenure/core/internal'
import type { Version } from './records.ts'

/** A replica bases its writes on versions that it saw lately. */
const MOST_VERSIONS = 16

/** The records of the versions of the lease that a replica has seen lately. */
export class SeenVersions {
  readonly #versions: Version[] = []
  readonly #records: TraceRecord[] = []
  #last = -1

  /** The record of a version, if it was seen lately. */
  get(version: Version): TraceRecord | undefined {
    return this.#records[this.#versions.indexOf(version)]
  }

  /** The replica sees a version. Most sightings repeat the last one. */
  add(version: Version, record: TraceRecord): void {
    const known = this.#versions[this.#last] === version ? this.#last : this.#versions.indexOf(version)
    if (known >= 0) this.#records[known] = record
    else {
      this.#last = (this.#last + 1) % MOST_VERSIONS
      this.#versions[this.#last] = version
      this.#records[this.#last] = record
    }
  }
}
