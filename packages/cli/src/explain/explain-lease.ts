import type { LeaseRecord } from '@tenure/core'
import { isKeptByHolder, readOffer, readRequest, readStandbys } from '@tenure/core/internal'
import { stringAt, objectAt } from '@tenure/kubernetes/internal'
import { durationText } from '../status/duration.ts'
import { offerOfDrain } from '../step-down/request.ts'
import type { LeaseStatus } from '../status/lease-status.ts'
import type { StoredLease } from '../cluster/leases.ts'

/** Why a lease has no leader, or is not released, as far as the lease itself shows it: one sentence each. */
export function explainLease({ lease, object }: StoredLease, status: LeaseStatus): readonly string[] {
  const { record } = lease
  const preferred = stringAt(objectAt(object, 'spec'), 'preferredHolder')
  return [
    ...status.problems.map((problem) => `The lease ${problem}.`),
    holderSentence(status),
    ...(record.holderIdentity === '' ? [] : drainSentences(record)),
    ...(preferred === undefined ? [] : [`The election controller of the API server prefers ${preferred}.`]),
    standbySentence(status),
    ...(record.holderIdentity !== '' && !isKeptByHolder(record)
      ? ['The holder keeps no list of standbys: it is no replica of Tenure, and ignores requests to step down.']
      : []),
  ]
}

function holderSentence({ holder, ageMs, expiresInMs, expiry }: LeaseStatus): string {
  if (holder === '') return 'Nobody holds the lease. The first replica that sees this may acquire it.'
  const age = ageMs === undefined ? '' : `, since ${durationText(ageMs)} ago`
  const held = `${holder} holds the lease${age}.`
  if (expiresInMs === undefined) return `${held} It is not known when it expires.`
  const basis = expiry === 'observed' ? 'it last changed' : 'its last renewal, by the clock of the holder'
  if (expiresInMs > 0) return `${held} It expires in ${durationText(expiresInMs)}, counted from ${basis}.`
  const late = durationText(-expiresInMs)
  return `${held} It expired ${late} ago, counted from ${basis}, so the holder has ended or is cut off. Nobody has acquired it since: no other replica runs, or none may write the lease.`
}

function drainSentences(record: LeaseRecord): readonly string[] {
  const sentences: string[] = []
  const request = readRequest(record)
  const [offer, drain] = [readOffer(record), offerOfDrain(record)]
  if (request !== undefined)
    sentences.push(`Somebody requested that it is handed over${request.to === undefined ? '' : ` to ${request.to}`}.`)
  if (drain !== undefined) {
    sentences.push(
      `The term is ending: the holder waits for its tasks and then hands the lease to ${drain.to ?? 'a standby'}.`,
    )
  } else if (offer !== undefined) sentences.push(`The holder offers the lease to ${offer.to}, which has not answered.`)
  else if (request !== undefined) sentences.push('The holder has not begun to drain.')
  return sentences
}

function standbySentence({ standbys, candidates = [] }: LeaseStatus): string {
  if (standbys.length > 0) return `If the holder ends, ${standbys[0]} tries first (of ${standbys.join(', ')}).`
  if (candidates.length > 0) return `The candidates are ${candidates.join(', ')}.`
  return 'The lease lists no standby.'
}

/** The identities of the replicas that a lease names, the holder first. */
export function replicasOf({ lease: { record } }: StoredLease): readonly string[] {
  const standbys = readStandbys(record).map(({ identity }) => identity)
  return [record.holderIdentity, ...standbys].filter((identity) => identity !== '')
}
