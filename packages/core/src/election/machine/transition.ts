import { type DrainEvent, drainWakesAt } from '../../drain/machine.ts'
import { abortingObserved, abortingOn } from '../phases/aborting.ts'
import { acquireAnswered, acquiringObserved, giveBack } from '../phases/acquiring.ts'
import { advance, followingWakesAt, leave } from '../phases/advancing.ts'
import { drain, drainingOn, drainingStep, drainingWakesAt, stopDraining } from '../phases/draining.ts'
import { follow } from '../phases/follow.ts'
import {
  followingAnswered,
  holderDead,
  followingObserved,
  followingRead,
  withoutNeedlessPoll,
} from '../phases/following.ts'
import {
  type HoldContext,
  type HoldStep,
  holdObserved,
  holdReadAnswered,
  holdWakesAt,
  holdWoken,
  holdWriteAnswered,
} from '../phases/hold.ts'
import { leadingStep, leadingWakesAt } from '../phases/leading.ts'
import { renewalWithOffer } from '../phases/offering.ts'
import { renewalWithProposal } from '../phases/proposing.ts'
import { afterReleaseStep, releasingHold, releasingWakesAt } from '../phases/releasing.ts'
import { reservingStep, withDeathOfReplaced } from '../phases/reserving.ts'
import { after } from '../rules/after.ts'
import { isEarly, withWatch } from '../rules/memory.ts'
import type { ObservationContext } from '../rules/observation.ts'
import { type ElectorConfig, type TransitionContext, withoutProcessRef } from './config.ts'
import type { ElectorEvent, EventOf } from './event.ts'
import type {
  Draining,
  ElectorState,
  Following,
  Leading,
  Memory,
  Releasing,
  Reserving,
  StateOf,
  Step,
} from './state.ts'

/** The elector as a pure function of its state, the event and the moment. */
export function transition(state: ElectorState, event: ElectorEvent, context: TransitionContext): Step {
  const handler = TABLE[state.kind][event.kind] as Handler<ElectorState, ElectorEvent>
  return withWarmUp(state, settled(state, event, handler(state, event, context), context))
}

/** A follower does immediately what is due, whatever event made it follow. An event that changed nothing makes nothing due. */
function settled(before: ElectorState, event: ElectorEvent, step: Step, { at, config }: TransitionContext): Step {
  if (step.state.kind !== 'following' || (step.state === before && event.kind !== 'wake')) return step
  return after(step.effects, advance(step.state, at, config))
}

/**
 * Adds `warm-up` when this replica becomes the likely successor, and `warm-up-over` when it no longer is. A term that begins takes the
 * warm-up over.
 */
function withWarmUp(before: ElectorState, step: Step): Step {
  const { state, effects } = step
  if (state.memory.candidate === undefined && before.memory.candidate === undefined) return step
  const hasBegun = effects.some(({ kind }) => kind === 'begin-term')
  const after = hasBegun ? { ...state, memory: { ...state.memory, candidate: undefined } } : state
  if (isWarm(before) === isWarm(after) || (hasBegun && isWarm(before))) return { state: after, effects }
  if (isWarm(before)) return { state: after, effects: [{ kind: 'warm-up-over' }, ...effects] }
  return { state: after, effects: [...effects, { kind: 'warm-up' }] }
}

function isWarm({ kind, memory }: ElectorState): boolean {
  return kind !== 'stopped' && memory.candidate?.stands === true
}

/** The state before `start`. */
export const INITIAL_STATE: ElectorState = {
  kind: 'idle',
  memory: {
    requests: 0,
    watch: 'down',
    watchSince: 0,
    isBehind: false,
    since: undefined,
    observedLeader: undefined,
    existed: false,
    own: undefined,
    actNotBefore: undefined,
    candidate: undefined,
    highestEpoch: 0n,
    deadHolder: undefined,
  },
}

/** When the machine needs a `wake` event if no other event comes first. */
export function nextWakeAt(state: ElectorState, config: ElectorConfig): number | undefined {
  switch (state.kind) {
    case 'idle':
    case 'stopped':
    case 'acquiring':
      return undefined
    case 'following':
      return followingWakesAt(state, config)
    case 'reserving':
      return Math.min(holdWakesAt(state.hold), state.actAt)
    case 'leading':
      return leadingWakesAt(state)
    case 'draining':
      return drainingWakesAt(state, drainWakesAt(state.drain))
    case 'aborting':
      return drainWakesAt(state.drain)
    case 'releasing':
      return releasingWakesAt(state)
    default:
      return state satisfies never
  }
}

type Handler<S, E> = (state: S, event: E, context: TransitionContext) => Step

type Table = {
  readonly [S in ElectorState['kind']]: { readonly [E in ElectorEvent['kind']]: Handler<StateOf<S>, EventOf<E>> }
}

const ignore: Handler<ElectorState, unknown> = (state) => ({ state, effects: [] })

const following = (state: Following): Step => ({ state, effects: [] })

const noteWatch =
  (watch: Memory['watch']): Handler<ElectorState, unknown> =>
  (state, _event, { at }) => ({ state: { ...state, memory: withWatch(state.memory, watch, at) }, effects: [] })

const nothing: Readonly<Record<ElectorEvent['kind'], Handler<ElectorState, unknown>>> = {
  start: ignore,
  stop: ignore,
  'step-down': ignore,
  lost: ignore,
  observed: ignore,
  'watch-up': ignore,
  'watch-down': ignore,
  'write-answer': ignore,
  'read-answer': ignore,
  cleaning: ignore,
  'cleanup-overdue': ignore,
  drained: ignore,
  'holder-dead': ignore,
  wake: ignore,
}

const unlessOverridden = { ...nothing, 'watch-up': noteWatch('up'), 'watch-down': noteWatch('down') }

/** The common handlers of all states that hold the lease: the hold handles the event, and `goOn` decides what follows. */
function whileHolding<S extends ElectorState>(
  goOn: (state: S, step: HoldStep, context: ObservationContext) => Step,
  holding: (state: S, context: TransitionContext) => HoldContext,
): {
  readonly [E in 'observed' | 'write-answer' | 'read-answer' | 'wake']: Handler<S, EventOf<E>>
} {
  return {
    observed: (state, { snapshot }, context) =>
      goOn(state, holdObserved(holding(state, context), snapshot), { ...context, source: 'watch' }),
    'write-answer': (state, { request, result }, context) =>
      goOn(state, holdWriteAnswered(holding(state, context), request, result), context),
    'read-answer': (state, { request, result }, context) =>
      goOn(state, holdReadAnswered(holding(state, context), request, result), context),
    wake: (state, _event, context) => goOn(state, holdWoken(holding(state, context)), context),
  }
}

/** The handler of every event in every state. Events without a handler do nothing. */
const TABLE: Table = {
  idle: {
    ...nothing,
    start: (state, _event, { at, config }) =>
      following(
        follow(state.memory, { kind: 'unknown' }, at, {
          notBefore: at.now,
          pollAt: at.now + config.timing.requestTimeoutMs,
        }),
      ),
    stop: (state) => ({ state: { kind: 'stopped', memory: state.memory }, effects: [{ kind: 'stopped' }] }),
  },
  following: {
    ...unlessOverridden,
    stop: (state, _event, { at, config }) => following(leave(state, at, config)),
    observed: (state, event, context) => followingObserved(state, event, context),
    'watch-down': (state, _event, { at }) =>
      following({ ...state, memory: withWatch(state.memory, 'down', at), pollAt: at.now }),
    'watch-up': (state, _event, { at }) =>
      following(withoutNeedlessPoll({ ...state, memory: withWatch(state.memory, 'up', at) })),
    'write-answer': (state, event, context) => followingAnswered(state, event, context),
    'holder-dead': (state, { holder }, context) => holderDead(state, holder, context),
    'read-answer': (state, event, context) => followingRead(state, event, context),
    wake: (state) => following(state),
  },
  acquiring: {
    ...unlessOverridden,
    stop: (state) => ({ state: { ...state, afterwards: 'stop' }, effects: [] }),
    observed: (state, event, context) => acquiringObserved(state, event, context),
    'write-answer': (state, event, { at, config }) =>
      event.request === state.write.request ? acquireAnswered(state, event.result, at, config) : { state, effects: [] },
    'holder-dead': (state, { holder }, context) => holderDead(state, holder, context),
  },
  reserving: {
    ...unlessOverridden,
    ...whileHolding(reservingStep, held),
    lost: (state, event, context) => reservingStep(state, lossOf(state, event), context),
    stop: (state, _event, { at, config }) => giveBack(state, at, config),
    'holder-dead': (state, { holder }, context) => {
      const waiting = withDeathOfReplaced(state, holder, context)
      return reservingStep(waiting, holdWoken(held(waiting, context)), context)
    },
  },
  leading: {
    ...unlessOverridden,
    ...whileHolding(leadingStep, heldWithProposal),
    lost: (state, event, context) => leadingStep(state, lossOf(state, event), context),
    stop: (state, _event, context) =>
      drain(state, { stepDown: { reason: 'shutdown', cooldownMs: 0 }, afterwards: 'stop' }, context),
    'step-down': (state, event, context) => drain(state, { stepDown: event, afterwards: 'follow' }, context),
  },
  draining: {
    ...unlessOverridden,
    ...whileHolding(drainingStep, heldOnOffer),
    lost: (state, event, context) => drainingStep(state, lossOf(state, event), context),
    stop: (state, _event, context) => stopDraining(state, context),
    cleaning: (state, event, context) => drainingOn(state, told(event, context), context),
    'cleanup-overdue': (state, event, context) => drainingOn(state, told(event, context), context),
    drained: (state, { bequest }, context) =>
      drainingOn({ ...state, bequest }, { kind: 'empty', now: context.at.now }, context),
  },
  aborting: {
    ...unlessOverridden,
    stop: (state) => ({ state: { ...state, afterwards: 'stop' }, effects: [] }),
    observed: (state, event, context) => abortingObserved(state, event.snapshot, context),
    cleaning: (state, event, context) => abortingOn(state, told(event, context), context),
    'cleanup-overdue': (state, event, context) => abortingOn(state, told(event, context), context),
    drained: (state, _event, context) => abortingOn(state, { kind: 'empty', now: context.at.now }, context),
    wake: (state, event, context) => abortingOn(state, told(event, context), context),
  },
  releasing: {
    ...unlessOverridden,
    ...whileHolding(afterReleaseStep, releasing),
    stop: (state) => ({ state: { ...state, afterwards: 'stop' }, effects: [] }),
  },
  stopped: nothing,
}

function held(state: Reserving | Leading | Draining, { at, config }: TransitionContext): HoldContext {
  const { memory, hold } = state
  return { memory, hold, at, config: isEarly(memory, at) ? withoutProcessRef(config) : config }
}

function heldWithProposal(state: Leading, context: TransitionContext): HoldContext {
  const holding = held(state, context)
  return { ...holding, nextWrite: renewalWithProposal(state, context.at, holding.config) }
}

function heldOnOffer(state: Draining, { at, config }: TransitionContext): HoldContext {
  return { memory: state.memory, hold: state.hold, at, config, nextWrite: renewalWithOffer(state, at, config) }
}

function releasing(state: Releasing, { at, config }: TransitionContext): HoldContext {
  return releasingHold(state, at, config)
}

function lossOf(state: Reserving | Leading | Draining, event: EventOf<'lost'>): HoldStep {
  return { kind: 'lost', memory: state.memory, reason: event.reason, snapshot: undefined, effects: [] }
}

/** Turns an event of the work into an event of the drain. */
function told<E extends { readonly kind: DrainEvent['kind'] }>(
  event: E,
  { at }: TransitionContext,
): E & { readonly now: number } {
  return { ...event, now: at.now }
}
