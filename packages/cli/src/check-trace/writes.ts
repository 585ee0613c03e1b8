import type { TraceRecord, TraceWrite } from '@tenure/core/internal'
import { EPSILON_MS, ms } from './lease-run.ts'
import { greatest, isSameRecord, isWrittenAs, versionOf } from './records.ts'
import { HOLDING, type Sent } from './replica.ts'
import type { Step } from './step.ts'
import { epochSeen, freeAt, type View } from './view.ts'

/*
 * The rules of what a replica sends.
 */

/** Judges a write that is sent, and remembers it. */
export function sends(step: Step, write: TraceWrite): void {
  const { replica, lease, line } = step
  const base = write.b === undefined ? undefined : versionOf(write.b)
  const replaced = base === undefined ? undefined : replica.seen.get(base)
  if (replica.writes.has(write.q)) step.broken('request', `the number ${write.q} of a request is not new`)
  const sent: Sent = { ...write, sentAt: line.t, base, replaced, isAcknowledged: false, isAnswered: false }
  if (isBased(step, sent)) JUDGES[write.u](step, sent)
  replica.writes.set(write.q, sent)
  if (OF_HOLDER.has(write.u)) replica.inFlight = write.q
  if (replica.writes.size > MOST_WRITES) forget(step)
  lease.noteSent(write.r)
}

/** The purposes of a holder. */
const OF_HOLDER: ReadonlySet<string> = new Set(['renew', 'release', 'transfer'])

/** More writes of unknown outcome than an elector remembers. */
const MOST_WRITES = 24

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

function judgeAcquire(step: Step, sent: Sent): void {
  const { r, replaced } = sent
  const { replica, line } = step
  const { view, identity, header, term } = replica
  if (line.s !== 'acquiring') step.broken('write', `an acquisition is sent while ${line.s}`)
  if (term !== undefined) step.broken('write', `an acquisition is sent although a term is not over`)
  const isNew = replaced !== undefined && (replaced.h !== identity || replaced.a === undefined)
  const transitions = Math.min(Math.max(replaced?.n ?? 0, 0) + (isNew ? 1 : 0), 2 ** 31 - 1)
  const isRight =
    r.h === identity && r.a !== undefined && r.a === r.r && r.n === transitions && r.d === header.leaseMs / 1000
  if (!isRight) step.broken('write', `an acquisition by ${identity} says ${text(r)}`)
  if (replaced !== undefined && r.r === replaced.r && r.h === replaced.h)
    step.broken('write', 'an acquisition does not change the renew time')
  if (view === undefined) return
  judgeEpoch(step, sent)
  judgeWait(step, view)
}

/** The record of a new term states an epoch above all that its sender knows, unless the version ensures that. */
function judgeEpoch(step: Step, { r, base }: Sent): void {
  const { view, highestEpoch } = step.replica
  if (view === undefined) return
  const counted = base === undefined ? 0 : view.counted
  const known = greatest(highestEpoch, view.record === undefined ? 0 : epochSeen(view))
  if (known <= counted || (r.e !== undefined && versionOf(r.e) > known)) return
  step.broken('S6', `the new term may get an epoch below ${known}, which ${step.replica.identity} knows`)
}

function judgeWait(step: Step, view: View): void {
  const { replica, line } = step
  const { record } = view
  if (record === undefined) return
  if (view.isDeleting) return step.broken('wait', 'the lease is being deleted')
  const { identity, own, dead, coordination, header } = replica
  const decidesItself = coordination === undefined || coordination === 'peers'
  if (record.h === identity && (record.x !== undefined || !decidesItself)) return
  if (own !== undefined && isWrittenAs(record, own) && record.h === identity) return
  if (!decidesItself) return step.broken('wait', `a coordinator has not named ${identity}`)
  if (dead !== undefined && record.h !== '' && dead.h === record.h && dead.a === record.a) return
  if (header.heldForLife && record.h !== '' && record.x === undefined) {
    if (own !== undefined && own.h === record.h && own.a === record.a) return
    if (record.h !== identity) return step.broken('wait', `${record.h} holds the lease for life`)
  }
  const from = freeAt(view)
  if (line.t >= from - EPSILON_MS) return
  const whose = record.h === '' ? 'a released lease' : `the lease of ${record.h}`
  step.broken('wait', `${identity} takes ${whose} ${ms(from - line.t)} too early`)
}

function judgeRenewal(step: Step, { r, replaced }: Sent): void {
  const { replica, line } = step
  if (!HOLDING.has(line.s) || line.s === 'releasing') step.broken('write', `a renewal is sent while ${line.s}`)
  if (!isOfOwnTerm(step, replaced)) return step.broken('write', `a renewal replaces ${text(replaced)}`)
  const isRight = r.h === replaced?.h && r.a === replaced.a && r.n === replaced.n
  if (!isRight || r.d !== replica.header.leaseMs / 1000) step.broken('write', `a renewal says ${text(r)}`)
  if (r.r === replaced?.r && !replica.header.heldForLife)
    step.broken('write', 'a renewal does not change the renew time')
}

function judgeRelease(step: Step, { r, replaced }: Sent): void {
  mayFree(step, 'release')
  if (!isOfOwnTerm(step, replaced)) return step.broken('S4', `a release replaces ${text(replaced)}`)
  if (r.h !== '' || r.n !== replaced?.n || r.r === replaced?.r) step.broken('write', `a release says ${text(r)}`)
}

function judgeTransfer(step: Step, sent: Sent): void {
  const { r, replaced } = sent
  mayFree(step, 'transfer')
  judgeEpoch(step, sent)
  if (!isOfOwnTerm(step, replaced)) return step.broken('S4', `a transfer replaces ${text(replaced)}`)
  const isAnswer = replaced?.y !== undefined && replaced.y[0] === r.h && replaced.y[1] === r.x
  const isPreferred = step.replica.coordination === 'server' && replaced?.p !== undefined && replaced.p === r.h
  if (!isAnswer && !isPreferred) step.broken('write', `the lease is transferred to ${r.h}, which has not answered`)
  const isRight = r.h !== '' && r.h !== step.replica.identity && r.x !== undefined && r.a === r.r && r.a !== replaced?.a
  if (!isRight || r.n !== Math.min((replaced?.n ?? 0) + 1, 2 ** 31 - 1))
    step.broken('write', `a transfer says ${text(r)}`)
}

/** Nothing of the term may be left. A lease in whose place another one was deleted is not given back early. */
function mayFree(step: Step, what: string): void {
  const { term, actNotBefore } = step.replica
  if (term !== undefined && !term.isEmpty)
    step.broken('S3', `a ${what} is sent although the term with epoch ${term.epoch} is not empty`)
  if (term === undefined && step.line.t < actNotBefore - EPSILON_MS)
    step.broken('S3', `a ${what} is sent ${ms(actNotBefore - step.line.t)} before another leader must have ended`)
}

function judgeAnswer(step: Step, { r, replaced }: Sent): void {
  const { replica, line } = step
  if (line.s !== 'following') step.broken('write', `an answer is sent while ${line.s}`)
  if (replaced === undefined || !isSameRecord(r, replaced)) return step.broken('write', `an answer says ${text(r)}`)
  if (replaced.o !== true) step.broken('write', 'an answer is sent to no offer')
  if (r.y === undefined) return
  const [identity, nonce] = r.y
  if (identity !== replica.identity) return step.broken('write', `${replica.identity} answers for ${identity}`)
  if (replica.nonces.has(nonce)) step.broken('write', `the nonce ${nonce} is used twice`)
  replica.nonces.set(nonce, line.t)
}

function judgeAnnouncement(step: Step, { r, replaced }: Sent): void {
  if (step.line.s !== 'following') step.broken('write', `an announcement is sent while ${step.line.s}`)
  if (replaced === undefined || !isSameRecord(r, replaced)) step.broken('write', `an announcement says ${text(r)}`)
}

/** Whether the record is of a term of this replica. */
function isOfOwnTerm({ replica }: Step, record: TraceRecord | undefined): boolean {
  const { own, identity } = replica
  return record !== undefined && own !== undefined && record.h === identity && record.h === own.h && record.a === own.a
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
