import type { DrainState } from '../drain/machine.ts'
import { isHeldForLife, nextChance } from '../election/rules/chance.ts'
import { decidesItself, type ElectorConfig } from '../election/machine/config.ts'
import type { Draining, ElectorState, Following, Leading, PresentView } from '../election/machine/state.ts'
import { asStandby } from '../election/rules/standby.ts'
import type { LeaseRecord } from '../lock/lease-record.ts'
import type { CandidateVersions } from '../lock/lock.ts'
import { textOf } from '../text-of.ts'
import type { LiveTask } from '../term/task-scope.ts'
import { longDurationMs } from './lease-notices.ts'
import { describeTasks } from '../term/describe-tasks.ts'
import { explainChoice, explainNaming } from './strategy-notices.ts'

/** Input of an explanation besides the state. */
export interface ExplainContext {
  readonly config: ElectorConfig
  /** Monotonic milliseconds, on the clock of the elector. */
  readonly now: number
  /** The tasks of the present term. */
  readonly tasks: readonly LiveTask[]
  /** The error of the last request to the lock, until one succeeds. */
  readonly lastProblem: Error | undefined
  /** What a candidate has published for a coordinator. @default nothing is known */
  readonly versionsOf?: ((identity: string) => CandidateVersions | undefined) | undefined
}

/** Explains in one or two sentences why the replica leads or does not lead. The wording may change at any time. */
export function explain(state: ElectorState, context: ExplainContext): string {
  const { now } = context
  switch (state.kind) {
    case 'idle':
      return 'It has not been started.'
    case 'following':
      return `${explainFollowing(state, context)}${watchTrouble(state, context)}.`
    case 'acquiring':
      return 'It has sent the write that acquires the lease and waits for the answer.'
    case 'reserving':
      return `It holds the lease but must not act for another ${seconds(state.actAt - now)}, because ${mayStillAct(context)}.`
    case 'leading':
      return `${explainLeading(state, context)}${because(context)}.`
    case 'draining':
      return `Its term is ending (${state.stepDown.reason}): ${explainDrain(state, context)}.`
    case 'aborting':
      return `It has lost its term (${state.reason}) and ${left(state.drain.kind, context)}.`
    case 'releasing':
      return `Its term has ended, and it releases the lease${because(context)}.`
    case 'stopped':
      return 'It has stopped and no longer competes for the lease.'
    default:
      return state satisfies never
  }
}

function explainLeading({ epoch, hold }: Leading, { now, config }: ExplainContext): string {
  const forS = seconds(hold.validUntil - now)
  if (config.heldForLife === true) {
    return `It leads for life with epoch ${epoch} and may act for ${forS} even if no check of the lease succeeds`
  }
  return `It leads with epoch ${epoch} and may act for ${forS} even if no renewal succeeds`
}

function mayStillAct({ config }: ExplainContext): string {
  if (config.heldForLife !== true) return 'the previous holder may still act'
  return 'nothing proves that the container of the previous holder has ended'
}

function explainFollowing(state: Following, context: ExplainContext): string {
  const { observation } = state
  if (state.leaveBy !== undefined) return 'It is stopping and waits for the outcome of its last write'
  switch (observation.kind) {
    case 'unknown':
      return `It has not seen the lease yet${because(context)}`
    case 'outdated':
      return 'It knows that the lease changed and waits to see the new version'
    case 'absent':
      return explainAbsent(state, context)
    case 'present':
      if (observation.lease.deleting) {
        return 'The lease is being deleted, but finalizers keep it. It creates the lease again after they are removed'
      }
      return explainPause(state, context) ?? explainChosen(state, observation, context)
    default:
      return observation satisfies never
  }
}

function explainAbsent(state: Following, context: ExplainContext): string {
  if (context.config.neverLeads === true) return `The lease does not exist. ${NEVER_LEADS}`
  return (
    explainCoordination(undefined, context) ??
    explainPause(state, context) ??
    `The lease does not exist. It creates the lease in ${takeIn(state, context)}${because(context)}`
  )
}

/** Why the replica must still wait before it may acquire the lease; undefined if it need not wait. */
function explainPause({ notBefore, pause }: Following, context: ExplainContext): string | undefined {
  const pauseMs = notBefore - context.now
  if (pauseMs <= 0) return undefined
  if (pause === 'cool-down')
    return `It leaves the lease to other replicas for another ${seconds(pauseMs)} after its last term`
  return `It could not acquire the lease and tries again in ${seconds(pauseMs)}${because(context)}`
}

/** Why the replica waits, with what a strategy says of that. */
function explainChosen(state: Following, view: PresentView, context: ExplainContext): string {
  const { config } = context
  const rest = explainLease(state, view, context)
  if (!decidesItself(config)) return rest
  const choice = explainChoice(view.lease.record, asStandby(state.memory, config), config)
  return choice === undefined || config.neverLeads === true ? rest : `${choice}. ${rest}`
}

/** Why the replica waits for a coordinator; undefined where the replicas decide. */
function explainCoordination(record: LeaseRecord | undefined, context: ExplainContext): string | undefined {
  const { config, versionsOf } = context
  if (config.coordination === 'asking') return 'It asks the API server whether an election controller decides who leads'
  if (config.coordination !== 'server' || record?.holderIdentity === config.identity) return undefined
  return explainNaming(record, config, record && versionsOf?.(record.holderIdentity))
}

function explainLease(state: Following, { lease, changedAt }: PresentView, context: ExplainContext): string {
  const { now, config } = context
  const { holderIdentity } = lease.record
  if (config.neverLeads === true) return explainFollowed(holderIdentity)
  const coordinated = explainCoordination(lease.record, context)
  if (coordinated !== undefined) return coordinated
  if (holderIdentity === '') return `The lease has no holder. It acquires the lease in ${takeIn(state, context)}`
  const who =
    holderIdentity === config.identity ? `an earlier holder with its own identity, ${holderIdentity}` : holderIdentity
  const ready = state.memory.candidate?.stands === true ? ' and is its successor' : ''
  if (config.heldForLife === true && isHeldForLife(state.memory, lease.record)) {
    return `It follows ${who}${ready}, which holds the lease for life. It can be acquired when that replica releases it, when its container has ended, or when the lease is deleted. After a deletion, the next leader waits ${seconds(config.timing.leaseDurationMs)} before it acts`
  }
  const longMs = longDurationMs(lease, config)
  const why = longMs === undefined ? '' : `, because the lease states a duration of ${longMs / 1000} s`
  return `It follows ${who}${ready}. The lease last changed ${seconds(now - changedAt)} ago and can be acquired in ${takeIn(state, context)}${why}`
}

const NEVER_LEADS =
  "This replica never leads (`rollout: 'never-lead'`), so nobody leads until another replica acquires the lease"

function explainFollowed(holderIdentity: string): string {
  if (holderIdentity === '') return `The lease has no holder. ${NEVER_LEADS}`
  return `It follows ${holderIdentity} and never leads (\`rollout: 'never-lead'\`)`
}

function takeIn(state: Following, { now, config }: ExplainContext): string {
  return seconds((nextChance(state, config)?.takeAt ?? now) - now)
}

function explainDrain(state: Draining, context: ExplainContext): string {
  if (state.drain.kind !== 'empty') return `it ${left(state.drain.kind, context)}`
  const { to } = state.stepDown
  const isWaiting = to !== undefined && context.now < state.answerBy
  return isWaiting
    ? `it waits another ${seconds(state.answerBy - context.now)} for an answer from ${to}`
    : 'it waits for its last renewal'
}

function left(stage: DrainState['kind'], { tasks }: ExplainContext): string {
  const names = tasks.length === 0 ? 'its cleanups' : describeTasks(tasks)
  switch (stage) {
    case 'open':
    case 'asked':
      return `waits for ${names}`
    case 'aborted':
      return `has aborted its tasks and waits for ${names}`
    case 'cleaning':
      return `waits for ${names}`
    case 'wedged':
      return `is wedged on ${names}`
    case 'empty':
      return 'has nothing left'
    default:
      return stage satisfies never
  }
}

/** Explains why a follower may see changes late. */
function watchTrouble({ memory, observation }: Following, context: ExplainContext): string {
  if (memory.watch === 'up' || observation.kind === 'unknown') return ''
  const problem = context.lastProblem === undefined ? '' : `: ${textOf(context.lastProblem)}`
  return `; its watch has been disconnected for ${seconds(context.now - memory.watchSince)}, so it polls${problem}`
}

function because({ lastProblem }: ExplainContext): string {
  return lastProblem === undefined ? '' : `: ${textOf(lastProblem)}`
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
}
