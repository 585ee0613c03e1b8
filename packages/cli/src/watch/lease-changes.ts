import type { LeaseRecord, PresentLease } from '@tenure/core'
import { epochOf, readOffer, readRequest, readTransferNonce } from '@tenure/core/internal'
import { durationText } from '../status/duration.ts'

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

/** What happened to a lease, as sentences, and what to remember. */
export interface LeaseChanges {
  readonly lines: readonly string[]
  readonly history: LeaseHistory
}

/** Compares a sighting with what was seen before. */
export function changesOf(history: LeaseHistory | undefined, sighting: LeaseSighting): LeaseChanges {
  if (history === undefined) {
    return { lines: [firstLine(sighting)], history: { last: sighting, since: undefined, changedAt: sighting.at } }
  }
  const { at } = sighting
  const before = history.last.lease?.record
  const now = sighting.lease?.record
  if (!isSameTerm(before, now))
    return { lines: termLines(history, sighting), history: { last: sighting, since: at, changedAt: at } }
  const changedAt = before?.renewTime === now?.renewTime ? history.changedAt : at
  return { lines: notesWithin(before, now), history: { last: sighting, since: history.since, changedAt } }
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

function firstLine({ lease }: LeaseSighting): string {
  if (lease === undefined) return 'does not exist'
  const { holderIdentity } = lease.record
  return holderIdentity === '' ? 'has no holder' : `is held by ${holderIdentity}`
}

/** What the holder and its operators say within one term. */
function notesWithin(before: LeaseRecord | undefined, now: LeaseRecord | undefined): readonly string[] {
  if (before === undefined || now === undefined) return []
  const lines: string[] = []
  const [asked, wasAsked] = [readRequest(now), readRequest(before)]
  if (asked !== undefined && asked.id !== wasAsked?.id)
    lines.push(`is to be handed over${asked.to === undefined ? '' : ` to ${asked.to}`}, as somebody requested`)
  const [offer, wasOffered] = [readOffer(now), readOffer(before)]
  if (offer !== undefined && wasOffered === undefined)
    lines.push(`${now.holderIdentity} drains and offers it${offer.to === undefined ? '' : ` to ${offer.to}`}`)
  return lines
}

function termLines(history: LeaseHistory, { at, lease }: LeaseSighting): readonly string[] {
  const before = history.last.lease?.record.holderIdentity ?? ''
  const lasted = history.since === undefined ? '' : ` after ${durationText(at - history.since)}`
  if (lease === undefined) return [`was deleted${before === '' ? '' : ` while ${before} held it`}`]
  const { holderIdentity: holder } = lease.record
  if (holder === '') return before === '' ? [] : [`${before} released it${lasted}`]
  return [acquisitionLine(history, at, lease)]
}

function acquisitionLine({ since, last, changedAt }: LeaseHistory, at: number, lease: PresentLease): string {
  const before = last.lease?.record.holderIdentity ?? ''
  const { holderIdentity: holder } = lease.record
  const epoch = `epoch ${epochOf(lease)}`
  const passed = since === undefined ? undefined : durationText(at - since)
  if (before === '') return `${holder} acquired it (${epoch})${passed === undefined ? '' : `, gap ${passed}`}`
  const lasted = passed === undefined ? '' : ` after ${passed}`
  if (readTransferNonce(lease.record) !== undefined)
    return `${before} transferred it to ${holder}${lasted} (${epoch}), no gap`
  return `${holder} took it over from ${before}${lasted} (${epoch}), ${durationText(at - changedAt)} after the last renewal`
}
