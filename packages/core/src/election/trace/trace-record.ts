import { type LeaseRecord, leastEpochOf } from '../../lock/lease-record.ts'
import { readAnswer, readOffer, readTransferNonce } from '../rules/transfer-notes.ts'
import type { TraceRecord, TraceVersion } from './trace-line.ts'

/** The record as a trace shows it. */
export function traceRecordOf(record: LeaseRecord): TraceRecord {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions, preferredHolder } = record
  return {
    h: holderIdentity,
    ...(leaseDurationSeconds !== undefined && { d: leaseDurationSeconds }),
    ...(acquireTime !== undefined && { a: acquireTime }),
    ...(renewTime !== undefined && { r: renewTime }),
    ...(leaseTransitions !== undefined && { n: leaseTransitions }),
    ...(preferredHolder !== undefined && { p: preferredHolder }),
    ...notesOf(record),
  }
}

function notesOf(record: LeaseRecord): Partial<TraceRecord> {
  const least = leastEpochOf(record)
  const nonce = readTransferNonce(record)
  const answer = readAnswer(record)
  return {
    ...(least !== 0n && { e: traceVersionOf(least) }),
    ...(nonce !== undefined && { x: nonce }),
    ...(answer !== undefined && { y: [answer.identity, answer.nonce] as const }),
    ...(readOffer(record) !== undefined && { o: true as const }),
  }
}

/** The version or epoch as a trace shows it. */
export function traceVersionOf(version: bigint): TraceVersion {
  return version <= MAX_SAFE ? Number(version) : String(version)
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)
