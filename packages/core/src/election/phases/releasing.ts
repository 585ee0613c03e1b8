import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { LockSnapshot } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { ElectorEffect, LeaseWrite, TermOutcome } from '../machine/effect.ts'
import type { Instant } from '../machine/event.ts'
import type { Hold, Memory, Observation, Releasing, Step } from '../machine/state.ts'
import { observationOf, type ObservationContext, withTermSeen } from '../rules/observation.ts'
import { releaseRecord, successorOf, transferRecord, withGreaterEpoch } from '../rules/records.ts'
import { asStandby } from '../rules/standby.ts'
import type { Answer } from '../rules/transfer-notes.ts'
import { follow } from './follow.ts'
import { type HoldContext, type HoldStep, holdWakesAt, holdWoken, sentWrites } from './hold.ts'
import { acceptedAnswer } from './offering.ts'

/*
 * Releasing: the term is empty, so the lease may be released.
 *
 * 1. A release is a compare-and-swap on a version that this replica wrote, never on a version that it only read.
 * 2. A transfer is the same write with a successor: the record says whether the successor answered, at the version that is written.
 * 3. A release or transfer of unknown outcome never counts as failed. The term stays ended, whatever the read-back shows.
 */

/** The input of a release. */
export type ReleaseOrder = Pick<
  Releasing,
  'memory' | 'hold' | 'drain' | 'epoch' | 'cooldownMs' | 'accepts' | 'afterwards' | 'bequest'
>

/** Sends the release, after the answer to a renewal under way: the two would collide. */
export function release(order: ReleaseOrder, at: Instant, config: ElectorConfig): Step {
  const giveUpAt = Math.min(order.hold.validUntil, at.now + 2 * config.timing.requestTimeoutMs)
  const state = releaseDue({ kind: 'releasing', ...order, giveUpAt }, at)
  return afterReleaseStep(state, holdWoken(releasingHold(state, at, config)), { at, config })
}

/** Sends the release now, if no other request is under way. */
function releaseDue(state: Releasing, { now }: Instant): Releasing {
  const { hold } = state
  return hold.request.kind === 'waiting'
    ? { ...state, hold: { ...hold, request: { kind: 'waiting', at: now } } }
    : state
}

/** The context of the hold during a release, with the releasing write. */
export function releasingHold(state: Releasing, at: Instant, config: ElectorConfig): HoldContext {
  const isResting = config.strategy !== undefined && state.cooldownMs > 0
  const isAvailable = config.isUnready !== true && config.departure === undefined
  const isReturning = state.afterwards === 'follow' && isAvailable && !isResting
  const returning = isReturning ? asStandby(state.memory, config) : undefined
  const { bequest } = state
  const { wallTime } = at
  const nextWrite = ({ lease, writeMs }: Hold): LeaseWrite => {
    const answer = acceptedAnswer(lease.record, state.accepts, config) ?? namedSuccessor(lease.record, at, config)
    if (answer === undefined) {
      return {
        purpose: 'release',
        base: lease,
        record: releaseRecord(lease.record, { wallTime, returning, writeMs, bequest }),
      }
    }
    const transfer = transferRecord(lease.record, answer, { wallTime, returning, bequest })
    return { purpose: 'transfer', base: lease, record: withGreaterEpoch(transfer, lease, state.memory.highestEpoch) }
  }
  return { memory: state.memory, hold: state.hold, at, config, nextWrite }
}

/** The answer for a candidate that a coordinator prefers. It knows no number, so it renews before it acts. */
function namedSuccessor(held: LeaseRecord, { random }: Instant, config: ElectorConfig): Answer | undefined {
  const identity = successorOf(held, config)
  return identity === undefined ? undefined : { identity, nonce: random.toString(36).slice(2) || '0' }
}

/** Continues a release after an event of the held lease. */
export function afterReleaseStep(state: Releasing, step: HoldStep, context: ObservationContext): Step {
  const { at, config } = context
  const effects = step.effects.filter(
    (effect) => effect.kind === 'write' || effect.kind === 'read' || isFailure(effect),
  )
  const over = (outcome: TermOutcome, observation: Observation): Step => {
    const cooldownMs = cooldownAfter(outcome, state.cooldownMs, config)
    const seen = observation.kind === 'present' ? observation.lease : undefined
    const memory = withTermSeen(step.memory, state.hold.lease.record, seen, config)
    const end = endTerm({ ...state, memory, cooldownMs }, { outcome, observation, at, config })
    return { state: end.state, effects: [...effects, ...end.effects] }
  }
  if (step.kind === 'lost') {
    return over(outcomeOfLoss(state.hold, step.snapshot), observationOf(step.snapshot, state, context))
  }
  const { hold } = step
  const next: Releasing = { ...state, memory: step.memory, hold }
  const { holderIdentity } = hold.lease.record
  if (holderIdentity !== config.identity) {
    return over(holderIdentity === '' ? 'released' : 'transferred', observationOf(hold.lease, next, context))
  }
  if (at.now >= state.giveUpAt) return over('expired', observationOf(hold.lease, next, context))
  // A renewal that was under way when the release was ordered plans the next one. The release is due now.
  const isRenewed = step.effects.some(({ kind }) => kind === 'renewed')
  if (hold.request.kind !== 'waiting' || (at.now < hold.request.at && !isRenewed)) return { state: next, effects }
  const due = releaseDue(next, at)
  const again = afterReleaseStep(due, holdWoken(releasingHold(due, at, config)), { at, config })
  return { state: again.state, effects: [...effects, ...again.effects] }
}

/**
 * The outcome after the lease was lost. A renewal of the successor may be seen before the transfer is acknowledged. It has the acquire
 * time of the transfer.
 */
function outcomeOfLoss(hold: Hold, snapshot: LockSnapshot | undefined): TermOutcome {
  if (snapshot === undefined) return 'expired'
  if (snapshot.kind === 'absent') return 'lost'
  const { holderIdentity, acquireTime } = snapshot.record
  const isSuccessor = sentWrites(hold).some(
    ({ purpose, record }) =>
      purpose === 'transfer' && record.holderIdentity === holderIdentity && record.acquireTime === acquireTime,
  )
  return isSuccessor ? 'transferred' : 'lost'
}

/** When a release needs the next `wake` event. */
export function releasingWakesAt(state: Releasing): number {
  return Math.min(holdWakesAt(state.hold), state.giveUpAt)
}

/**
 * How long not to compete for the lease after a voluntary end. If the lease must expire first, others can acquire it only then, and this
 * replica must not be faster.
 */
export function cooldownAfter(outcome: TermOutcome, cooldownMs: number, config: ElectorConfig): number {
  return outcome === 'expired' ? cooldownMs + config.timing.leaseDurationMs : cooldownMs
}

/** How a term ended. */
export interface TermEnd {
  readonly outcome: TermOutcome
  readonly observation: Observation
  readonly at: Instant
  readonly config: ElectorConfig
}

/** Ends the term: follows again after the cool-down, or stops. */
export function endTerm(
  state: {
    readonly memory: Memory
    readonly epoch: bigint | undefined
    readonly cooldownMs: number
    readonly afterwards: 'follow' | 'stop'
  },
  { outcome, observation, at, config }: TermEnd,
): Step {
  const leader = observation.kind === 'present' ? observation.lease.record.holderIdentity : ''
  const successor = outcome === 'transferred' ? leader : undefined
  const effects: ElectorEffect[] = state.epoch === undefined ? [] : [{ kind: 'term-over', outcome, successor }]
  if (leader !== config.identity) effects.push({ kind: 'leader-observed', identity: leader })
  const isResting = config.strategy !== undefined && state.cooldownMs > 0
  const rest = isResting ? { restsUntil: at.now + state.cooldownMs } : {}
  const memory: Memory = { ...state.memory, observedLeader: leader, ...rest }
  if (state.afterwards === 'stop') {
    return { state: { kind: 'stopped', memory }, effects: [...effects, { kind: 'stopped' }] }
  }
  return { state: follow(memory, observation, at, { notBefore: at.now + state.cooldownMs }), effects }
}

function isFailure(effect: ElectorEffect): boolean {
  return effect.kind === 'request-failed'
}
