import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'
import { isVersion } from './semver.ts'
import { type CandidateAttributes, areAttributes } from './strategy.ts'

/*
 * The annotation that lists the standbys of a lease, with what each says of itself and what the leader says of itself.
 *
 * Other clients keep annotations through their own terms, and any client that may write the lease can write this one. So it counts only
 * for the number of transitions that it names, and what is malformed in it is ignored.
 */
const STANDBY_ANNOTATION = `${ANNOTATION_PREFIX}standby`

/** Longer lists are not read. */
const MAX_NOTE_LENGTH = 4096

/** More would only delay those that are not on the list. */
export const MAX_STANDBYS = 3

/** What a replica says of itself where replicas choose by a strategy. `warm` counts everywhere. */
export interface Facts {
  readonly strategy?: string | undefined
  /** The version of the comparison of a strategy of its own. @default 1 */
  readonly strategyVersion?: number | undefined
  readonly binaryVersion?: string | undefined
  readonly emulationVersion?: string | undefined
  readonly attributes?: CandidateAttributes | undefined
  /** `false`: its warm-ups are not ready, or it is about to be stopped. Then any other standby comes first. @default true */
  readonly warm?: boolean | undefined
}

/** A follower as it describes itself on the list. */
export interface Standby extends Facts {
  /** The identity of the replica. */
  readonly identity: string
  /** What it runs, such as the hash of its Pod's template; undefined if it does not say. */
  readonly revision: string | undefined
  /** Where it runs; undefined if it does not say. */
  readonly zone?: string | undefined
  /** The first version of the lease that it saw. A replica that started later saw a greater one. */
  readonly since: bigint
  /** The number of transitions of the lease when it wrote itself on the list, where replicas follow a strategy. */
  readonly term?: number | undefined
}

/** What the annotation says besides. */
export interface Note {
  readonly standbys?: unknown
  /** The leader that keeps the list. */
  readonly holder?: unknown
  /** Where that leader runs. */
  readonly zone?: unknown
  /** What that leader says of itself. */
  readonly leader?: unknown
  readonly writeMs?: unknown
}

/**
 * The standbys of the present term, first the one that tries first. Other clients keep annotations of earlier terms, so a list counts
 * only for the number of transitions that it names. A release keeps that number, also one by client-go.
 */
export function readStandbys(record: LeaseRecord): readonly Standby[] {
  const { standbys } = readText(record)
  return standbys.filter(({ identity }) => identity !== record.holderIdentity).slice(0, MAX_STANDBYS)
}

/** The leader as it describes itself; undefined if it does not. */
export function readLeader(record: LeaseRecord): Standby | undefined {
  const { holder, leader, zone } = readNote(record)
  const { holderIdentity: identity } = record
  if (holder !== identity || identity === '' || typeof leader !== 'object' || leader === null) return undefined
  const { revision } = leader as { readonly revision?: unknown }
  return { identity, revision: textOr(revision), zone: textOr(zone), since: 0n, ...readFacts(leader) }
}

/** Whether the holder of this record keeps a list itself. A client that does not know the list keeps none. */
export function isKeptByHolder(record: LeaseRecord): boolean {
  return readNote(record).holder === record.holderIdentity
}

/** The record with this list. */
export function withList(record: LeaseRecord, standbys: readonly Standby[], note: Note): LeaseRecord {
  const text = fittingNote(transitionsOf(record), standbys.slice(0, MAX_STANDBYS), note)
  return { ...record, annotations: { ...record.annotations, [STANDBY_ANNOTATION]: text } }
}

/** The annotation as far as it counts. */
export function readNote(record: LeaseRecord): Note {
  return readText(record).note
}

/** A parsed annotation. */
interface NoteText {
  readonly text: string
  /** The number of transitions that it names. */
  readonly of: unknown
  readonly note: Note
  /** All valid entries of its list. */
  readonly standbys: readonly Standby[]
}

const NO_NOTE: Pick<NoteText, 'note' | 'standbys'> = { note: {}, standbys: [] }

/** The text that was parsed last: a follower reads the same text several times at each event, and so do all followers of a process. */
let lastText: NoteText | undefined

function readText(record: LeaseRecord): Pick<NoteText, 'note' | 'standbys'> {
  const text = record.annotations[STANDBY_ANNOTATION]
  if (text === undefined || text.length > MAX_NOTE_LENGTH) return NO_NOTE
  if (lastText?.text !== text) lastText = parseText(text)
  return lastText.of === transitionsOf(record) ? lastText : NO_NOTE
}

function parseText(text: string): NoteText {
  try {
    const { of, ...note } = JSON.parse(text) as Note & { readonly of?: unknown }
    return { text, of, note, standbys: Array.isArray(note.standbys) ? note.standbys.filter(isStandby).map(parsed) : [] }
  } catch {
    return { text, of: undefined, ...NO_NOTE }
  }
}

function parsed({ identity, revision, zone, since, term, ...rest }: StatedStandby): Standby {
  const joined = Number.isSafeInteger(term) ? { term: term as number } : {}
  return { identity, revision, zone, since: BigInt(since), ...readFacts(rest), ...joined }
}

/** The note with as much as others read: attributes are left out before standbys are. */
function fittingNote(of: number, standbys: readonly Standby[], note: Note): string {
  const { holder, zone, leader, writeMs } = note
  const listed = standbys.map(({ since, ...standby }) => ({ ...standby, since: String(since) }))
  const text = JSON.stringify({ of, holder, zone, leader, standbys: listed, writeMs })
  if (text.length <= MAX_NOTE_LENGTH) return text
  const brief = standbys.map((standby) => ({ ...standby, attributes: undefined }))
  if (standbys.some(({ attributes }) => attributes !== undefined) || hasAttributes(leader)) {
    return fittingNote(of, brief, { ...note, leader: withoutAttributes(leader) })
  }
  return standbys.length === 0 ? text : fittingNote(of, standbys.slice(0, -1), note)
}

function hasAttributes(leader: unknown): leader is { readonly attributes: unknown } {
  return typeof leader === 'object' && leader !== null && 'attributes' in leader && leader.attributes !== undefined
}

function withoutAttributes(leader: unknown): unknown {
  return hasAttributes(leader) ? { ...leader, attributes: undefined } : leader
}

const NO_FACTS: Facts = {}

function readFacts(value: object): Facts {
  const { strategy, strategyVersion, binaryVersion, emulationVersion, attributes, warm } = value as Unknown
  // Most lists state no facts, and every follower reads them at every event.
  if (typeof strategy !== 'string') return warm === false ? { warm } : NO_FACTS
  const facts: Facts = {
    strategy,
    strategyVersion: Number.isSafeInteger(strategyVersion) ? (strategyVersion as number) : undefined,
    binaryVersion: isVersion(binaryVersion) ? binaryVersion : undefined,
    emulationVersion: isVersion(emulationVersion) ? emulationVersion : undefined,
    attributes: areAttributes(attributes) ? attributes : undefined,
    warm: warm === false ? false : undefined,
  }
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined))
}

type Unknown = Readonly<Record<string, unknown>>

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** How often the lease changed its holder. */
export function transitionsOf({ leaseTransitions }: LeaseRecord): number {
  return leaseTransitions ?? 0
}

/** An entry of the list as it is written. */
interface StatedStandby extends Pick<Standby, 'identity' | 'revision' | 'zone'> {
  readonly since: string
  readonly term?: unknown
}

function isStandby(value: unknown): value is StatedStandby {
  const { identity, revision, zone, since } = (value ?? {}) as Unknown
  const isNamed = typeof identity === 'string' && identity !== ''
  const areTexts = [revision, zone].every((text) => text === undefined || typeof text === 'string')
  return isNamed && areTexts && typeof since === 'string' && /^\d{1,19}$/.test(since)
}
