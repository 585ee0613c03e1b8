import { JITTER_FACTOR } from '../../jitter.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import { decidesItself, type ElectorConfig, type TransitionContext } from '../machine/config.ts'
import type { Instant, StepDown } from '../machine/event.ts'
import type { Hold, Leading, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import { isWarm } from '../rules/ranking.ts'
import { successorOf } from '../rules/records.ts'
import { readStandbys } from '../rules/standby-note.ts'
import { requestedStepDown } from '../rules/step-down-request.ts'
import { asStandby, hasNewerStandby } from '../rules/standby.ts'
import { abort } from './aborting.ts'
import { drain } from './draining.ts'
import { type HoldStep, holdWakesAt, withEpochChecked } from './hold.ts'
import { answeredProposal, withProposal } from './proposing.ts'

/**
 * How long a leader that is about to be stopped leads on in any case. If its whole fleet is stopped at once, by then the standbys have left
 * the list or say there that they are about to be stopped as well. Otherwise the lease would change once for each of them.
 */
const OTHERS_LEAVE_MS = 1000

export function leadingStep(state: Leading, checked: HoldStep, context: TransitionContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  const { at, config } = context
  const { memory, hold } = step
  const order = orderOf(hold, config)
  if (order !== undefined)
    return after(step.effects, drain({ ...state, memory, hold }, { stepDown: order, afterwards: 'follow' }, context))
  const next = withDepartureSeen(withProposal({ ...state, memory, hold }, at, config), at, config)
  const handover = answeredProposal(next, config)
  if (handover !== undefined)
    return after(step.effects, drain(next, { stepDown: handover, afterwards: 'follow' }, context))
  if (!isOutdated(next, context) && !isDeparting(next, context)) return { state: next, effects: step.effects }
  // It names no successor: the first standby tries first in any case, and a crashed standby costs the others no time.
  const stepDown: StepDown = {
    reason: 'step-down',
    cooldownMs: 2 * JITTER_FACTOR * config.timing.retryPeriodMs,
  }
  return after(step.effects, drain(next, { stepDown, afterwards: 'follow' }, context))
}

/** How the lease itself says that this term must end; undefined if it does not. */
function orderOf({ lease }: Hold, config: ElectorConfig): StepDown | undefined {
  if (successorOf(lease.record, config) !== undefined) return { reason: 'step-down', cooldownMs: 0 }
  return requestedStepDown(lease.record, config)
}

/** When a leader needs the next `wake` event. */
export function leadingWakesAt({ hold, proposal, departure }: Leading): number {
  const departsAt = departure?.isDue === false ? departure.at : Infinity
  return Math.min(holdWakesAt(hold), proposal?.until ?? Infinity, departsAt)
}

/** Plans the end of the term if this leader is about to be stopped. */
function withDepartureSeen(state: Leading, { now }: Instant, config: ElectorConfig): Leading {
  const { departure } = state
  if (config.departure !== 'stopping') return departure === undefined ? state : { ...state, departure: undefined }
  if (departure?.isDue === true) return state
  const { at } = departure ?? { at: now + OTHERS_LEAVE_MS }
  return { ...state, departure: { at, isDue: now >= at } }
}

/**
 * Whether an eager leader sees a standby of a newer revision. It waits for its first renewal: by then the replicas of its own revision
 * that missed their turn are on the list again.
 */
function isOutdated({ memory, hold }: Leading, { config }: TransitionContext): boolean {
  const { record } = hold.lease
  if (config.isEager !== true || !isRenewed(record)) return false
  return hasNewerStandby(record, asStandby(memory, config), config.strategy)
}

/**
 * Whether this leader is about to be stopped and a standby could lead that is not. Its grace period already runs. The time before the
 * order to stop would be missing from its drain.
 */
function isDeparting({ hold, departure }: Leading, { config }: TransitionContext): boolean {
  const { record } = hold.lease
  const { leavesEarly, releaseOnExit } = config
  if (departure?.isDue !== true || leavesEarly !== true || !releaseOnExit || !decidesItself(config)) return false
  return isRenewed(record) && readStandbys(record).some(isWarm)
}

function isRenewed({ renewTime, acquireTime }: LeaseRecord): boolean {
  return renewTime !== acquireTime
}
