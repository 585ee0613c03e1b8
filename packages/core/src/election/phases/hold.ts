import { jittered } from '../../jitter.ts'
import { type LeaseRecord, leastEpochOf } from '../../lock/lease-record.ts'
import type { LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../machine/effect.ts'
import type { Instant, ReadResult, RequestFailure, WriteResult } from '../machine/event.ts'
import type { Hold, HoldRequest, Memory, SentWrite } from '../machine/state.ts'
import { cutShort } from '../rules/cut-short.ts'
import { nextRequest } from '../rules/memory.ts'
import { withTermSeen } from '../rules/observation.ts'
import { isRenewalInWholeSeconds, isSameRecord, isWrittenAs, renewRecord } from '../rules/records.ts'
import { type ResolvedTimingOptions, validityMs } from '../timing-options.ts'

/*
 * Holding a lease: what leading, draining, reserving and releasing have in common.
 *
 * 1. Validity counts from the send of a write that is known to have happened and that others see as a renewal.
 * 2. A failed or late answer never shortens the hold. Only time, another holder, or deletion ends it.
 * 3. An edit of the record by another client shortens the hold to what the record now grants, until a renewal is acknowledged.
 * 4. At most one request is in flight.
 */

/** The result of an event for the hold. */
export type HoldStep =
  | { readonly kind: 'held'; readonly memory: Memory; readonly hold: Hold; readonly effects: readonly ElectorEffect[] }
  | {
      readonly kind: 'lost'
      readonly memory: Memory
      readonly reason: InvoluntaryEndReason
      /** The lease at the time of the loss, if it was seen. */
      readonly snapshot: LockSnapshot | undefined
      readonly effects: readonly ElectorEffect[]
    }

/** A lease being held, at one moment. */
export interface HoldContext {
  readonly memory: Memory
  readonly hold: Hold
  readonly at: Instant
  readonly config: ElectorConfig
  /** The next write. The default is a renewal; a release sends its own record. */
  readonly nextWrite?: (hold: Hold) => LeaseWrite
}

/** The share of an earlier slow latency that counts after each further write. */
const FADING = 0.7

/** The hold after an acknowledged acquiring write. */
export function holdFrom(
  write: SentWrite,
  lease: PresentLease,
  { at, timing }: { readonly at: Instant; readonly timing: ResolvedTimingOptions },
): Hold {
  const hold: Hold = {
    lease,
    ...validityFrom(write.sentAt, timing),
    uncut: undefined,
    request: { kind: 'waiting', at: nextRenewalAt(write, timing, spreadMs(at, timing)) },
    outstanding: [],
    writeMs: at.now - write.sentAt,
  }
  return cutShort(hold, at, timing)
}

/** Ends the hold when its time is up. Sends the next write when it is due. */
export function holdWoken(context: HoldContext): HoldStep {
  const { hold, at } = context
  if (at.now >= hold.validUntil) return lost(context, 'stalled')
  if (at.now >= hold.deadlineAt) return lost(context, 'renew-deadline')
  if (hold.request.kind === 'waiting' && at.now >= hold.request.at) return sendWrite(context)
  return held(context, hold)
}

/** Handles a view of the lease from the watch. */
export function holdObserved({ memory, ...rest }: HoldContext, snapshot: LockSnapshot): HoldStep {
  const { hold } = rest
  const isBehind = snapshot.version !== undefined && snapshot.version < hold.lease.version
  const context = { ...rest, memory: { ...memory, isBehind } }
  if (isBehind) return held(context, hold)
  if (snapshot.kind === 'absent') return lost(context, 'lease-deleted', snapshot)
  if (snapshot.version > hold.lease.version) return newerObserved(context, snapshot)
  // A restored store reuses its versions.
  return isSameRecord(snapshot.record, hold.lease.record) ? held(context, hold) : restored(context, snapshot)
}

function newerObserved(context: HoldContext, snapshot: PresentLease): HoldStep {
  const { hold } = context
  const write = sentWrites(hold).find((sent) => !isCheck(sent) && isWrittenAs(snapshot.record, sent.record))
  if (write !== undefined) return acknowledged(context, write, snapshot)
  if (!isWrittenAs(snapshot.record, hold.lease.record)) return lost(context, 'superseded', snapshot)
  const next = { ...hold, lease: snapshot }
  return isSameRecord(snapshot.record, hold.lease.record) ? held(context, next) : edited(context, next)
}

/**
 * Whether a renewal only checks that the lease is still held, because its holder keeps it for life. Any other view of the same record may
 * be older than the check, so only its own answer acknowledges it.
 */
function isCheck({ base, record }: SentWrite): boolean {
  return base?.record === record
}

/**
 * Another client changed a field that electors compare. The next renewal is sent immediately and restores the duration. Until it is
 * acknowledged, the term is valid only for as long as others respect the edited record.
 */
function edited(context: HoldContext, hold: Hold, effects: readonly ElectorEffect[] = []): HoldStep {
  const { request } = hold
  const renewal: HoldRequest = request.kind === 'waiting' ? { kind: 'waiting', at: context.at.now } : request
  return shortened(context, cutShort({ ...hold, request: renewal }, context.at, context.config.timing), effects)
}

/** The hold after it was shortened. It is lost if others need not wait at all: then the renewal that shows this has not prolonged it either. */
function shortened(context: HoldContext, hold: Hold, effects: readonly ElectorEffect[] = []): HoldStep {
  const { validUntil } = hold
  if (context.at.now >= validUntil) {
    const others = effects.filter(({ kind }) => kind !== 'extend-validity')
    return lost(context, 'superseded', hold.lease, others)
  }
  if (validUntil >= context.hold.validUntil) return held(context, hold, effects)
  return held(context, hold, [...effects, { kind: 'shorten-validity', validUntil }])
}

/**
 * The store was restored, for example from a backup. A record of this term is renewed immediately, from the version that the store has
 * now. Any other record means that the lease is lost.
 */
function restored(context: HoldContext, lease: PresentLease): HoldStep {
  const { record } = context.hold.lease
  const isOfTerm =
    lease.record.holderIdentity === record.holderIdentity && lease.record.acquireTime === record.acquireTime
  if (!isOfTerm) return lost(context, 'superseded', lease)
  const request: HoldRequest = { kind: 'waiting', at: context.at.now }
  return edited(context, { ...context.hold, lease, outstanding: [], request })
}

/** Handles the answer to a write. */
export function holdWriteAnswered(context: HoldContext, request: number, result: WriteResult): HoldStep {
  const { hold } = context
  if (hold.request.kind !== 'writing' || hold.request.write.request !== request) return held(context, hold)
  if (result.kind === 'written') return acknowledged(context, hold.request.write, result.lease)
  return writeFailed(context, hold.request.write, result)
}

/** Handles the answer to a read. */
export function holdReadAnswered(context: HoldContext, request: number, result: ReadResult): HoldStep {
  const { hold } = context
  if (hold.request.kind !== 'reading' || hold.request.request !== request) return held(context, hold)
  if (result.kind === 'failed') {
    return retryLater(context, [{ kind: 'request-failed', purpose: 'read', error: result.error }], result.retryAfterMs)
  }
  const { snapshot } = result
  if (snapshot.kind === 'absent') return lost(context, 'lease-deleted', snapshot)
  if (snapshot.version < hold.request.after) return restored(context, snapshot)
  const step = holdObserved(context, snapshot)
  if (step.kind === 'lost' || step.hold.request.kind !== 'reading') return step
  const next = { ...context, hold: step.hold }
  const isUrgent = step.hold.uncut !== undefined || step.hold.lease.version > hold.request.after
  return isUrgent ? retryNow(next, step.effects) : retryLater(next, step.effects)
}

/** When the hold needs the next `wake` event. */
export function holdWakesAt(hold: Hold): number {
  return hold.request.kind === 'waiting' ? Math.min(hold.request.at, hold.deadlineAt) : hold.deadlineAt
}

function sendWrite(context: HoldContext): HoldStep {
  const { at, hold, config } = context
  const { lease } = hold
  const memory = nextRequest(context.memory)
  const renewal = (): LeaseWrite => ({ purpose: 'renew', base: lease, record: renewRecord(lease.record, config, at) })
  const write = context.nextWrite?.(hold) ?? renewal()
  const sent: SentWrite = { ...write, request: memory.requests, sentAt: at.now }
  return {
    kind: 'held',
    memory,
    hold: { ...hold, request: { kind: 'writing', write: sent, dueAt: dueAt(hold, at) } },
    effects: [{ kind: 'write', request: sent.request, write }],
  }
}

function readBack(context: HoldContext, effects: readonly ElectorEffect[]): HoldStep {
  const memory = nextRequest(context.memory)
  const request: HoldRequest = { kind: 'reading', request: memory.requests, after: context.hold.lease.version }
  return {
    kind: 'held',
    memory,
    hold: { ...context.hold, request },
    effects: [...effects, { kind: 'read', request: memory.requests }],
  }
}

function acknowledged(context: HoldContext, write: SentWrite, written: PresentLease): HoldStep {
  const { at, hold } = context
  const lease = newestOf(hold, write, written)
  const { timing } = context.config
  const extendsValidity = !timing.wholeSecondPeers || isRenewalInWholeSeconds(hold.lease.record, write.record)
  const validity = extendsValidity ? validityFrom(write.sentAt, timing) : hold.uncut
  const next: Hold = {
    ...hold,
    ...validity,
    uncut: undefined,
    lease,
    request: { kind: 'waiting', at: nextRenewalAt(write, timing, lateMs(write, context)) },
    outstanding: [],
    writeMs: Math.max(at.now - write.sentAt, hold.writeMs * FADING),
  }
  const effects: ElectorEffect[] = []
  if (validity !== undefined) effects.push({ kind: 'extend-validity', validUntil: validity.validUntil })
  effects.push({ kind: 'renewed', elapsedMs: at.now - write.sentAt })
  const memory = { ...context.memory, own: write.purpose === 'transfer' ? undefined : write.record }
  const after = { ...context, memory, hold: next }
  const isFree = lease.record.holderIdentity !== context.config.identity
  if (isFree || isSameRecord(lease.record, write.record)) return held(after, next, effects)
  // A store that changes every write would change the next renewal, too.
  const isNew = !isEditedAlike(lease.record, hold.lease.record)
  return isNew ? edited(after, next, effects) : shortened(after, cutShort(next, at, timing), effects)
}

/** A check may have read an older version than the watch has shown since. */
function newestOf({ lease }: Hold, write: SentWrite, written: PresentLease): PresentLease {
  return isCheck(write) && written.version < lease.version ? lease : written
}

function isEditedAlike(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.leaseDurationSeconds === b.leaseDurationSeconds && a.leaseTransitions === b.leaseTransitions
}

function writeFailed(context: HoldContext, write: SentWrite, result: RequestFailure): HoldStep {
  const effects: ElectorEffect[] = [{ kind: 'request-failed', purpose: write.purpose, error: result.error }]
  switch (result.failure) {
    case 'not-found':
      return lost(context, 'lease-deleted', { kind: 'absent' }, effects)
    case 'conflict':
      return isNewerThan(write, context.hold) ? retryNow(context, effects) : readBack(context, effects)
    case 'unknown-outcome':
      return readBack(
        { ...context, hold: { ...context.hold, outstanding: [...context.hold.outstanding, write] } },
        effects,
      )
    case 'unauthenticated':
    case 'forbidden':
    case 'rejected':
    case 'throttled':
    case 'unreachable':
      return retryLater(context, effects, result.retryAfterMs)
    default:
      return result.failure satisfies never
  }
}

/** Whether a newer version of the held lease was seen after the refused write was sent, for example an answer. */
function isNewerThan(write: SentWrite, { lease }: Hold): boolean {
  return write.base !== undefined && lease.version > write.base.version
}

/** Sends the next write immediately, because the cause of the refusal is known and gone. */
function retryNow(context: HoldContext, effects: readonly ElectorEffect[]): HoldStep {
  const request: HoldRequest = { kind: 'waiting', at: context.at.now }
  return { kind: 'held', memory: context.memory, hold: { ...context.hold, request }, effects }
}

/**
 * Retries a failed request four times per retry period, so that a short disturbance costs little of the deadline. A store that asks for
 * more time gets at most one retry period, which is the normal rate of a leader. A longer pause would cost the term.
 */
function retryLater(context: HoldContext, effects: readonly ElectorEffect[], retryAfterMs = 0): HoldStep {
  const { retryPeriodMs } = context.config.timing
  const pause = Math.max(Math.min(retryAfterMs, retryPeriodMs), jittered(retryPeriodMs / 4, context.at.random))
  const request: HoldRequest = { kind: 'waiting', at: context.at.now + pause }
  return { kind: 'held', memory: context.memory, hold: { ...context.hold, request }, effects }
}

/** Every write that may still take effect. */
export function sentWrites(hold: Hold): readonly SentWrite[] {
  return hold.request.kind === 'writing' ? [...hold.outstanding, hold.request.write] : hold.outstanding
}

function validityFrom(
  sentAt: number,
  timing: ResolvedTimingOptions,
): Pick<Hold, 'sentAt' | 'validUntil' | 'deadlineAt'> {
  return { sentAt, validUntil: sentAt + validityMs(timing), deadlineAt: sentAt + timing.renewDeadlineMs }
}

/**
 * One retry period after the last write, minus `earlyMs` if the period is a second or longer. Renewals of one process that are due within
 * the same hundredth of the period are sent together, so that a process with many leases wakes up less often.
 *
 * With a period below one second, clients that compare whole seconds do not see every renewal. The first renewal of each second counts
 * for them, so it is sent right after the second begins.
 */
function nextRenewalAt(write: SentWrite, timing: ResolvedTimingOptions, earlyMs: number): number {
  const { retryPeriodMs, wholeSecondPeers } = timing
  if (retryPeriodMs >= 1000) {
    const stepMs = retryPeriodMs / 100
    return Math.floor((write.sentAt + retryPeriodMs - earlyMs) / stepMs) * stepMs
  }
  if (!wholeSecondPeers) return write.sentAt + retryPeriodMs
  const milliseconds = Number(write.record.renewTime?.slice(20, 23) ?? 0)
  return write.sentAt + Math.min(retryPeriodMs, 1001 - milliseconds)
}

function dueAt({ request }: Hold, at: Instant): number {
  return request.kind === 'waiting' ? Math.min(request.at, at.now) : at.now
}

/**
 * How late a write was sent. The next one is earlier by this time. Otherwise the renewals of many leases that were late together, for
 * example because of a busy event loop, would be sent together from then on.
 */
function lateMs(write: SentWrite, { hold, config }: HoldContext): number {
  if (hold.request.kind !== 'writing' || hold.request.write !== write) return 0
  const late = write.sentAt - hold.request.dueAt
  return late < config.timing.retryPeriodMs / 2 ? late : 0
}

/**
 * How much earlier to send the first renewal: up to half of the period. So a process that acquires many leases together does not renew
 * them together.
 */
function spreadMs({ random }: Instant, { retryPeriodMs }: ResolvedTimingOptions): number {
  return (random * retryPeriodMs) / 2
}

function held(context: HoldContext, hold: Hold, effects: readonly ElectorEffect[] = []): HoldStep {
  return { kind: 'held', memory: context.memory, hold, effects }
}

function lost(
  context: HoldContext,
  reason: InvoluntaryEndReason,
  snapshot?: LockSnapshot,
  effects: readonly ElectorEffect[] = [],
): HoldStep {
  const memory = withTermSeen(context.memory, context.hold.lease.record, snapshot, context.config)
  return { kind: 'lost', memory, reason, snapshot, effects }
}

/**
 * A record with a greater epoch than that of the term makes the term useless, because every fence that has seen the greater epoch refuses
 * its writes. The term ends, and the next one begins with a greater epoch.
 */
export function withEpochChecked(epoch: bigint, step: HoldStep): HoldStep {
  if (step.kind === 'lost' || leastEpochOf(step.hold.lease.record) <= epoch) return step
  return { kind: 'lost', memory: step.memory, reason: 'superseded', snapshot: step.hold.lease, effects: step.effects }
}
