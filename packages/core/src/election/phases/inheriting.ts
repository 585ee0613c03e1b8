import { type PresentLease, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { Instant } from '../machine/event.ts'
import type { Following, Hold, Memory, Step } from '../machine/state.ts'
import { statedMs } from '../rules/records.ts'
import { TRANSFER_DURATION_MS, readTransferNonce } from '../rules/transfer-notes.ts'
import { validityMs } from '../timing-options.ts'
import { beginTerm, giveBack } from './acquiring.ts'
import { holdWoken } from './hold.ts'

/*
 * Becoming the successor that a transfer names.
 *
 * The transfer echoes the nonce of an answer, so it was written after that answer was sent; others leave the lease alone for the
 * duration in it from when they see it. So this replica may act, without a write, for that long from when it sent the answer. A
 * nonce that it does not know, has used, or that leaves too little time proves nothing: then the lease is taken like a free one.
 */

/** A lease that was transferred to this replica, and for how long the transfer alone entitles it to act. */
interface Inheritance {
  readonly lease: PresentLease
  readonly sentAt: number
  readonly validUntil: number
}

/** The transfer to this replica that may be acted on at once. */
export function inheritanceOf(state: Following, at: Instant, config: ElectorConfig): Inheritance | undefined {
  const { observation, memory } = state
  if (observation.kind !== 'present' || observation.lease.deleting) return undefined
  const { lease } = observation
  if (lease.record.holderIdentity !== config.identity) return undefined
  const nonce = readTransferNonce(lease.record)
  const answer = memory.candidate?.sent.find((sent) => sent.nonce === nonce)
  if (answer === undefined) return undefined
  const durationMs = Math.min(statedMs(lease.record), TRANSFER_DURATION_MS)
  // The first renewal is sent now. Its answer may be lost, and others then wait only for its duration.
  const validUntil = Math.min(
    answer.sentAt + durationMs * (1 - config.timing.clockRateTolerance),
    at.now + validityMs(config.timing),
  )
  if (validUntil - at.now < TRANSFER_DURATION_MS / 2) return undefined
  return { lease, sentAt: answer.sentAt, validUntil }
}

/** Begins the transferred term and immediately renews the lease for its full duration. */
export function inherit(state: Following, inheritance: Inheritance, at: Instant, config: ElectorConfig): Step {
  const { lease } = inheritance
  const { identity } = config
  const { candidate } = state.memory
  const used = candidate && { ...candidate, sent: [] }
  const epoch = epochOf(lease)
  const known = { own: lease.record, observedLeader: identity, candidate: used, highestEpoch: epoch }
  const memory: Memory = { ...state.memory, ...known }
  const hold = holdOf(inheritance, at, config)
  if (state.leaveBy !== undefined) return giveBack({ memory, hold }, at, config)
  const renewal = holdWoken({ memory, hold, at, config })
  if (renewal.kind === 'lost') return { state, effects: [] }
  const held = { memory: renewal.memory, hold: renewal.hold, epoch }
  const actAt = memory.actNotBefore ?? at.now
  if (actAt > at.now) {
    return { state: { kind: 'reserving', ...held, freeSince: at.now, actAt }, effects: renewal.effects }
  }
  const begin = beginTerm(epoch, hold, 0)
  return { state: { kind: 'leading', ...held }, effects: [begin, ...renewal.effects] }
}

/** If no renewal succeeds, tasks get half of the remaining time to end, or the full grace period if that is shorter. */
function holdOf({ lease, sentAt, validUntil }: Inheritance, at: Instant, { timing }: ElectorConfig): Hold {
  const graceMs = Math.min(timing.abortGraceMs, (validUntil - at.now) / 2)
  return {
    lease,
    sentAt,
    validUntil,
    deadlineAt: validUntil - graceMs,
    uncut: undefined,
    request: { kind: 'waiting', at: at.now },
    outstanding: [],
    writeMs: 0,
  }
}
