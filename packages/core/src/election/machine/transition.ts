import { announcementWritten } from '../phases/announcing.ts'
import { answerWritten, isTermOf } from '../phases/answering.ts'
import { acquireAnswered, beginTerm, giveBack, acquired } from '../phases/acquiring.ts'
import { type ElectorConfig, withoutProcessRef } from './config.ts'
import type { ElectorEffect } from './effect.ts'
import {
  abort,
  abortingObserved,
  drain,
  drainedAborting,
  drainedVoluntarily,
  endingWakesAt,
  escalate,
  stopDraining,
} from '../phases/ending.ts'
import type { ElectorEvent, Instant, TermKey } from './event.ts'
import {
  advance,
  afterRead,
  follow,
  followingWakesAt,
  isIdentityTaken,
  isOutOfDate,
  isRestored,
  isReused,
  landedWrite,
  observe,
  isEarly,
  withDoubtCleared,
  withReadSoon,
  withRestored,
  withoutServedCooldown,
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
import { renewalWithOffer, withOfferFollowed } from '../phases/offering.ts'
import { leastEpochOf } from '../../lock/lease-record.ts'
import { isSameRecord } from '../rules/records.ts'
import { afterReleaseStep, observationOf, releasingHold, releasingWakesAt } from '../phases/releasing.ts'
import type {
  Acquiring,
  Draining,
  ElectorState,
  Following,
  Leading,
  Memory,
  Releasing,
  Reserving,
  Step,
} from './state.ts'

/**
 * The elector as a pure function: what it does next follows from its state, the event and the moment, and from nothing else.
 */
export function transition(state: ElectorState, event: ElectorEvent, context: TransitionContext): Step {
  const handler = TABLE[state.kind][event.kind] as Handler<ElectorState, ElectorEvent>
  return withWarmUp(state, handler(state, event, context))
}

/** Tells when this replica becomes the likely successor and when it is that no more; a term that begins is what it warmed up for. */
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
    observedLeader: undefined,
    existed: false,
    own: undefined,
    actNotBefore: undefined,
    candidate: undefined,
    highestEpoch: 0n,
    deadHolder: undefined,
  },
}

/** When the machine wants a `wake` event if nothing else happens before. */
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
      return holdWakesAt(state.hold)
    case 'draining':
    case 'aborting':
      return endingWakesAt(state)
    case 'releasing':
      return releasingWakesAt(state)
    default:
      return state satisfies never
  }
}

/** The moment of an event and the settings of the elector. */
export interface TransitionContext {
  readonly at: Instant
  readonly config: ElectorConfig
}

type EventOf<K> = Extract<ElectorEvent, { kind: K }>
type StateOf<K> = Extract<ElectorState, { kind: K }>
type Handler<S, E> = (state: S, event: E, context: TransitionContext) => Step
type Table = {
  readonly [S in ElectorState['kind']]: { readonly [E in ElectorEvent['kind']]: Handler<StateOf<S>, EventOf<E>> }
}

const ignore: Handler<ElectorState, unknown> = (state) => ({ state, effects: [] })

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
  drained: ignore,
  'holder-dead': ignore,
  wake: ignore,
}

const unlessOverridden = { ...nothing, 'watch-up': noteWatch('up'), 'watch-down': noteWatch('down') }

/** What all states that hold the lease do alike: the hold takes the event in, and `goOn` says what follows from that. */
function whileHolding<S extends ElectorState>(
  goOn: (state: S, step: HoldStep, context: TransitionContext) => Step,
  holding: (state: S, context: TransitionContext) => HoldContext,
): {
  readonly [E in 'observed' | 'write-answer' | 'read-answer' | 'wake']: Handler<S, EventOf<E>>
} {
  return {
    observed: (state, { snapshot }, context) => goOn(state, holdObserved(holding(state, context), snapshot), context),
    'write-answer': (state, { request, result }, context) =>
      goOn(state, holdWriteAnswered(holding(state, context), request, result), context),
    'read-answer': (state, { request, result }, context) =>
      goOn(state, holdReadAnswered(holding(state, context), request, result), context),
    wake: (state, _event, context) => goOn(state, holdWoken(holding(state, context)), context),
  }
}

/** Every state against every event. A cell that is not named does nothing. */
const TABLE: Table = {
  idle: {
    ...nothing,
    start: (state, _event, { at, config }) =>
      advance(
        follow(state.memory, { kind: 'unknown' }, at, {
          notBefore: at.now,
          pollAt: at.now + config.timing.requestTimeoutMs,
        }),
        at,
        config,
      ),
    stop: (state) => ({ state: { kind: 'stopped', memory: state.memory }, effects: [{ kind: 'stopped' }] }),
  },
  following: {
    ...unlessOverridden,
    stop: (state, _event, { at, config }) =>
      advance({ ...state, leaveBy: state.leaveBy ?? at.now + 2 * config.timing.requestTimeoutMs }, at, config),
    observed: (state, event, context) => followingObserved(state, event, context),
    'watch-down': (state, _event, { at, config }) =>
      advance({ ...state, memory: withWatch(state.memory, 'down', at), pollAt: at.now }, at, config),
    'watch-up': (state, _event, { at }) => ({
      state: withoutNeedlessPoll({ ...state, memory: withWatch(state.memory, 'up', at) }),
      effects: [],
    }),
    'write-answer': (state, event, context) => followingAnswered(state, event, context),
    'holder-dead': (state, { holder }, context) => followingHolderDead(state, holder, context),
    'read-answer': (state, event, context) => followingRead(state, event, context),
    wake: (state, _event, { at, config }) => advance(state, at, config),
  },
  acquiring: {
    ...unlessOverridden,
    stop: (state) => ({ state: { ...state, afterwards: 'stop' }, effects: [] }),
    observed: (state, event, context) => acquiringObserved(state, event, context),
    'write-answer': (state, event, { at, config }) =>
      event.request === state.write.request ? acquireAnswered(state, event.result, at, config) : { state, effects: [] },
  },
  reserving: {
    ...unlessOverridden,
    ...whileHolding(reservingStep, held),
    lost: (state, event, context) => reservingStep(state, lossOf(state, event), context),
    stop: (state, _event, { at, config }) => giveBack(state, at, config),
  },
  leading: {
    ...unlessOverridden,
    ...whileHolding(leadingStep, held),
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
    drained: (state, _event, context) => drainedVoluntarily(state, context),
  },
  aborting: {
    ...unlessOverridden,
    stop: (state) => ({ state: { ...state, afterwards: 'stop' }, effects: [] }),
    observed: (state, event, context) => abortingObserved(state, event.snapshot, context),
    drained: (state, _event, context) => drainedAborting(state, context),
    wake: (state, _event, { at }) => escalate(state, at),
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

function heldOnOffer(state: Draining, { at, config }: TransitionContext): HoldContext {
  return { memory: state.memory, hold: state.hold, at, config, nextWrite: renewalWithOffer(state, at, config) }
}

function releasing(state: Releasing, { at, config }: TransitionContext): HoldContext {
  return releasingHold(state, at, config)
}

function lossOf(state: Reserving | Leading | Draining, event: EventOf<'lost'>): HoldStep {
  return { kind: 'lost', memory: state.memory, reason: event.reason, snapshot: undefined, effects: [] }
}

function after(effects: readonly ElectorEffect[], step: Step): Step {
  return { state: step.state, effects: [...effects, ...step.effects] }
}

function followingObserved(state: Following, event: EventOf<'observed'>, context: TransitionContext): Step {
  const { at, config } = context
  const landed = landedWrite(state, event.snapshot)
  if (landed !== undefined && event.snapshot.kind === 'present') {
    return acquired(state, landed, { lease: event.snapshot, at, config })
  }
  if (isIdentityTaken(state, event.snapshot, config.identity)) {
    return {
      state: { kind: 'stopped', memory: state.memory },
      effects: [{ kind: 'identity-taken', identity: config.identity }],
    }
  }
  if (isReused(state, event.snapshot)) {
    return advance(withRestored(state, event.snapshot, at, config), at, config)
  }
  if (isOutOfDate(state, event.snapshot)) return advance(withReadSoon(state, at, config), at, config)
  const seen = observe(state, event.snapshot, at, config)
  const watching = withoutNeedlessPoll(seen.state)
  const following = isRenewed(state, watching) ? withoutServedCooldown(watching, at, config.identity) : watching
  return after(seen.effects, advance(following, at, config))
}

/** Whether the lease was seen to change in a field that electors compare: whoever it names was alive a moment ago. */
function isRenewed(before: Following, { observation }: Following): boolean {
  if (observation.kind !== 'present') return false
  const last = before.observation.kind === 'outdated' ? before.observation.last : before.observation
  return last.kind !== 'present' || !isSameRecord(last.lease.record, observation.lease.record)
}

function followingRead(state: Following, event: EventOf<'read-answer'>, context: TransitionContext): Step {
  const { at, config } = context
  if (state.reading !== event.request) return { state, effects: [] }
  if (event.result.kind === 'failed') {
    const effects: ElectorEffect[] = [{ kind: 'request-failed', purpose: 'read', error: event.result.error }]
    return after(effects, advance(afterRead(state, event.result, at, config), at, config))
  }
  const { snapshot } = event.result
  if (snapshot.kind === 'present' && isRestored(state, snapshot)) {
    const restored = withRestored(state, snapshot, at, config)
    return advance(afterRead(restored, event.result, at, config), at, config)
  }
  const confirmed = withDoubtCleared(state, snapshot, at, config)
  const step = followingObserved(confirmed, { kind: 'observed', snapshot }, context)
  if (step.state.kind !== 'following') return step
  return after(step.effects, advance(afterRead(step.state, event.result, at, config), at, config))
}

function followingAnswered(state: Following, event: EventOf<'write-answer'>, context: TransitionContext): Step {
  const { at, config } = context
  const { result } = event
  const purpose = purposeOf(state, event.request)
  if (purpose === undefined) return { state, effects: [] }
  const answered =
    purpose === 'answer' ? answerWritten(state, result, at, config) : announcementWritten(state, result, at, config)
  if (result.kind === 'written') {
    return followingObserved(answered, { kind: 'observed', snapshot: result.lease }, context)
  }
  const effects: ElectorEffect[] = []
  // A conflict says only that somebody else was faster.
  if (result.failure !== 'conflict') effects.push({ kind: 'request-failed', purpose, error: result.error })
  return after(effects, advance(answered, at, config))
}

/** What a follower wrote with this request; undefined for one that it no longer waits for. */
function purposeOf({ offer, announcement }: Following, request: number): 'answer' | 'announce' | undefined {
  if (offer?.request?.number === request) return 'answer'
  return announcement?.request === request ? 'announce' : undefined
}

/** A proof of death counts for the record that names the dead holder, and for no other. */
function followingHolderDead(state: Following, holder: TermKey, context: TransitionContext): Step {
  const { at, config } = context
  const { observation } = state
  if (observation.kind !== 'present' || !isTermOf(observation.lease.record, holder)) return { state, effects: [] }
  const deadHolder = { ...holder, since: at.now }
  return advance({ ...state, memory: { ...state.memory, deadHolder } }, at, config)
}

function acquiringObserved(state: Acquiring, event: EventOf<'observed'>, context: TransitionContext): Step {
  const { snapshot } = event
  const landed = landedWrite(state, snapshot)
  if (landed !== undefined && snapshot.kind === 'present')
    return acquired(state, landed, { lease: snapshot, ...context })
  return observe(state, snapshot, context.at, context.config)
}

function reservingStep(state: Reserving, checked: HoldStep, context: TransitionContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  const { at, config } = context
  if (step.kind === 'lost') {
    const observation = observationOf(step.snapshot, state.hold, at)
    return after(step.effects, advance(follow(step.memory, observation, at, { notBefore: at.now }), at, config))
  }
  const { memory, hold } = step
  const isExpired = at.now >= hold.deadlineAt
  if (at.now < state.actAt || isExpired) return { state: { ...state, memory, hold }, effects: step.effects }
  const { epoch } = state
  const begin = beginTerm(epoch, hold.validUntil, at.now - state.freeSince)
  return { state: { kind: 'leading', memory, hold, epoch }, effects: [...step.effects, begin] }
}

/**
 * A record that states a greater epoch than that of the term makes the term useless: every fence that knows of the later epoch
 * refuses it. It ends, and the next one begins above.
 */
function withEpochChecked(epoch: bigint, step: HoldStep): HoldStep {
  if (step.kind === 'lost' || leastEpochOf(step.hold.lease.record) <= epoch) return step
  return { kind: 'lost', memory: step.memory, reason: 'superseded', snapshot: step.hold.lease, effects: step.effects }
}

function leadingStep(state: Leading, checked: HoldStep, context: TransitionContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  return { state: { ...state, memory: step.memory, hold: step.hold }, effects: step.effects }
}

function drainingStep(state: Draining, step: HoldStep, context: TransitionContext): Step {
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  const next = withOfferFollowed({ ...state, memory: step.memory, hold: step.hold }, context.at)
  if (next.stage === 'empty') return after(step.effects, drainedVoluntarily(next, context))
  return after(step.effects, escalate(next, context.at))
}

function withWatch(memory: Memory, watch: Memory['watch'], at: Instant): Memory {
  return memory.watch === watch ? memory : { ...memory, watch, watchSince: at.now }
}

/** While the watch is up, the lease is read only to settle a doubt. */
function withoutNeedlessPoll(state: Following): Following {
  const { observation, outstanding, memory } = state
  const inDoubt = outstanding.length > 0 || observation.kind === 'unknown' || observation.kind === 'outdated'
  return memory.watch === 'up' && !inDoubt ? { ...state, pollAt: undefined } : state
}
