import type { TraceRecord, TraceWrite } from '@tenure/core/internal'
import type { Finding, Rule } from './finding.ts'
import type { Doubt, Replica, Term } from './replica.ts'
import type { TermKey, Version } from './records.ts'
import type { Line } from './shape.ts'
import { type Content, dropOldest, type Replacement, StoreHistory } from './store-history.ts'
import { EPSILON_MS, type Moment, ms } from './times.ts'
import { keyOf, WriteHistory } from './write-history.ts'

/** Where something stands in the traces. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** A line, and where it stands. */
interface PlacedLine {
  readonly line: Line
  readonly place: Place
}

/** A record that names a holder, until its sender is found. */
interface Unsent extends Place {
  readonly holder: string
  readonly version: Version
}

/** When a record was first seen, by the clock of a machine. */
interface Sighted extends Moment {
  readonly version: Version
}

/** Writes and terms that are remembered. An earlier one may repeat unnoticed. */
const MOST_KEPT = 200_000

/** One lease, as all traces show it. */
export class LeaseRun {
  /** Whether the store may be restored, so that versions repeat and a lost term may act for a while. */
  readonly #mayRestore: boolean
  readonly #report: (finding: Finding) => void
  readonly #store = new StoreHistory()
  readonly #writes = new WriteHistory()
  readonly #seen = new Map<string, Sighted>()
  readonly #unsent = new Map<string, Unsent>()
  readonly #firstVersions = new Map<string, Version | undefined>()
  readonly #acting = new Set<Replica>()
  /** The term with the greatest epoch, by the machine whose clock dates it. */
  readonly #lastBegins = new Map<string, { readonly epoch: Version; readonly machineAt: number }>()
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

  /** A version has this content, which was seen at a time, if that is known. */
  noteVersion(version: Version, content: Content, place: Place, seen?: Moment): void {
    const other = this.#mayRestore ? undefined : this.#store.contradicts(version, content)
    if (other !== undefined)
      return this.#found('store', place, `version ${version} is ${describe(other)} and ${describe(content)}`)
    const isNew = this.#store.enter(version, content)
    if (isNew) this.#follows(version, content.record, place)
    if (seen !== undefined) this.#writes.noteSeen(version, seen)
    if (isNew) this.#noteSender(version, content.record, place, seen)
  }

  #noteSender(version: Version, record: TraceRecord, place: Place, seen: Moment | undefined): void {
    const key = keyOf(record)
    if (this.#writes.wasSent(record)) return
    if (seen !== undefined) this.#noteSeen(key, { ...seen, version })
    if (record.h === '' || record.a === undefined || this.#unsent.has(key)) return
    this.#unsent.set(key, { holder: record.h, version, ...place })
  }

  /**
   * A write makes the next version after the one that it replaces. A refused write makes none. No version is older than those that were seen on the
   * machine of its sender before it was sent.
   */
  #follows(version: Version, record: TraceRecord, place: Place): void {
    if (this.#mayRestore) return
    const skipped = this.#store.skips(version)
    if (skipped !== undefined) this.#foundSkipped(skipped, version, place)
    if (this.#writes.isRefused(version, record)) this.#foundRefused(version, place)
    const after = this.#writes.seenBefore(record)
    if (after === undefined || version > after) return
    this.#found('store', place, `version ${version} was sent after version ${after} had been seen`)
  }

  #noteSeen(key: string, seen: Sighted): void {
    if (this.#seen.has(key)) return
    this.#seen.set(key, seen)
    dropOldest(this.#seen, MOST_KEPT)
  }

  /** The lease was missing at this version of its store. */
  noteMissing(at: Version, place: Place): void {
    const write = this.#store.misses(at)
    if (write !== undefined) this.#foundMissing(at, write.base, write.version, place)
  }

  /** A write has replaced one version by another. */
  noteReplaced(base: Version, version: Version, place: Place): void {
    const at = this.#store.replaces(base, version)
    if (at !== undefined) this.#foundMissing(at, base, version, place)
    const between = this.#mayRestore ? undefined : this.#store.skipped(base, version)
    if (between !== undefined) this.#foundSkipped({ base, version }, between, place)
  }

  /** A write was refused. */
  noteRefused(write: TraceWrite, place: Place): void {
    const version = this.#mayRestore ? undefined : this.#writes.refuse(write)
    if (version !== undefined) this.#foundRefused(version, place)
  }

  #foundRefused(version: Version, place: Place): void {
    this.#found('store', place, `version ${version} has the record of a write that was refused`)
  }

  #foundSkipped({ base, version }: Replacement, between: Version, place: Place): void {
    this.#found(
      'store',
      place,
      `version ${version} replaced version ${base}, although version ${between} is in between`,
    )
  }

  #foundMissing(at: Version, base: Version, version: Version, place: Place): void {
    if (this.#mayRestore) return
    this.#found('store', place, `the lease is missing at version ${at}, but version ${base} of it became ${version}`)
  }

  /** A replica sends this record. */
  noteSent(record: TraceRecord, { identity, header }: Replica, { line, place }: PlacedLine): void {
    const key = keyOf(record)
    const seen = this.#writes.wasSent(record) ? undefined : this.#seen.get(key)
    if (seen?.machine === header.machine && line.m > seen.at + EPSILON_MS)
      this.#found(
        'source',
        place,
        `${identity} sends version ${seen.version} ${ms(line.m - seen.at)} after it was seen`,
      )
    this.#writes.send(record, { machine: header.machine, at: line.m })
    this.#unsent.delete(key)
  }

  /** A holder was proved dead, at the latest at this time of the clock of a machine. */
  noteDeath(machine: string, { h, a }: TermKey, machineAt: number): void {
    const key = deathOf(machine, h, a)
    this.#deaths.set(key, Math.min(machineAt, this.#deaths.get(key) ?? Infinity))
  }

  /** Checks that a replica that takes a step, at the earliest at this time, was not proved dead before by the clock of the same machine. */
  assertAlive({ header, identity, own }: Replica, earliest: number, place: Place): void {
    if (this.#deaths.size === 0 || own === undefined || own.h !== identity) return
    const diedAt = this.#deaths.get(deathOf(header.machine, identity, own.a))
    if (diedAt === undefined || earliest <= diedAt + EPSILON_MS) return
    this.#found('D1', place, `${identity} takes a step although it was proved dead ${ms(earliest - diedAt)} ago`)
  }

  /** A term begins. */
  begins(replica: Replica, epoch: Version, { line, place }: PlacedLine): void {
    const { machine } = replica.header
    const last = this.#lastBegins.get(machine)
    const twin = this.#epochs.get(epoch)
    if (!this.#mayRestore) {
      // Two electors that decide at the same moment may be read in either order.
      if (last !== undefined && epoch <= last.epoch && replica.earliest(line) >= last.machineAt)
        this.#found(
          'S6',
          place,
          `the term of ${replica.identity} has epoch ${epoch}, after a term with epoch ${last.epoch}`,
        )
      else if (twin !== undefined)
        this.#found('S6', place, `the terms of ${replica.identity} and of ${twin} have the same epoch ${epoch}`)
    }
    this.#epochs.set(epoch, replica.identity)
    dropOldest(this.#epochs, MOST_KEPT)
    if (last === undefined || epoch > last.epoch) this.#lastBegins.set(machine, { epoch, machineAt: line.m })
    this.#acting.add(replica)
  }

  /** A term is empty or over. */
  ends(replica: Replica): void {
    this.#acting.delete(replica)
  }

  /**
   * A replica may act from now on, on the clock of the machine. No other one may. A replica that was paused after it decided acts only if its time
   * is not over by then.
   */
  acts(replica: Replica, { epoch, until }: Term, { line, place }: PlacedLine): void {
    if (this.#acting.size < 2 || this.#mayRestore || line.t + (line.j ?? 0) >= until) return
    for (const other of this.#acting) {
      if (other === replica || other.header.machine !== replica.header.machine) continue
      this.#mayActBeside(other, { at: line.m, other: replica, epoch, ...place })
    }
  }

  /** Another replica acts at a time, after the last step of this one, whose term may be over by then. */
  #mayActBeside(replica: Replica, act: Place & Pick<Doubt, 'at' | 'other' | 'epoch'>): void {
    const { term, header } = replica
    if (term === undefined) return
    const passed = act.at - replica.machineAt
    if (replica.at + passed * (1 - header.tolerance) >= term.until) return
    if (passed <= 0 && replica.at + replica.apartMs + EPSILON_MS < term.until) this.#together(replica, act)
    else replica.doubts.push({ ...act, term, until: term.until })
  }

  /**
   * Decides whether a replica acted beside others since its last step, now that it has decided again, at the earliest at this time of the clock of
   * its machine.
   */
  settleDoubts(replica: Replica, earliest: number, decidedAt: number): void {
    const { doubts, term, header } = replica
    replica.doubts = []
    for (const doubt of doubts) {
      if (term !== doubt.term || term.isEmpty) continue
      const latest = decidedAt - (earliest - doubt.at) * (1 - header.tolerance)
      if (earliest < doubt.at) replica.doubts.push({ ...doubt, until: Math.min(doubt.until, term.until) })
      else if (latest + EPSILON_MS < Math.min(doubt.until, term.until)) this.#together(replica, doubt)
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

  #together(replica: Replica, { other, epoch, line }: Pick<Doubt, 'other' | 'epoch' | 'line'>): void {
    const { identity, term } = replica
    const both = `${other.identity} acts with epoch ${epoch} while ${identity} acts with epoch ${term?.epoch}`
    this.#found('S1', { file: other.file, line }, `${both}, in line ${replica.line} of ${replica.file}`)
  }

  #found(rule: Rule, { file, line }: Place, message: string): void {
    this.#report({ rule, file, line, message })
  }
}

/** The content of a version in a message. */
function describe({ record: { h, d, r, n, ...notes }, counted, isDeleting }: Content): string {
  const more = counted === undefined ? '' : `, epoch ${counted}${isDeleting === true ? ', being deleted' : ''}`
  return `${h === '' ? 'released' : `of ${h}`} (${d} s, renewed ${r}, ${n} transitions, ${JSON.stringify(notes)}${more})`
}

function deathOf(machine: string, holder: string, acquired: string | undefined): string {
  return `${machine} ${holder} ${acquired}`
}
