/**
 * Decides who belongs in the slice now. A pure function: the table of its cases is its test.
 *
 * Three kinds of difference have their own urgency, because several replicas write one slice:
 * - `own`: the entry of this replica. It writes that itself, at once.
 * - `gone`: entries of members that are gone, and conditions of members that have changed. Every replica may do that.
 * - `repair`: entries that no member stands for, and members without an entry. What was just written may not be known here yet.
 *
 * Invariants, whatever the urgency:
 * 1. An entry of another member that is there is not removed, in any mode but `leader`.
 * 2. The result is empty only if nobody is there, this replica is the last to go, or whether the others are there is in doubt.
 * 3. Without a current view of the group, nothing but this replica's own entry and that of members known as gone is removed.
 */
import { type SliceEndpoint, sortedByAddress } from './slice-endpoint.ts'

/** The API server refuses more in one slice. */
export const MAX_ENDPOINTS = 1000

/** Which differences to settle: this one and those before it. */
export const URGENCIES = ['own', 'gone', 'repair'] as const

/** How urgent a difference is. */
export type Urgency = (typeof URGENCIES)[number]

/** What is known. */
export interface Situation {
  readonly mode: 'lease' | 'master-count' | 'leader'
  /** The address of this replica. */
  readonly selfAddress: string
  /** What this replica wants to be in the slice; undefined to be out. */
  readonly self: SliceEndpoint | undefined
  /** The entries that other members want, as far as they are living or suspect. One per address. */
  readonly others: readonly SliceEndpoint[]
  /**
   * The addresses of members that have not renewed since their entry is missing. Another replica may know that they are gone, and has
   * removed them.
   */
  readonly doubtful: ReadonlySet<string>
  /** The addresses of members that have left or are gone. */
  readonly gone: ReadonlySet<string>
  /** Whether the view of the group is complete and up to date. */
  readonly isCurrent: boolean
  /** How many replicas there are, with mode `master-count`. */
  readonly count: number
  /** The entries in the slice. */
  readonly slice: readonly SliceEndpoint[]
}

/** The entries that belong in the slice. */
export interface Decision {
  /** Sorted by their addresses, as text. */
  readonly entries: readonly SliceEndpoint[]
  /** Why this replica is kept out; undefined if it is not. */
  readonly refusal: string | undefined
}

type Entries = Map<string, SliceEndpoint>

/** Decides who belongs in the slice, as far as differences of this urgency are due. */
export function decide(situation: Situation, urgency: Urgency): Decision {
  const entries: Entries = new Map(situation.slice.map((entry) => [entry.address, entry]))
  const level = URGENCIES.indexOf(urgency)
  if (situation.mode === 'leader') return decideLeader(situation, entries)
  if (level >= 1) settleGone(situation, entries)
  if (level >= 2) settleRest(situation, entries)
  const refusal = settleOwn(situation, entries)
  keepSomebody(situation, entries)
  return { entries: sortedByAddress(entries.values()), refusal }
}

/** Only the present leader. A follower removes nothing but itself: the next leader replaces the rest. */
function decideLeader({ self, selfAddress }: Situation, entries: Entries): Decision {
  if (self !== undefined) return { entries: [self], refusal: undefined }
  entries.delete(selfAddress)
  return { entries: sortedByAddress(entries.values()), refusal: undefined }
}

function settleGone({ mode, selfAddress, others, gone }: Situation, entries: Entries): void {
  const wanted = new Map(others.map((other) => [other.address, other]))
  for (const address of entries.keys()) {
    const other = wanted.get(address)
    if (address === selfAddress) continue
    if (other !== undefined) entries.set(address, other)
    else if (gone.has(address) && mode === 'lease') entries.delete(address)
  }
}

function settleRest({ mode, selfAddress, others, doubtful, isCurrent }: Situation, entries: Entries): void {
  if (mode === 'master-count') return
  const known = new Set([selfAddress, ...others.map(({ address }) => address)])
  if (isCurrent) for (const address of entries.keys()) if (!known.has(address)) entries.delete(address)
  for (const other of others) {
    if (entries.size >= MAX_ENDPOINTS) return
    const { address } = other
    if (address !== selfAddress && !doubtful.has(address)) entries.set(address, other)
  }
}

/** Adds, corrects or removes the own entry. Returns why it has no place. */
function settleOwn(situation: Situation, entries: Entries): string | undefined {
  const { mode, selfAddress, self } = situation
  if (self === undefined) {
    entries.delete(selfAddress)
    return undefined
  }
  const wasListed = entries.has(selfAddress)
  entries.set(selfAddress, self)
  const refusal = mode === 'master-count' ? makeRoom(situation, entries) : tooMany(entries)
  if (refusal !== undefined && !wasListed) entries.delete(selfAddress)
  return refusal
}

function tooMany({ size }: Entries): string | undefined {
  if (size <= MAX_ENDPOINTS) return undefined
  return `The slice is full: the API server takes ${MAX_ENDPOINTS} endpoints in an EndpointSlice`
}

/**
 * The rule of kube-apiserver, but for the dead only: while there are more entries than replicas, drop the one after this replica's own in
 * the order of the addresses, and begin again after the last. kube-apiserver drops living ones as well, and never settles.
 */
function makeRoom(situation: Situation, entries: Entries): string | undefined {
  const { count, selfAddress } = situation
  const addresses = [...entries.keys()].sort()
  const own = addresses.indexOf(selfAddress)
  const dead = [...addresses.slice(own + 1), ...addresses.slice(0, own)].filter((address) => isDead(situation, address))
  while (entries.size > count) {
    const next = dead.shift()
    if (next === undefined) return refusalOf(situation, entries)
    entries.delete(next)
  }
  return undefined
}

function isDead({ gone, isCurrent, others }: Situation, address: string): boolean {
  if (others.some((other) => other.address === address)) return false
  return isCurrent || gone.has(address)
}

function refusalOf({ count, isCurrent }: Situation, { size }: Entries): string {
  if (!isCurrent) return 'It is not known yet which of the entries are of replicas that are gone'
  return `\`count\` is ${count}, but ${size} replicas are there. Raise \`count\` on all replicas, or stop one`
}

/** The last entry does not go while a member is there that has none. */
function keepSomebody({ others, doubtful, selfAddress }: Situation, entries: Entries): void {
  if (entries.size > 0) return
  for (const other of others.slice(0, MAX_ENDPOINTS)) {
    if (other.address !== selfAddress && !doubtful.has(other.address)) entries.set(other.address, other)
  }
}
