/**
 * Decides who of a group is there, from what was seen of the identity Leases and when.
 *
 * A machine without I/O and without a clock: every call carries the time, in monotonic milliseconds. It never compares a time that another
 * process has written.
 *
 * 1. A member expires only after its Lease was not seen to change for its whole duration, and only while this replica could see and write:
 *    after an outage the time of every member starts again.
 * 2. A member that has expired is dropped only after a consistent read has shown its Lease unchanged: see {@link Roster.expired}.
 * 3. The Lease of a member that is gone counts again only when it changes.
 * 4. This replica itself never expires.
 */
import type { ObservedObject } from '../reflector/observed-object.ts'
import type { Member, MemberChange } from './member.ts'
import { type MemberLease, readMemberLease } from './member-lease.ts'

/** Settings of a {@link Roster}. */
export interface RosterOptions {
  /** The name of this replica's own Lease. */
  readonly self: string
  /** How long a member may stay silent whose Lease states no duration. */
  readonly leaseDurationMs: number
  /** A renewal that is later than twice this makes a member suspect. More time without a success of its own is an outage. */
  readonly renewIntervalMs: number
}

interface Entry {
  readonly lease: MemberLease
  readonly changedAt: number
  readonly state: 'living' | 'suspect' | 'gone'
}

/** Who is there. */
export class Roster {
  readonly #options: RosterOptions
  readonly #entries = new Map<string, Entry>()
  /** Since when the group could be seen and written without a gap; undefined during an outage. */
  #healthySince: number | undefined
  #confirmedAt = Number.NEGATIVE_INFINITY
  #isConnected = false
  #isFailing = false
  #listedAt: bigint | undefined

  constructor(options: RosterOptions) {
    this.#options = options
  }

  /** The members that are living or suspect, in the order of their identities. */
  get members(): readonly Member[] {
    return [...this.#entries.values()]
      .filter(({ state }) => state !== 'gone')
      .map(asMember)
      .sort((a, b) => (a.identity < b.identity ? -1 : 1))
  }

  /** The Leases of members that are gone but were not deleted yet. */
  get graves(): readonly MemberLease[] {
    return [...this.#entries.values()].filter(({ state }) => state === 'gone').map(({ lease }) => lease)
  }

  /** The Leases of the members that are living or suspect. */
  get leases(): readonly MemberLease[] {
    return [...this.#entries.values()].filter(({ state }) => state !== 'gone').map(({ lease }) => lease)
  }

  /** Whether the view is complete and up to date. */
  get isCurrent(): boolean {
    return this.#listedAt !== undefined && this.#healthySince !== undefined
  }

  /** A write or a consistent read of this replica has succeeded that was sent then. A late success ends an outage that nobody reported. */
  confirmed(sentAt: number, now: number): void {
    const isLate = sentAt - this.#confirmedAt > 2 * this.#options.renewIntervalMs
    this.#confirmedAt = Math.max(this.#confirmedAt, sentAt)
    this.#isFailing = false
    if (!this.#isConnected) return
    if (this.#healthySince === undefined || isLate) this.#healthySince = now
  }

  /** A request of this replica has failed. */
  failed(): void {
    this.#isFailing = true
    this.#healthySince = undefined
  }

  /** The watch follows the last list. */
  connected(now: number): void {
    this.#isConnected = true
    if (!this.#isFailing) this.#healthySince ??= now
  }

  /** The watch is lost. */
  disconnected(): void {
    this.#isConnected = false
    this.#healthySince = undefined
  }

  /** A complete list. */
  listed(objects: ReadonlyMap<string, ObservedObject>, version: bigint, now: number): readonly MemberChange[] {
    const wentBack = this.#listedAt !== undefined && version < this.#listedAt
    this.#listedAt = version
    const missing = [...this.#entries.values()].filter(
      ({ lease }) => !objects.has(lease.name) && (wentBack || lease.resourceVersion <= version),
    )
    return [
      ...missing.flatMap(({ lease }) => this.#absent(lease.name)),
      ...[...objects].flatMap(([name, seen]) => this.#see(name, seen, { now, wentBack })),
    ]
  }

  /** One Lease changed. A list may have been ahead of the watch. */
  changed(name: string, seen: ObservedObject, now: number): readonly MemberChange[] {
    if (seen.version <= (this.#listedAt ?? 0n)) return []
    return this.#see(name, seen, { now, wentBack: false })
  }

  /** The process of the member has provably ended. */
  died(name: string, uid: string): readonly MemberChange[] {
    const entry = this.#entries.get(name)
    if (entry === undefined || entry.state === 'gone' || entry.lease.uid !== uid) return []
    return this.#move(entry, 'gone')
  }

  /** Finds the members whose renewals are overdue. */
  tick(now: number): readonly MemberChange[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.state === 'living' && this.#suspectAt(entry) <= now)
      .flatMap((entry) => this.#move(entry, 'suspect'))
  }

  /** The members whose time is over. Pass them to {@link drop} when a consistent read that began after this has been {@link listed}. */
  expired(now: number): readonly MemberLease[] {
    return [...this.#entries.values()].filter((entry) => this.#goneAt(entry) <= now).map(({ lease }) => lease)
  }

  /** Drops those of these members that have not changed since. */
  drop(leases: readonly MemberLease[], now: number): readonly MemberChange[] {
    return leases.flatMap((lease) => {
      const entry = this.#entries.get(lease.name)
      const isSame = entry !== undefined && entry.lease.resourceVersion === lease.resourceVersion
      return isSame && this.#goneAt(entry) <= now ? this.#move(entry, 'gone') : []
    })
  }

  /** When to call {@link tick} or look for {@link expired} members next; undefined if time alone changes nothing. */
  nextAt(): number | undefined {
    const times = [...this.#entries.values()].map((entry) =>
      Math.min(entry.state === 'living' ? this.#suspectAt(entry) : Infinity, this.#goneAt(entry)),
    )
    const next = Math.min(...times)
    return Number.isFinite(next) ? next : undefined
  }

  #see(
    name: string,
    seen: ObservedObject,
    { now, wentBack }: { readonly now: number; readonly wentBack: boolean },
  ): readonly MemberChange[] {
    const known = this.#entries.get(name)
    if (known !== undefined && !wentBack && seen.version < known.lease.resourceVersion) return []
    const lease = readMemberLease(seen)
    if (lease === undefined) return this.#absent(name)
    if (known !== undefined && lease.resourceVersion === known.lease.resourceVersion) return []
    const entry: Entry = { lease, changedAt: now, state: 'living' }
    this.#entries.set(name, entry)
    const member = asMember(entry)
    if (known === undefined || known.state === 'gone') return [{ kind: 'joined', member }]
    return isSameMember(asMember(known), member) ? [] : [{ kind: 'changed', member }]
  }

  #absent(name: string): readonly MemberChange[] {
    const entry = this.#entries.get(name)
    this.#entries.delete(name)
    if (entry === undefined || entry.state === 'gone') return []
    return [{ kind: 'left', member: { ...asMember(entry), state: 'left' } }]
  }

  #move(entry: Entry, state: 'suspect' | 'gone'): readonly MemberChange[] {
    const moved = { ...entry, state }
    this.#entries.set(entry.lease.name, moved)
    return [{ kind: state, member: asMember(moved) }]
  }

  #suspectAt(entry: Entry): number {
    return this.#silentSince(entry) + Math.min(2 * this.#options.renewIntervalMs, this.#durationOf(entry))
  }

  #goneAt(entry: Entry): number {
    return entry.state === 'gone' ? Infinity : this.#silentSince(entry) + this.#durationOf(entry)
  }

  #silentSince({ lease, changedAt }: Entry): number {
    if (lease.name === this.#options.self) return Infinity
    return Math.max(changedAt, this.#healthySince ?? Infinity)
  }

  #durationOf({ lease }: Entry): number {
    return lease.durationMs ?? this.#options.leaseDurationMs
  }
}

function asMember({ lease, state, changedAt: renewedAt }: Entry): Member {
  const { identity, labels, facts, name } = lease
  const { address, version, zone, notes } = facts
  return { identity, lease: name, state, address, version, zone, labels, renewedAt, notes }
}

/** Compares what a member says of itself. A mere renewal changes nothing of it. */
function isSameMember(a: Member, b: Member): boolean {
  const textOf = (member: Member) => JSON.stringify({ ...member, renewedAt: 0 })
  return textOf(a) === textOf(b)
}
