import { EMPTY } from '../../drain/machine.ts'
import { jittered } from '../../jitter.ts'
import { type PresentLease, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig, TransitionContext } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { EventOf, Instant, RequestFailure, WriteResult } from '../machine/event.ts'
import type { Acquiring, Following, Hold, Memory, Observation, SentWrite, Step } from '../machine/state.ts'
import { readLegacy } from '../rules/bequest.ts'
import { isHeldForLife } from '../rules/chance.ts'
import { isEarly, isOwn, isOwnTerm } from '../rules/memory.ts'
import { landedWrite, lastView, newestVersion, observationOf, observe } from '../rules/observation.ts'
import { isRelease, isRenewalInWholeSeconds } from '../rules/records.ts'
import { pauseAfterFailureMs } from '../rules/retry-after.ts'
import { isTermOf } from '../rules/term-key.ts'
import { readTransferNonce } from '../rules/transfer-notes.ts'
import { heldMs } from '../rules/view.ts'
import { follow } from './follow.ts'
import { holdFrom } from './hold.ts'
import { endTerm, release } from './releasing.ts'

/** Handles the answer to the acquiring write. */
export function acquireAnswered(state: Acquiring, result: WriteResult, at: Instant, config: ElectorConfig): Step {
  if (result.kind !== 'written') return failed(state, result, at, config)
  if (!isLate(state, result.lease)) return acquired(state, state.write, { lease: result.lease, at, config })
  const back = { ...backToFollowing(state, at, config), outstanding: state.outstanding }
  return { state: afterDefeat(back, state, at, config), effects: [] }
}

/** Whether the lease has changed again since the write that this answers: it was seen in a newer version. */
function isLate(state: Acquiring, { version }: PresentLease): boolean {
  return isNewsSince(state) && version <= (newestVersion(state.observation) ?? 0n)
}

/** An acquiring write has succeeded: lead, hold the lease for a while before acting, or give it back. */
export function acquired(
  state: Acquiring | Following,
  write: SentWrite,
  { lease, at, config }: { readonly lease: PresentLease; readonly at: Instant; readonly config: ElectorConfig },
): Step {
  const hold = holdFrom(write, lease, { at, timing: config.timing })
  const epoch = epochOf(lease)
  const memory = memoryAfter(state, write, { lease, at, config })
  if (isLeaving(state)) return giveBack({ memory, hold }, at, config)
  const notBefore = repeatedAt(state, write, { hold, epoch, at, config })
  if (notBefore !== undefined) {
    return {
      state: follow(memory, observationOf(lease, { memory, hold }, { at, config }), at, { notBefore }),
      effects: [],
    }
  }
  const effects: ElectorEffect[] = [{ kind: 'leader-observed', identity: config.identity }]
  const freeSince = state.kind === 'acquiring' ? state.freeSince : write.sentAt
  const actAt = Math.max(write.sentAt + cautionMs(write, config), memory.actNotBefore ?? at.now)
  if (actAt > at.now) {
    const replaced = lease.replaced && { record: lease.replaced, notBefore: state.memory.actNotBefore ?? at.now }
    return { state: { kind: 'reserving', memory, hold, epoch, freeSince, actAt, replaced }, effects }
  }
  effects.push(beginTerm(epoch, hold, at.now - freeSince))
  return { state: { kind: 'leading', memory, hold, epoch }, effects }
}

/**
 * When to acquire the lease once more, because this acquisition came too late, has the epoch of another term, or is invisible to others; undefined
 * if it counts.
 */
function repeatedAt(
  state: Acquiring | Following,
  write: SentWrite,
  { hold, epoch, at, config }: TransitionContext & { readonly hold: Hold; readonly epoch: bigint },
): number | undefined {
  // Another term had this epoch, while this write was on its way in a store that was restored.
  const isUsed = epoch <= state.memory.highestEpoch
  if (isUsed || at.now >= hold.deadlineAt) return at.now
  return looksUnchanged(write, config) ? at.now + ONE_SECOND_MS : undefined
}

/** What this replica knows once it holds the lease. */
function memoryAfter(
  state: Acquiring | Following,
  write: SentWrite,
  { lease, at, config }: { readonly lease: PresentLease; readonly at: Instant; readonly config: ElectorConfig },
): Memory {
  const { memory } = state
  const epoch = epochOf(lease)
  const mustWait = replacesDeleted(state, write, config) && !followsEnded(state, lease, at)
  const replacedUntil = mustWait ? deletedUntil(state, at, config) : 0
  const actNotBefore = Math.max(replacedUntil, namedGuard(state, write.base, config) ?? 0, memory.actNotBefore ?? 0)
  return {
    ...memory,
    own: write.record,
    existed: true,
    observedLeader: config.identity,
    actNotBefore: actNotBefore > at.now ? actNotBefore : undefined,
    candidate: memory.candidate && { ...memory.candidate, sent: [] },
    highestEpoch: epoch > memory.highestEpoch ? epoch : memory.highestEpoch,
    since: memory.since ?? epoch,
  }
}

/** Until when the leader may act whose lease was deleted. */
function deletedUntil({ memory, observation }: Acquiring | Following, at: Instant, { timing }: ElectorConfig): number {
  const last = lastView(observation)
  const longestMs = Math.max(timing.leaseDurationMs, memory.longestHeldMs ?? 0, heldMs(last))
  return Math.max(at.now + longestMs, last?.guardedUntil ?? 0)
}

/** Whether this replica was stopped while its write was in flight. */
function isLeaving(state: Acquiring | Following): boolean {
  return state.kind === 'acquiring' ? state.afterwards === 'stop' : state.leaveBy !== undefined
}

/** The effect that begins a term. */
export function beginTerm(epoch: bigint, { lease, validUntil }: Hold, handoverMs: number): ElectorEffect {
  return { kind: 'begin-term', epoch, validUntil, handoverMs, legacy: readLegacy(lease.record) }
}

/**
 * Gives up a lease before a term began. A lease that replaces a deleted lease is not released early: the next holder would act
 * immediately, beside a leader that has not seen the deletion. The same is true of a lease for which a coordinator named this replica.
 */
export function giveBack(
  { memory, hold }: { readonly memory: Memory; readonly hold: Hold },
  at: Instant,
  config: ElectorConfig,
): Step {
  const end = { memory, drain: EMPTY, epoch: undefined, cooldownMs: 0, accepts: undefined, afterwards: 'stop' } as const
  if (config.releaseOnExit && !isEarly(memory, at)) return release({ ...end, hold }, at, config)
  const observation = observationOf(hold.lease, { memory, hold }, { at, config })
  return endTerm(end, { outcome: 'expired', observation, at, config })
}

/**
 * A leader may not have seen that its lease was deleted. Only holding the new lease for one lease duration excludes that. The longest
 * duration counts: this replica's own, that of the deleted lease, and where leaders lead for life, what any of them stated. The time counts
 * from when the creation is known, because the old lease may have been renewed after the creation was sent. The same is true of a lease that its holder keeps for life, and that this replica takes
 * because it names its own identity.
 */
function replacesDeleted({ memory }: Acquiring | Following, { base }: SentWrite, config: ElectorConfig): boolean {
  const { heldForLife = false, missingLease = heldForLife ? 'wait' : 'create' } = config
  if (base === undefined) return memory.existed || missingLease === 'wait'
  return heldForLife && isHeldForLife(memory, base.record) && !isOwnTerm(memory, base.record)
}

/**
 * Whether the deleted lease that this lease follows on had no leader any more: its holder is dead, or it was released. An edit that only
 * clears the holder is no release.
 */
function followsEnded(
  { memory, observation }: Acquiring | Following,
  { replaced }: PresentLease,
  at: Instant,
): boolean {
  if (replaced === undefined) return false
  const isGuarded = (lastView(observation)?.guardedUntil ?? at.now) > at.now
  return isTermOf(replaced, memory.deadHolder) || (isRelease(replaced) && !isGuarded)
}

const ONE_SECOND_MS = 1000

/**
 * Whether clients that compare whole seconds see no change in this write: it acquires this replica's own lease again within the same
 * second. For them the lease expires with the last write. Acquiring it again in the next second fixes that.
 */
function looksUnchanged({ base, record }: SentWrite, { timing }: ElectorConfig): boolean {
  return timing.wholeSecondPeers && base !== undefined && !isRenewalInWholeSeconds(base.record, record)
}

function cautionMs(write: SentWrite, config: ElectorConfig): number {
  const isForeign = write.base !== undefined && write.base.record.holderIdentity !== config.identity
  return isForeign ? config.timing.acquireDelayMs : 0
}

/** Until when the holder of before may act, if a coordinator named this replica in the lease `base`; undefined otherwise. */
export function namedGuard(
  { memory, observation }: Acquiring | Following,
  base: PresentLease | undefined,
  { identity }: ElectorConfig,
): number | undefined {
  const record = base?.record
  const isNamed = record?.holderIdentity === identity && !isOwn(memory, record)
  if (!isNamed || readTransferNonce(record) !== undefined) return undefined
  const view = lastView(observation)
  return view?.kind === 'present' ? view.guardedUntil : undefined
}

function failed(state: Acquiring, result: RequestFailure, at: Instant, config: ElectorConfig): Step {
  const effects: ElectorEffect[] = [{ kind: 'request-failed', purpose: 'acquire', error: result.error }]
  return { state: resumeAfter(backToFollowing(state, at, config), state, result, at, config), effects }
}

function backToFollowing(state: Acquiring, at: Instant, { timing }: ElectorConfig): Following {
  const leaveBy = state.afterwards === 'stop' ? at.now + 2 * timing.requestTimeoutMs : undefined
  return { ...follow(state.memory, state.observation, at, { notBefore: at.now }), leaveBy }
}

/**
 * The maximum number of writes of unknown outcome to remember, those of a minute and a half with the default timing. They replace one version,
 * so at most one of them takes effect. A write beyond this limit counts as the record of another replica.
 */
const MAX_IN_DOUBT = 32

function resumeAfter(
  back: Following,
  state: Acquiring,
  result: RequestFailure,
  at: Instant,
  config: ElectorConfig,
): Following {
  const { outstanding, write } = state
  switch (result.failure) {
    case 'unknown-outcome': {
      const notBefore = at.now + config.timing.retryPeriodMs / 4
      const inDoubt = [...outstanding, write].slice(-MAX_IN_DOUBT)
      return { ...back, outstanding: inDoubt, notBefore, pause: 'failure', pollAt: at.now }
    }
    case 'conflict':
      return afterDefeat({ ...back, outstanding }, state, at, config)
    case 'not-found':
      return write.base === undefined
        ? afterRefusal({ ...back, outstanding }, result, at, config)
        : afterDefeat({ ...back, outstanding }, state, at, config)
    case 'unauthenticated':
    case 'forbidden':
    case 'rejected':
    case 'throttled':
    case 'unreachable':
      return afterRefusal({ ...back, outstanding }, result, at, config)
    default:
      return result.failure satisfies never
  }
}

/** Another replica was faster. The watch usually reports that; the planned read is a fallback. */
function afterDefeat(back: Following, state: Acquiring, at: Instant, config: ElectorConfig): Following {
  const following = { ...back, memory: { ...back.memory, existed: true } }
  if (isNewsSince(state)) return following
  return { ...following, observation: outdated(state.observation), pollAt: newsDue(back, at, config) }
}

function afterRefusal(back: Following, result: RequestFailure, at: Instant, config: ElectorConfig): Following {
  const leastMs = jittered(config.timing.retryPeriodMs, at.random)
  const pause = pauseAfterFailureMs(result.retryAfterMs, leastMs, config.timing)
  return { ...back, notBefore: at.now + pause, pause: 'failure', pollAt: at.now + pause }
}

/** Whether the lease was seen in a newer version than the one that the failed write was based on. */
function isNewsSince(state: Acquiring): boolean {
  const { observation, write } = state
  if (observation.kind === 'absent') return write.base !== undefined
  if (observation.kind !== 'present') return false
  return write.base === undefined || observation.lease.version > write.base.version
}

const NEWS_BY_WATCH_MS = 250

function newsDue(back: Following, at: Instant, config: ElectorConfig): number {
  const patience = back.memory.watch === 'up' ? Math.min(NEWS_BY_WATCH_MS, config.timing.retryPeriodMs) : 0
  return at.now + jittered(patience, at.random)
}

function outdated(observation: Observation): Observation {
  return observation.kind === 'unknown' || observation.kind === 'outdated'
    ? observation
    : { kind: 'outdated', last: observation }
}

export function acquiringObserved(state: Acquiring, event: EventOf<'observed'>, context: TransitionContext): Step {
  const { snapshot } = event
  const landed = landedWrite(state, snapshot)
  if (landed !== undefined && snapshot.kind === 'present')
    return acquired(state, landed, { lease: snapshot, ...context })
  return observe(state, snapshot, context)
}
