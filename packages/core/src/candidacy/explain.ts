import type { DrainState } from '../drain/machine.ts'
import { nextChance } from '../election/rules/chance.ts'
import type { ElectorConfig } from '../election/machine/config.ts'
import type { Draining, ElectorState, Following, PresentView } from '../election/machine/state.ts'
import { textOf } from '../text-of.ts'
import type { LiveTask } from '../term/task-scope.ts'
import { longDurationMs } from './lease-notices.ts'
import { describeTasks } from '../term/describe-tasks.ts'

/** What an explanation is made of besides the state. */
export interface ExplainContext {
  readonly config: ElectorConfig
  /** Monotonic milliseconds, of the clock that the state was made with. */
  readonly now: number
  /** The tasks of the present term. */
  readonly tasks: readonly LiveTask[]
  /** The error of the last request to the lock, until one succeeds. */
  readonly lastProblem: Error | undefined
}

/** Why a replica is not leading now, or that it is, in one sentence for people. The wording may change at any time. */
export function explain(state: ElectorState, context: ExplainContext): string {
  const { now } = context
  switch (state.kind) {
    case 'idle':
      return 'It has not been started.'
    case 'following':
      return `${explainFollowing(state, context)}${watchTrouble(state, context)}.`
    case 'acquiring':
      return 'It has sent the write that takes the lease, and waits for the answer.'
    case 'reserving':
      return `It holds the lease, but may not act for another ${seconds(state.actAt - now)}, in case its last holder still does.`
    case 'leading':
      return `It leads with epoch ${state.epoch}, and may act for ${seconds(state.hold.validUntil - now)} even if no renewal succeeds${because(context)}.`
    case 'draining':
      return `Its term is ending (${state.stepDown.reason}): ${explainDrain(state, context)}.`
    case 'aborting':
      return `It has lost its term (${state.reason}) and ${left(state.drain.kind, context)}.`
    case 'releasing':
      return `Its term is over, and it frees the lease${because(context)}.`
    case 'stopped':
      return 'It has stopped, and stands for election no more.'
    default:
      return state satisfies never
  }
}

function explainFollowing(state: Following, context: ExplainContext): string {
  const { observation } = state
  if (state.leaveBy !== undefined) return 'It is stopping, and settles what it has written before'
  switch (observation.kind) {
    case 'unknown':
      return `It has not seen the lease yet${because(context)}`
    case 'outdated':
      return 'It has seen that the lease changed, and waits to see how'
    case 'absent':
      return (
        explainPause(state, context) ??
        `The lease does not exist, and it creates it in ${takeIn(state, context)}${because(context)}`
      )
    case 'present':
      if (observation.lease.deleting) {
        return 'The lease is being deleted, and its finalizers keep it. It creates the lease again once they are gone'
      }
      return explainPause(state, context) ?? explainLease(state, observation, context)
    default:
      return observation satisfies never
  }
}

/** How long the replica must still pause before it may acquire; undefined if it need not. */
function explainPause({ notBefore, pause }: Following, context: ExplainContext): string | undefined {
  const pauseMs = notBefore - context.now
  if (pauseMs <= 0) return undefined
  if (pause === 'cool-down') return `It leaves the lease to others for another ${seconds(pauseMs)} after its last term`
  return `It could not take the lease and tries again in ${seconds(pauseMs)}${because(context)}`
}

function explainLease(state: Following, { lease, changedAt }: PresentView, context: ExplainContext): string {
  const { now, config } = context
  const { holderIdentity } = lease.record
  if (holderIdentity === '') return `Nobody holds the lease, and it takes it in ${takeIn(state, context)}`
  const who =
    holderIdentity === config.identity ? `an earlier holder of its own name, ${holderIdentity}` : holderIdentity
  const ready = state.memory.candidate?.stands === true ? ', as the successor that answered it' : ''
  const longMs = longDurationMs(lease, config)
  const why = longMs === undefined ? '' : `, because the lease states a duration of ${longMs / 1000} s`
  return `It follows ${who}${ready}, whose lease was last seen to change ${seconds(now - changedAt)} ago and may be taken in ${takeIn(state, context)}${why}`
}

function takeIn(state: Following, { now, config }: ExplainContext): string {
  return seconds((nextChance(state, config)?.takeAt ?? now) - now)
}

function explainDrain(state: Draining, context: ExplainContext): string {
  if (state.drain.kind !== 'empty') return `it ${left(state.drain.kind, context)}`
  const { to } = state.stepDown
  const isWaiting = to !== undefined && context.now < state.answerBy
  return isWaiting
    ? `it waits for ${to} to answer for another ${seconds(state.answerBy - context.now)}`
    : 'it waits for its last renewal'
}

function left(stage: DrainState['kind'], { tasks }: ExplainContext): string {
  const names = tasks.length === 0 ? 'its cleanups' : describeTasks(tasks)
  switch (stage) {
    case 'open':
    case 'asked':
      return `waits for ${names}`
    case 'aborted':
      return `has aborted, and waits for ${names}`
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

/** A follower whose watch is down hears of changes late. */
function watchTrouble({ memory, observation }: Following, context: ExplainContext): string {
  if (memory.watch === 'up' || observation.kind === 'unknown') return ''
  const problem = context.lastProblem === undefined ? '' : `: ${textOf(context.lastProblem)}`
  return `; its watch is down since ${seconds(context.now - memory.watchSince)}, so it polls${problem}`
}

function because({ lastProblem }: ExplainContext): string {
  return lastProblem === undefined ? '' : `: ${textOf(lastProblem)}`
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
}
