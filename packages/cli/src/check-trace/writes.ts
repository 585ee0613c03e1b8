import type { TraceAct, TraceRecord, TraceWrite } from '@tenure/core/internal'
import { isHeldForLife, TRANSFER_MS } from './holding.ts'
import { EPSILON_MS, ms } from './times.ts'
import {
  greatest,
  isOfTerm,
  isEqualButForAnswer,
  isSameRecord,
  isWrittenAs,
  type Version,
  versionOf,
} from './records.ts'
import { HOLDING, type Replica, type Sent } from './replica.ts'
import type { Step } from './step.ts'
import { epochSeen, freeAt, isReleased, type View } from './view.ts'

/*
 * The rules of what a replica sends.
 */

/** Judges a write that is sent, and remembers it. */
export function sends(step: Step, write: TraceWrite): void {
  const { replica, lease, line } = step
  const base = write.b === undefined ? undefined : versionOf(write.b)
  const replaced = base === undefined ? undefined : recordOf(replica, base)
  numbers(step, write.q)
  const sent: Sent = { ...write, sentAt: line.t, base, replaced, isAcknowledged: false, isAnswered: false }
  if (isBased(step, sent)) JUDGES[write.u](step, sent)
  replica.writes.set(write.q, sent)
  if (OF_HOLDER.has(write.u)) isInTurn(step, write)
  if (write.u === 'acquire') replica.lastAcquire = write.q
  if (replica.writes.size > MOST_WRITES) forget(step)
  // Followers write the record that is there.
  if (write.u !== 'answer' && write.u !== 'announce') lease.noteSent(write.r, replica, step)
}

/** A holder waits for the answer to its last write. */
function isInTurn(step: Step, { u, q }: TraceWrite): void {
  const { replica } = step
  if (replica.inFlight !== undefined)
    step.broken('request', `${a(u)} is sent before the answer to the write ${replica.inFlight}`)
  replica.inFlight = q
}

/** Checks the number of a request: a replica numbers its requests from 1. */
export function numbers(step: Step, q: number): void {
  const { replica } = step
  if (q !== replica.requests + 1) step.broken('request', `the request ${q} follows the request ${replica.requests}`)
  replica.requests = q
}

/** The record of a version that the replica has seen: the last one, or one of those before. */
function recordOf({ view, seen }: Replica, version: Version): TraceRecord | undefined {
  return view?.version === version ? view.record : seen.get(version)
}

/** The purposes of a holder. */
const OF_HOLDER: ReadonlySet<string> = new Set(['renew', 'release', 'transfer'])

/** More writes of unknown outcome than an elector remembers. */
const MOST_WRITES = 64

function forget({ replica }: Step): void {
  for (const [q, sent] of replica.writes) {
    if (!sent.isAnswered) continue
    replica.writes.delete(q)
    return
  }
}

function isBased(step: Step, { u, base, replaced }: Sent): boolean {
  const { view } = step.replica
  if (view === undefined) return (step.broken('base', `${a(u)} before the lease was seen`), false)
  if (base === undefined) {
    if (view.record === undefined && u === 'acquire') return true
    return (step.broken('base', `${a(u)} creates the lease, which exists`), false)
  }
  if (replaced === undefined)
    return (step.broken('base', `${a(u)} replaces version ${base}, which was not seen`), false)
  const isNewest = view.record !== undefined && base >= view.version && isSameRecord(replaced, view.record)
  if (isNewest) return true
  return (step.broken('base', `${a(u)} replaces version ${base}, but version ${view.version} was seen since`), false)
}

type Judge = (step: Step, sent: Sent) => void

const JUDGES: Readonly<Record<TraceWrite['u'], Judge>> = {
  acquire: judgeAcquire,
  renew: judgeRenewal,
  release: judgeRelease,
  transfer: judgeTransfer,
  answer: judgeAnswer,
  announce: judgeAnnouncement,
}

/** Whether an act is a write. */
export function isWrite(act: TraceAct): act is TraceWrite {
  return Object.hasOwn(JUDGES, act.u)
}

function judgeAcquire(step: Step, sent: Sent): void {
  const { r, replaced } = sent
  const { replica, line } = step
  const { view, identity, term } = replica
  if (line.s !== 'acquiring') step.broken('write', `an acquisition is sent while ${line.s}`)
  if (term !== undefined) step.broken('write', `an acquisition is sent although a term is not over`)
  if (!isOfNewTerm(replica, sent) || hasNotes(r)) step.broken('write', `an acquisition by ${identity} says ${text(r)}`)
  if (replaced !== undefined && r.r === replaced.r && r.h === replaced.h)
    step.broken('write', 'an acquisition does not change the renew time')
  if (view === undefined) return
  judgeEpoch(step, sent)
  judgeWait(step, view)
}

/** Whether the record is one with which this replica begins a term. */
function isOfNewTerm({ identity, header }: Replica, { r, replaced }: Sent): boolean {
  const isNew = replaced !== undefined && (replaced.h !== identity || replaced.a === undefined)
  const transitions = isNew ? nextTransitions(replaced) : Math.min(transitionsOf(replaced), MOST_TRANSITIONS)
  return r.h === identity && r.a !== undefined && r.a === r.r && r.n === transitions && r.d === header.leaseMs / 1000
}

/** Whether the record offers the lease, answers an offer, or is of a transfer. */
function hasNotes({ x, y, o }: TraceRecord): boolean {
  return x !== undefined || y !== undefined || o !== undefined
}

/** The number has 32 bits. */
const MOST_TRANSITIONS = 2 ** 31 - 1

function transitionsOf(record: TraceRecord | undefined): number {
  return Math.max(record?.n ?? 0, 0)
}

function nextTransitions(record: TraceRecord): number {
  return Math.min(transitionsOf(record) + 1, MOST_TRANSITIONS)
}

/** The record of a new term states an epoch above all that its sender knows, unless the version ensures that. */
function judgeEpoch(step: Step, { r, base }: Sent): void {
  const { view, highestEpoch } = step.replica
  if (view === undefined) return
  // The answer to an announcement may have shown a later version than the watch.
  const isByVersion = base !== undefined && view.counted === view.version
  const counted = base === undefined ? 0 : isByVersion ? greatest(base, view.counted) : view.counted
  const known = greatest(highestEpoch, view.record === undefined ? 0 : epochSeen(view))
  if (known <= counted || (r.e !== undefined && versionOf(r.e) > known)) return
  step.broken('S6', `the new term may get an epoch below ${known}, which ${step.replica.identity} knows`)
}

function judgeWait(step: Step, view: View): void {
  const { replica, line } = step
  const { record } = view
  if (record === undefined) return
  if (view.isDeleting) return step.broken('wait', 'the lease is being deleted')
  if (isForReplica(replica, record)) return
  if (!decidesItself(replica)) return step.broken('wait', `a coordinator has not named ${replica.identity}`)
  if (isFreeAtOnce(replica, record)) return
  if (isHeldForLife(replica, record) && record.h !== replica.identity)
    return step.broken('wait', `${record.h} holds the lease for life`)
  const from = freeAt(view)
  if (line.t >= from - EPSILON_MS) return
  const whose = record.h === '' ? 'a released lease' : `the lease of ${record.h}`
  step.broken('wait', `${replica.identity} takes ${whose} ${ms(from - line.t)} too early`)
}

/** Whether no coordinator decides which replica leads. */
function decidesItself({ coordination }: Replica): boolean {
  return coordination === undefined || coordination === 'peers'
}

/** Whether the lease is for this replica: transferred to it, given to it by a coordinator, or as it wrote it. */
function isForReplica(replica: Replica, record: TraceRecord): boolean {
  if (record.h !== replica.identity) return false
  if (record.x !== undefined || !decidesItself(replica)) return true
  return replica.own !== undefined && isWrittenAs(record, replica.own)
}

/** Whether no time must pass: the holder is proved dead, or it is this replica, which keeps the lease for life, or has released it. */
function isFreeAtOnce(replica: Replica, record: TraceRecord): boolean {
  if (record.h === '') return replica.own !== undefined && isWrittenAs(record, replica.own)
  return isOfTerm(replica.dead, record) || (isHeldForLife(replica, record) && isOfTerm(replica.own, record))
}

function judgeRenewal(step: Step, { r, replaced, i: isCheck }: Sent): void {
  const { replica, line } = step
  if (!HOLDING.has(line.s) || line.s === 'releasing') step.broken('write', `a renewal is sent while ${line.s}`)
  if (!isOfOwnTerm(step, replaced)) return step.broken('write', `a renewal replaces ${text(replaced)}`)
  if (!isOfSameTerm(r, replaced) || r.d !== replica.header.leaseMs / 1000)
    step.broken('write', `a renewal says ${text(r)}`)
  if (r.e !== replaced.e) step.broken('write', `a renewal changes the least epoch from ${replaced.e} to ${r.e}`)
  judgeNotes(step, r, replaced)
  if (r.r === replaced.r && isCheck !== true) step.broken('write', 'a renewal does not change the renew time')
}

/** A renewal keeps the answer to an offer, or drops it, and is no transfer. */
function judgeNotes(step: Step, r: TraceRecord, replaced: TraceRecord): void {
  if (r.x !== undefined) step.broken('write', 'a renewal keeps the nonce of a transfer')
  if (r.y !== undefined && !isSameAnswer(r, replaced)) step.broken('write', `a renewal answers for ${r.y[0]}`)
}

function isSameAnswer(a: TraceRecord, b: TraceRecord): boolean {
  return a.y?.[0] === b.y?.[0] && a.y?.[1] === b.y?.[1]
}

function isOfSameTerm(a: TraceRecord, b: TraceRecord): boolean {
  return a.h === b.h && a.a === b.a && a.n === b.n
}

function judgeRelease(step: Step, { r, replaced }: Sent): void {
  mayFree(step, 'release')
  if (!isOfOwnTerm(step, replaced)) return step.broken('S4', `a release replaces ${text(replaced)}`)
  const isOfTerm = r.n === replaced.n && r.e === replaced.e && r.r !== replaced.r
  if (!isReleased(r) || !isOfTerm || hasNotes(r)) step.broken('write', `a release says ${text(r)}`)
}

function judgeTransfer(step: Step, sent: Sent): void {
  const { r, replaced } = sent
  mayFree(step, 'transfer')
  judgeEpoch(step, sent)
  if (!isOfOwnTerm(step, replaced)) return step.broken('S4', `a transfer replaces ${text(replaced)}`)
  if (!isAnswered(r, replaced) && !isPreferred(step.replica, r, replaced))
    step.broken('write', `the lease is transferred to ${r.h}, which has not answered`)
  if (!isOfTransfer(step.replica, r, replaced)) step.broken('write', `a transfer says ${text(r)}`)
}

/** Whether the record that is transferred has an answer of the one that gets it. */
function isAnswered({ h, x }: TraceRecord, { y }: TraceRecord): boolean {
  return y !== undefined && y[0] === h && y[1] === x
}

/** Whether a coordinator prefers the one that gets it. */
function isPreferred({ coordination }: Replica, { h }: TraceRecord, { p }: TraceRecord): boolean {
  return coordination === 'server' && p !== undefined && p === h
}

function isOfTransfer({ identity }: Replica, r: TraceRecord, replaced: TraceRecord): boolean {
  const isToAnother = r.h !== '' && r.h !== identity && r.x !== undefined
  const isNew = r.a === r.r && r.a !== replaced.a && r.d === TRANSFER_MS / 1000
  if (r.y !== undefined || r.o !== undefined) return false
  return isToAnother && isNew && r.n === Math.min((replaced.n ?? 0) + 1, MOST_TRANSITIONS)
}

/** Nothing of the term may be left. A lease in whose place another one was deleted is not given back early. */
function mayFree(step: Step, what: string): void {
  const { term, grant, actNotBefore } = step.replica
  const { s } = step.line
  if (s !== 'releasing') step.broken(term?.end === 'involuntary' ? 'S3' : 'write', `a ${what} is sent while ${s}`)
  if (term === undefined && grant === undefined) step.broken('S3', `a ${what} is sent after the term is over`)
  if (term !== undefined && !term.isEmpty)
    step.broken('S3', `a ${what} is sent although the term with epoch ${term.epoch} is not empty`)
  if (term === undefined && step.line.t < actNotBefore - EPSILON_MS)
    step.broken('S3', `a ${what} is sent ${ms(actNotBefore - step.line.t)} before another leader must have ended`)
}

function judgeAnswer(step: Step, { r, replaced }: Sent): void {
  const { replica, line } = step
  if (line.s !== 'following') step.broken('write', `an answer is sent while ${line.s}`)
  if (replaced === undefined || !isEqualButForAnswer(r, replaced))
    return step.broken('write', `an answer says ${text(r)}`)
  if (replaced.o !== true) step.broken('write', 'an answer is sent to no offer')
  if (!mayAnswer(replica, r, replaced))
    step.broken('write', `an answer replaces ${replaced.y === undefined ? 'none' : `that of ${replaced.y[0]}`}`)
  if (r.y === undefined) return
  const [identity, nonce] = r.y
  if (identity !== replica.identity) return step.broken('write', `${replica.identity} answers for ${identity}`)
  if (replica.nonces.has(nonce)) step.broken('write', `the nonce ${nonce} is used twice`)
  replica.nonces.set(nonce, line.t)
}

/** The first answer counts, and only its sender replaces or withdraws it. */
function mayAnswer({ identity }: Replica, r: TraceRecord, { y }: TraceRecord): boolean {
  return y === undefined ? r.y !== undefined : y[0] === identity
}

function judgeAnnouncement(step: Step, { r, replaced }: Sent): void {
  if (step.line.s !== 'following') step.broken('write', `an announcement is sent while ${step.line.s}`)
  if (replaced === undefined || !isSameRecord(r, replaced))
    return step.broken('write', `an announcement says ${text(r)}`)
  const isSame = r.x === replaced.x && r.o === replaced.o && isSameAnswer(r, replaced)
  if (!isSame || !(r.e === replaced.e || reminds(step, r)))
    step.broken('write', 'an announcement changes more than the list')
}

/** Whether an announcement writes the epoch that its sender knows to a lease that has forgotten it, as after a restore. */
function reminds({ replica: { view, highestEpoch } }: Step, { e }: TraceRecord): boolean {
  return e !== undefined && versionOf(e) === highestEpoch && view !== undefined && epochSeen(view) < highestEpoch
}

/** Whether the record is of a term of this replica. */
function isOfOwnTerm({ replica }: Step, record: TraceRecord | undefined): record is TraceRecord {
  return record !== undefined && record.h === replica.identity && isOfTerm(replica.own, record)
}

function a(purpose: TraceWrite['u']): string {
  return PURPOSES[purpose]
}

const PURPOSES: Readonly<Record<TraceWrite['u'], string>> = {
  acquire: 'an acquisition',
  renew: 'a renewal',
  release: 'a release',
  transfer: 'a transfer',
  answer: 'an answer',
  announce: 'an announcement',
}

function text(record: TraceRecord | undefined): string {
  if (record === undefined) return 'no record'
  const { h, d, a: acquired, r, n } = record
  return `holder ${JSON.stringify(h)}, ${d} s, acquired ${acquired}, renewed ${r}, ${n} transitions`
}
