import type { TraceRecord } from '@tenure/core/internal'
import type { Finding, Rule } from './finding.ts'
import type { Replica } from './replica.ts'
import { isSameRecord, type Version } from './records.ts'

/** Where something stands in the traces. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** A record that names a holder, until its sender is found. */
interface Unsent extends Place {
  readonly holder: string
  readonly version: Version
}

/** Versions and writes that are remembered. An earlier one may repeat unnoticed. */
const MOST_KEPT = 200_000

/** Times are rounded to microseconds. */
export const EPSILON_MS = 0.01

/** One lease, as all traces show it. */
export class LeaseRun {
  /** Whether the store may be restored, so that versions repeat and a lost term may act for a while. */
  readonly #mayRestore: boolean
  readonly #report: (finding: Finding) => void
  readonly #versions = new Map<Version, TraceRecord>()
  readonly #sent = new Set<string>()
  readonly #unsent = new Map<string, Unsent>()
  readonly #firstVersions = new Map<string, Version | undefined>()
  readonly #acting = new Set<Replica>()
  readonly #lastEpochs = new Map<string, Version>()
  readonly #epochs = new Map<Version, string>()
  readonly #deaths = new Map<string, number>()

  constructor(mayRestore: boolean, report: (finding: Finding) => void) {
    this.#mayRestore = mayRestore
    this.#report = report
  }

  /** Whether a store that goes back is expected. */
  get mayRestore(): boolean {
    return this.#mayRestore
  }

  /** A replica sees its first version. */
  noteFirst(identity: string, version: Version): void {
    const known = this.#firstVersions.get(identity)
    if (known === undefined || version < known) this.#firstVersions.set(identity, version)
  }

  /** A version has this record. */
  noteVersion(version: Version, record: TraceRecord, place: Place): void {
    const known = this.#versions.get(version)
    if (known !== undefined) {
      if (isSameRecord(known, record) || this.#mayRestore) return
      const both = `${describe(known)} and ${describe(record)}`
      return this.#found('store', place, `version ${version} is ${both}`)
    }
    this.#versions.set(version, record)
    dropOldest(this.#versions)
    if (record.h === '' || record.a === undefined) return
    const key = keyOf(record)
    if (!this.#sent.has(key) && !this.#unsent.has(key)) this.#unsent.set(key, { holder: record.h, version, ...place })
  }

  /** A replica sends this record. */
  noteSent(record: TraceRecord): void {
    const key = keyOf(record)
    this.#sent.add(key)
    dropOldest(this.#sent)
    this.#unsent.delete(key)
  }

  /** A holder was proved dead. */
  noteDeath(holder: string, acquired: string | undefined, machineAt: number): void {
    const key = `${holder} ${acquired}`
    this.#deaths.set(key, Math.min(machineAt, this.#deaths.get(key) ?? Infinity))
  }

  /** Checks that a replica that takes a step was not proved dead before. */
  assertAlive(replica: Replica, machineAt: number, place: Place): void {
    if (this.#deaths.size === 0 || replica.own === undefined || replica.own.h !== replica.identity) return
    const diedAt = this.#deaths.get(`${replica.identity} ${replica.own.a}`)
    if (diedAt === undefined || machineAt <= diedAt + 1) return
    this.#found(
      'D1',
      place,
      `${replica.identity} takes a step although it was proved dead ${ms(machineAt - diedAt)} ago`,
    )
  }

  /** A term begins. */
  begins(replica: Replica, epoch: Version, place: Place): void {
    const { machine } = replica.header
    const last = this.#lastEpochs.get(machine)
    const twin = this.#epochs.get(epoch)
    if (!this.#mayRestore) {
      if (last !== undefined && epoch <= last)
        this.#found('S6', place, `the term of ${replica.identity} has epoch ${epoch}, after a term with epoch ${last}`)
      else if (twin !== undefined)
        this.#found('S6', place, `the terms of ${replica.identity} and of ${twin} have the same epoch ${epoch}`)
    }
    this.#epochs.set(epoch, replica.identity)
    dropOldest(this.#epochs)
    if (last === undefined || epoch > last) this.#lastEpochs.set(machine, epoch)
    this.#acting.add(replica)
  }

  /** A term is empty or over. */
  ends(replica: Replica): void {
    this.#acting.delete(replica)
  }

  /** A replica may act from now on, on the clock of the machine. No other one may. */
  acts(replica: Replica, epoch: Version, machineAt: number, place: Place): void {
    if (this.#acting.size < 2 || this.#mayRestore) return
    for (const other of this.#acting) {
      if (other === replica || other.term === undefined) continue
      if (other.header.machine !== replica.header.machine) continue
      const slowest = other.at + (machineAt - other.machineAt) * (1 - other.header.tolerance)
      if (slowest >= other.term.until) continue
      if (machineAt === other.machineAt) this.#together(other, { other: replica, epoch, at: machineAt, ...place })
      else other.doubts.push({ at: machineAt, other: replica, epoch, line: place.line })
    }
  }

  /** Decides whether a replica acted beside others since its last step, now that its times after that are known. */
  settleDoubts(replica: Replica, machineAt: number, at: number): void {
    const { doubts } = replica
    replica.doubts = []
    for (const doubt of doubts) {
      const latest = at - (machineAt - doubt.at) * (1 - replica.header.tolerance)
      if (!replica.actsAt(latest + EPSILON_MS)) continue
      this.#together(replica, { ...doubt, file: doubt.other.file })
    }
  }

  /** Checks what can only be known at the end. */
  end(): void {
    for (const { holder, version, file, line } of this.#unsent.values()) {
      const first = this.#firstVersions.get(holder)
      if (first === undefined || version <= first) continue
      this.#found('source', { file, line }, `version ${version} names ${holder}, which has not sent that record`)
    }
  }

  #together(
    replica: Replica,
    { other, epoch, ...place }: Place & { readonly other: Replica; readonly epoch: Version; readonly at: number },
  ): void {
    const { identity, term } = replica
    const both = `${other.identity} acts with epoch ${epoch} while ${identity} acts with epoch ${term?.epoch}`
    this.#found('S1', place, `${both}, in line ${replica.line} of ${replica.file}`)
  }

  #found(rule: Rule, { file, line }: Place, message: string): void {
    this.#report({ rule, file, line, message })
  }
}

/** A record in a message. */
function describe({ h, d, r, n }: TraceRecord): string {
  return `${h === '' ? 'released' : `of ${h}`} (${d} s, renewed ${r}, ${n} transitions)`
}

function keyOf({ h, a, r }: TraceRecord): string {
  return `${h} ${a} ${r}`
}

/** A duration in a message. */
export function ms(duration: number): string {
  return `${Math.round(duration * 1000) / 1000} ms`
}

function dropOldest(kept: Map<unknown, unknown> | Set<unknown>): void {
  if (kept.size <= MOST_KEPT) return
  for (const oldest of kept.keys()) {
    kept.delete(oldest)
    return
  }
}
