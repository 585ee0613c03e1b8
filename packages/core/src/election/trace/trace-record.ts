import { type LeaseRecord, leastEpochOf } from '../../lock/lease-record.ts'
import { readAnswer, readOffer, readTransferNonce } from '../rules/transfer-notes.ts'
import { numberField, quoted, textField, versionText } from './json-text.ts'
import type { TraceRecord } from './trace-line.ts'

/** The record as a trace shows it. */
export function traceRecordOf(record: LeaseRecord): TraceRecord {
  return JSON.parse(recordText(record)) as TraceRecord
}

/** The {@link TraceRecord} of a record, as JSON. */
export function recordText(record: LeaseRecord): string {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions, preferredHolder } = record
  const times = `${textField('a', acquireTime)}${textField('r', renewTime)}`
  const numbers = `${numberField('d', leaseDurationSeconds)}${times}${numberField('n', leaseTransitions)}`
  return `{"h":${quoted(holderIdentity)}${numbers}${textField('p', preferredHolder)}${notesText(record)}}`
}

function notesText(record: LeaseRecord): string {
  const least = leastEpochOf(record)
  const answer = readAnswer(record)
  const epoch = least === 0n ? '' : `,"e":${versionText(least)}`
  const answered = answer === undefined ? '' : `,"y":[${quoted(answer.identity)},${quoted(answer.nonce)}]`
  const offer = readOffer(record) === undefined ? '' : ',"o":true'
  return `${epoch}${textField('x', readTransferNonce(record))}${answered}${offer}`
}
