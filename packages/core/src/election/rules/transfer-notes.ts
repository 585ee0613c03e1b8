import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'

/*
 * Notes of replicas in annotations of the lease: the offer of the leader to transfer it, the answer of one follower, the nonce of that
 * answer in the transfer, and the process of the holder.
 *
 * Other clients keep annotations through their own terms, and any client that may write the lease can write these. So a note counts only
 * with the holder and the acquire time that it names. A malformed note is ignored.
 */
const OFFER = `${ANNOTATION_PREFIX}transfer-offer`
const ANSWER = `${ANNOTATION_PREFIX}transfer-answer`
const TRANSFER = `${ANNOTATION_PREFIX}transfer`
const PROCESS = `${ANNOTATION_PREFIX}holder-process`

/** Longer notes are not read. Four identities of the longest kind fit. */
const MAX_NOTE_LENGTH = 4096

/** How long a transferred lease is protected if its new holder does not renew it, in milliseconds. Whole seconds. */
export const TRANSFER_DURATION_MS = 5000

/** The offer of a leader to transfer the lease. */
export interface Offer {
  /** The only replica that may answer; undefined when any may. */
  readonly to: string | undefined
}

/** The replica that is ready, and a nonce that is unique to this answer. */
export interface Answer {
  readonly identity: string
  readonly nonce: string
}

/** The offer of the present term. */
export function readOffer(record: LeaseRecord): Offer | undefined {
  const note = readNote(record, OFFER)
  if (note === undefined) return undefined
  const { to } = note
  if (to === undefined) return { to }
  return isName(to) ? { to } : undefined
}

/** The answer to the offer of the present term. */
export function readAnswer(record: LeaseRecord): Answer | undefined {
  const { identity, nonce } = readNote(record, ANSWER) ?? {}
  return isName(identity) && isName(nonce) ? { identity, nonce } : undefined
}

/** The nonce with which the present term was transferred to its holder. */
export function readTransferNonce(record: LeaseRecord): string | undefined {
  const { nonce } = readNote(record, TRANSFER) ?? {}
  return isName(nonce) ? nonce : undefined
}

/** The process in which the present holder runs, by its own account. */
export function readProcessRef(record: LeaseRecord): string | undefined {
  const { process } = readNote(record, PROCESS) ?? {}
  return isName(process) ? process : undefined
}

/** The record with this offer and no answer to another one. */
export function withOffer(record: LeaseRecord, { to }: Offer): LeaseRecord {
  return withNote(record, OFFER, { to })
}

/** The record with this answer; without one if undefined. */
export function withAnswer(record: LeaseRecord, answer: Answer | undefined): LeaseRecord {
  if (answer !== undefined) return withNote(record, ANSWER, { identity: answer.identity, nonce: answer.nonce })
  const { [ANSWER]: _, ...annotations } = record.annotations
  return { ...record, annotations }
}

/** The record as the transfer that echoes `nonce`. */
export function withTransferNonce(record: LeaseRecord, nonce: string): LeaseRecord {
  return withNote(record, TRANSFER, { nonce })
}

/** The record with the process of its holder, if that is known. */
export function withProcessRef(record: LeaseRecord, processRef: string | undefined): LeaseRecord {
  return processRef === undefined ? record : withNote(record, PROCESS, { process: processRef })
}

/** The record without any of these notes. */
export function withoutNotes(record: LeaseRecord): LeaseRecord {
  const { [OFFER]: _offer, [ANSWER]: _answer, [TRANSFER]: _transfer, [PROCESS]: _process, ...rest } = record.annotations
  return { ...record, annotations: rest }
}

/** The content of a note. */
type Note = Readonly<Record<string, unknown>>

/** The note under this key, if it names the term of the record. */
export function readNote(record: LeaseRecord, key: string): Note | undefined {
  const text = record.annotations[key]
  if (text === undefined || text.length > MAX_NOTE_LENGTH || record.holderIdentity === '') return undefined
  const note = parseNote(text)
  if (note?.['holder'] !== record.holderIdentity || note['of'] !== record.acquireTime) return undefined
  return record.acquireTime === undefined ? undefined : note
}

/** Anyone may have written the text. What is no object has no fields. */
function parseNote(text: string): Note | null {
  try {
    return JSON.parse(text) as Note | null
  } catch {
    return null
  }
}

/** The record with a note that names its term. */
export function withNote(record: LeaseRecord, key: string, note: Note): LeaseRecord {
  const bound = { holder: record.holderIdentity, of: record.acquireTime, ...note }
  return { ...record, annotations: { ...record.annotations, [key]: JSON.stringify(bound) } }
}

/** Whether a value of a note can name something. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
