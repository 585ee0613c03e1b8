import type { LeaseRecord, PresentLease } from '@tenure/core'
import { epochOf, readRequest, readRequestAnswer, readTransferNonce } from '@tenure/core/internal'
import { durationText } from '../status/duration.ts'
import { offerOfDrain } from '../step-down/request.ts'

/** The state of one lease at one moment. */
export interface LeaseSighting {
  /** Wall-clock milliseconds. */
  readonly at: number
  /** Undefined if the lease does not exist. */
  readonly lease: PresentLease | undefined
}

/** What is remembered of a lease between two sightings. */
export interface LeaseHistory {
  readonly last: LeaseSighting
  /** When the present holder acquired the lease, or since when nobody holds it. Undefined if that was not seen. */
  readonly since: number | undefined
  /** When the record last changed. Renewals count. */
  readonly changedAt: number
}

/** What happened to a lease between two sightings. */
export type LeaseChange =
  /** The first sighting. `holder` is empty if nobody holds the lease, and undefined if it does not exist. */
  | { readonly kind: 'first-seen'; readonly holder: string | undefined }
  /** Nobody held the lease before. `gapMs` is undefined if its beginning was not seen. */
  | { readonly kind: 'acquired'; readonly holder: string; readonly epoch: string; readonly gapMs: number | undefined }
  | (Succession & { readonly kind: 'transferred' })
  /** `unrenewedMs`: how long the former holder had not renewed the lease. */
  | (Succession & { readonly kind: 'taken-over'; readonly unrenewedMs: number })
  | { readonly kind: 'released'; readonly from: string; readonly lastedMs: number | undefined }
  /** `from` is empty if nobody held the lease. */
  | { readonly kind: 'deleted'; readonly from: string }
  /** Somebody requested that the lease is handed over. */
  | { readonly kind: 'requested'; readonly to: string | undefined }
  /** The holder leads on, because the requested replica did not answer. */
  | { readonly kind: 'declined'; readonly holder: string; readonly to: string }
  | { readonly kind: 'draining'; readonly holder: string; readonly to: string | undefined }

/** A holder that follows another one at once. */
interface Succession {
  readonly from: string
  readonly holder: string
  readonly epoch: string
  /** Undefined if the beginning of the former term was not seen. */
  readonly lastedMs: number | undefined
}

/** What happened to a lease, and what to remember. */
export interface LeaseChanges {
  readonly changes: readonly LeaseChange[]
  readonly history: LeaseHistory
}

/** Compares a sighting with what was seen before. */
export function changesOf(history: LeaseHistory | undefined, sighting: LeaseSighting): LeaseChanges {
  if (history === undefined) {
    const first = { kind: 'first-seen', holder: sighting.lease?.record.holderIdentity } as const
    return { changes: [first], history: { last: sighting, since: undefined, changedAt: sighting.at } }
  }
  const { at } = sighting
  const before = history.last.lease?.record
  const now = sighting.lease?.record
  if (!isSameTerm(before, now))
    return { changes: changesOfTerm(history, sighting), history: { last: sighting, since: at, changedAt: at } }
  const changedAt = before?.renewTime === now?.renewTime ? history.changedAt : at
  return { changes: changesWithin(before, now), history: { last: sighting, since: history.since, changedAt } }
}

function isSameTerm(a: LeaseRecord | undefined, b: LeaseRecord | undefined): boolean {
  return a?.holderIdentity === b?.holderIdentity && a?.acquireTime === b?.acquireTime
}

/** The sentence for a lease whose holder has not renewed it in time; undefined if it has, or nobody holds it. */
export function expiryLine({ last, changedAt }: LeaseHistory, at: number): string | undefined {
  const { holderIdentity = '', leaseDurationSeconds } = last.lease?.record ?? {}
  if (holderIdentity === '' || leaseDurationSeconds === undefined) return undefined
  const unchangedMs = at - changedAt
  if (unchangedMs < leaseDurationSeconds * 1000) return undefined
  return `expired: ${holderIdentity} has not renewed it for ${durationText(unchangedMs)}`
}

/** What the holder and its operators say within one term. */
function changesWithin(before: LeaseRecord | undefined, now: LeaseRecord | undefined): readonly LeaseChange[] {
  if (before === undefined || now === undefined) return []
  const [offer, wasOffered] = [offerOfDrain(now), offerOfDrain(before)]
  const begun = offer !== undefined && wasOffered === undefined
  return [
    ...requestChanges(before, now),
    ...(begun ? [{ kind: 'draining', holder: now.holderIdentity, to: offer.to } as const] : []),
  ]
}

function requestChanges(before: LeaseRecord, now: LeaseRecord): readonly LeaseChange[] {
  const [asked, wasAsked] = [readRequest(now), readRequest(before)]
  if (asked !== undefined) return asked.id === wasAsked?.id ? [] : [{ kind: 'requested', to: asked.to }]
  const { id, outcome } = readRequestAnswer(now) ?? {}
  if (wasAsked?.to === undefined || wasAsked.id !== id || outcome !== 'declined') return []
  return [{ kind: 'declined', holder: now.holderIdentity, to: wasAsked.to }]
}

function changesOfTerm(history: LeaseHistory, { at, lease }: LeaseSighting): readonly LeaseChange[] {
  const from = history.last.lease?.record.holderIdentity ?? ''
  if (lease === undefined) return [{ kind: 'deleted', from }]
  const { holderIdentity: holder } = lease.record
  const lastedMs = history.since === undefined ? undefined : at - history.since
  if (holder === '') return from === '' ? [] : [{ kind: 'released', from, lastedMs }]
  const epoch = String(epochOf(lease))
  if (from === '') return [{ kind: 'acquired', holder, epoch, gapMs: lastedMs }]
  const succession = { from, holder, epoch, lastedMs }
  if (readTransferNonce(lease.record) !== undefined) return [{ kind: 'transferred', ...succession }]
  return [{ kind: 'taken-over', ...succession, unrenewedMs: at - history.changedAt }]
}
