import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { Memory } from '../machine/state.ts'
import { MAX_HOLD_BACK_MS } from './hold-back.ts'
import { type Ranking, isWarm, rank, sortByRank } from './ranking.ts'
import { newestRevision } from './revision-order.ts'
import {
  type Facts,
  MAX_STANDBYS,
  type Standby,
  isKeptByHolder,
  readLeader,
  readNote,
  readStandbys,
  transitionsOf,
  withList,
} from './standby-note.ts'
import type { Strategy } from './strategy.ts'

/*
 * Standbys: the followers that try first when a lease becomes free, in their order. An annotation of the lease lists them. A follower
 * joins the list, and leaves it when it stops. A new leader removes itself and every standby that missed its turn.
 *
 * 1. Where the replicas follow a strategy, it decides, and the following rules only among equals. See `ranking.ts`.
 * 2. Replicas of the newest revision come first, so that a rollout changes the leader once. The revision of the replica that started
 *    last is the newest, so rolling back is a rollout as well. The version of the lease that a replica saw first orders the starts.
 * 3. Within a revision, replicas in the zone of the present leader come first, as far as the replicas know their zones.
 * 4. Within a zone the name decides. A StatefulSet stops the replica with the highest ordinal first.
 *
 * A replica that stops or is not ready is not on the list. A replica that is about to be stopped is there only if it is alone, and says
 * so: it comes after all that join later, and no leader hands over to it. The list only spreads the attempts. A wrong, stale or missing list costs milliseconds or one more change of leader, never safety.
 */

/** How long each standby is given before the next one of its revision tries, in milliseconds: a write, and the news of it. */
const SLOT_MS = 8

/**
 * How long standbys of other revisions wait in addition, and those that are not warm: a replica of the newest revision may be busy, since it
 * has just started.
 */
const REVISION_GAP_MS = 32

/** Writes that take longer than this show an API server, or a replica, that is busy. */
const BRISK_WRITE_MS = 7.5

/** The longest that any replica waits where writes are brisk. */
const MAX_WAIT_MS = MAX_STANDBYS * SLOT_MS + REVISION_GAP_MS + MAX_HOLD_BACK_MS

/** This replica as it describes itself on the list. */
export function asStandby({ since = 0n }: Memory, config: ElectorConfig): Standby {
  const { identity, revision, zone } = config
  return { identity, revision, zone, since, ...factsOf(config) }
}

/** What this replica says of itself as the leader; undefined without a strategy. */
export function asLeader(config: ElectorConfig): LeaderNote | undefined {
  const { warm: _, ...facts } = factsOf(config)
  return config.strategy === undefined ? undefined : { revision: config.revision, ...facts }
}

/** What a leader says of itself on the list. */
type LeaderNote = Facts & Pick<Standby, 'revision'>

/** What a standby says of itself, as the leader that it becomes. */
export function leaderNoteOf({
  identity: _i,
  since: _s,
  zone: _z,
  warm: _w,
  term: _t,
  ...facts
}: Standby): LeaderNote | undefined {
  return facts.strategy === undefined ? undefined : facts
}

/** Whether this replica is chosen only where no other one stands: its warm-ups are not ready, or it is about to be stopped. */
export function standsLast({ isCold, departure }: ElectorConfig): boolean {
  return isCold === true || departure !== undefined
}

function factsOf(config: ElectorConfig): Facts {
  const { strategy, attributes } = config
  const warmth = standsLast(config) ? { warm: false } : {}
  if (strategy === undefined) return warmth
  const { name, version, binaryVersion, emulationVersion } = strategy
  return {
    strategy: name,
    ...(version !== 1 && { strategyVersion: version }),
    binaryVersion,
    emulationVersion,
    attributes,
    ...warmth,
  }
}

/** Whether the list of this record names the replica. */
export function isStandbyOf(record: LeaseRecord, identity: string): boolean {
  return readStandbys(record).some((standby) => standby.identity === identity)
}

/**
 * Whether this replica belongs on the list: it is not on it, and there is room or it displaces a worse replica or one of an older revision.
 * A list that names it with another revision, as an earlier process wrote it, is written again, and a list that says otherwise of its warmth.
 */
export function hasRoomFor(record: LeaseRecord, me: Standby, strategy?: Strategy): boolean {
  const standbys = readStandbys(record)
  const listed = standbys.find(({ identity }) => identity === me.identity)
  if (listed !== undefined)
    return listed.revision !== me.revision || isWarm(listed) !== isWarm(me) || isOutdated(listed, me)
  if (standbys.length < MAX_STANDBYS) return true
  const ranking = rankingOf(record, me, strategy)
  if (ranking.kind === 'older-version') return false
  if (ranking.kind === 'strategy') return displaces(me, standbys, ranking)
  const newest = newestRevision([...standbys, me])
  return me.revision === newest && standbys.some(({ revision }) => revision !== newest)
}

/** Whether the list says something else of a replica than the replica, without attributes that did not fit. */
function isOutdated(listed: Standby, me: Standby): boolean {
  const { strategy, strategyVersion, binaryVersion, emulationVersion } = me
  const areSame =
    listed.strategy === strategy &&
    listed.strategyVersion === strategyVersion &&
    listed.binaryVersion === binaryVersion &&
    listed.emulationVersion === emulationVersion
  return !areSame || (listed.attributes !== undefined && !isSameText(listed.attributes, me.attributes))
}

function isSameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Whether a replica is better than one of a full list, or as good and of the newest revision. */
function displaces(me: Standby, standbys: readonly Standby[], { isBetter }: Ranking & { kind: 'strategy' }): boolean {
  const newest = newestRevision([...standbys, me])
  const isNewer = ({ revision }: Standby) => me.revision === newest && revision !== newest
  return standbys.some((other) => isBetter(me, other) || (isNewer(other) && !isBetter(other, me)))
}

/**
 * Whether this replica is to write itself on the list at once: it would be the first of the newest revision, or better than the leader and
 * all that stand there.
 */
export function urgency(record: LeaseRecord, me: Standby, strategy?: Strategy): 'best' | 'newest' | undefined {
  const ranking = rankingOf(record, me, strategy)
  if (ranking.kind === 'older-version') return undefined
  if (ranking.kind !== 'strategy') return isFirstOfNewest(record, me) ? 'newest' : undefined
  const isBest = othersIn(record, me).every((other) => ranking.isBetter(me, other))
  return isBest ? 'best' : undefined
}

/** Whether this replica would be the first of the newest revision on the list. */
function isFirstOfNewest(record: LeaseRecord, me: Standby): boolean {
  const standbys = readStandbys(record)
  if (me.revision === undefined || standbys.some(({ revision }) => revision === me.revision)) return false
  return newestRevision([...standbys, me]) === me.revision
}

/** The first standby, if it is warm, runs a newer revision than this replica, which leads, and is not worse. */
export function newerStandby(record: LeaseRecord, me: Standby, strategy?: Strategy): Standby | undefined {
  const [first] = readStandbys(record)
  if (first?.revision === undefined || me.revision === undefined || first.revision === me.revision) return undefined
  const leader: Standby = { ...me, warm: true }
  const ranking = rankingOf(record, leader, strategy)
  const isWorse = ranking.kind === 'strategy' && ranking.isBetter(leader, first)
  return first.since > me.since && isWarm(first) && !isWorse ? first : undefined
}

/** The first warm standby that is better than this replica, which leads, and that is `among` those that count. */
export function betterStandby(
  record: LeaseRecord,
  me: Standby,
  strategy: Strategy | undefined,
  among: (standby: Standby) => boolean,
): Standby | undefined {
  const leader: Standby = { ...me, warm: true }
  const ranking = rankingOf(record, leader, strategy)
  if (ranking.kind !== 'strategy') return undefined
  const better = readStandbys(record).filter((standby) => among(standby) && ranking.isBetter(standby, leader))
  return sortByRank(better, ranking, me.zone)[0]
}

/** The place of this replica among the leader and the standbys of a record, 1 for the best; undefined if it knows no order. */
export function rankOf(record: LeaseRecord, me: Standby, strategy: Strategy): number | undefined {
  const self = record.holderIdentity === me.identity ? { ...me, warm: true } : me
  const ranking = rankingOf(record, self, strategy)
  if (ranking.kind === 'older-version') return undefined
  const sorted = sortByRank([self, ...othersIn(record, self)], ranking, readNote(record).zone)
  return 1 + sorted.findIndex(({ identity }) => identity === me.identity)
}

/** Whether a standby wrote itself on the list in the present term. */
export function hasJoinedIn(record: LeaseRecord, { term }: Standby): boolean {
  return term === transitionsOf(record)
}

/** How the replicas that a record shows and this one are ranked. */
export function rankingOf(record: LeaseRecord, me: Standby, strategy: Strategy | undefined): Ranking {
  return rank(strategy === undefined ? [] : [me, ...othersIn(record, me)], strategy)
}

/** The leader and the standbys without this replica. A leader that says nothing of itself follows no strategy. */
function othersIn(record: LeaseRecord, me: Standby): readonly Standby[] {
  const { holderIdentity } = record
  const silent: Standby = { identity: holderIdentity, revision: undefined, since: 0n }
  const leaders = holderIdentity === '' ? [] : [readLeader(record) ?? silent]
  return [...leaders, ...readStandbys(record)].filter(({ identity }) => identity !== me.identity)
}

/** The record with one more standby in its place, and nothing else changed. */
export function withStandby(record: LeaseRecord, me: Standby, strategy?: Strategy): LeaseRecord {
  const others = readStandbys(record).filter(({ identity }) => identity !== me.identity)
  const note = readNote(record)
  const joined = strategy === undefined ? me : { ...me, term: transitionsOf(record) }
  return withList(record, sortByRank([...others, joined], rankingOf(record, me, strategy), note.zone), note)
}

/** The record with one standby less, and nothing else changed. */
export function withoutStandby(record: LeaseRecord, leaving: string): LeaseRecord {
  return withList(
    record,
    readStandbys(record).filter(({ identity }) => identity !== leaving),
    readNote(record),
  )
}

/**
 * The list after this replica acquires the lease: the standbys whose turn had not come. A replica that is not on the list let all of
 * them try, except for a leader that has just released and waits until another replica leads. A replica that acquires its own lease
 * again, or a lease that was transferred to it, let nobody try.
 */
export function remainingStandbys(previous: LeaseRecord, identity: string): readonly Standby[] {
  const standbys = readStandbys(previous)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  if (place !== -1 || previous.holderIdentity === identity) return standbys.slice(place + 1)
  return previous.holderIdentity === '' ? standbys.slice(-1) : []
}

/** The list after a standby has answered an offer to all: the standbys whose turn to answer had not come. */
export function standbysBehind(held: LeaseRecord, identity: string): readonly Standby[] {
  const standbys = readStandbys(held)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  return place === -1 ? [] : standbys.slice(place + 1)
}

/** What a list says besides its standbys. */
interface ListOptions {
  readonly zone?: string | undefined
  readonly writeMs?: number
  readonly leader?: LeaderNote | undefined
}

/**
 * The record whose holder keeps a list of the first three of these standbys. It states the `zone` of the holder, what the holder says of
 * itself, and `writeMs` if writes were slow.
 */
export function withStandbys(
  record: LeaseRecord,
  standbys: readonly Standby[],
  { zone, leader, writeMs = 0 }: ListOptions = {},
): LeaseRecord {
  const slow = writeMs > BRISK_WRITE_MS ? { writeMs: Math.round(writeMs) } : {}
  return withList(record, standbys, { holder: record.holderIdentity, zone, leader, ...slow })
}

/** The record of a leader whose list is there and says of it what it says now. */
export function withListKept(record: LeaseRecord, config: ElectorConfig): LeaseRecord {
  const leader = asLeader(config)
  if (!isKeptByHolder(record)) return withStandbys(record, [], { zone: config.zone, leader })
  const note = readNote(record)
  return isSameText(note.leader, leader)
    ? record
    : withList(record, readStandbys(record), { ...note, zone: config.zone, leader })
}

/** A replica that acquires a free lease, and what spreads the attempts. */
export interface Patience {
  /** How long a replica waits that is not on the list. */
  readonly holdBackMs: number
  readonly retryPeriodMs: number
  readonly revision?: string | undefined
}

/**
 * How long this replica lets others try before it acquires a free lease. Replicas that are not on the list spread over a retry period
 * at most, for any published write latency: a polling client would take no longer.
 */
export function waitForStandbysMs(
  free: LeaseRecord,
  identity: string,
  { holdBackMs, retryPeriodMs, revision }: Patience,
): number {
  const standbys = readStandbys(free)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  const me: Pick<Standby, 'revision' | 'warm'> = standbys[place] ?? { revision }
  const isBehind = standbys[0]?.revision !== me.revision || (place > 0 && !isWarm(me))
  const gapMs = standbys.length > 0 && isBehind ? REVISION_GAP_MS : 0
  if (place !== -1) return place * SLOT_MS + gapMs
  const waitMs = standbys.length * SLOT_MS + gapMs + holdBackMs
  return waitMs * Math.max(1, Math.min(slowness(free), retryPeriodMs / MAX_WAIT_MS))
}

function slowness(record: LeaseRecord): number {
  const { writeMs } = readNote(record)
  return typeof writeMs === 'number' ? writeMs / BRISK_WRITE_MS : 1
}
