/**
 * The end of work as a pure function of the state, the event and its time. Tasks finish by themselves, then they are aborted, then
 * cleanups run.
 *
 * 1. Only the event `empty` makes a drain `empty`. No time, abort or overdue cleanup does.
 * 2. Cleanups have their own time. A voluntary end grants all of it, even after `wedgedAt`. In an involuntary end it stops at `wedgedAt`.
 * 3. A wedged drain stays wedged until it is empty.
 */
export function transition(state: DrainState, event: DrainEvent): DrainStep {
  const handler = TABLE[state.kind][event.kind] as Handler<DrainState, DrainEvent>
  return handler(state, event)
}

/** The stage of a drain. */
export type DrainState = Open | Asked | Aborted | Cleaning | Wedged | Empty

/** The work continues. */
interface Open {
  readonly kind: 'open'
}

/** The work takes nothing new and may finish work in flight. */
interface Asked extends Schedule {
  readonly kind: 'asked'
}

/** The hard abort: tasks must drop work in flight. */
interface Aborted extends Schedule {
  readonly kind: 'aborted'
}

/** Every task has settled; cleanups run. */
interface Cleaning extends Schedule {
  readonly kind: 'cleaning'
  /** When the signal of the cleanups aborts; undefined once it has aborted, or if this drain does not abort it. */
  readonly cleanupsAbortAt: number | undefined
  readonly cleanedBy: number
}

/** Work is left after all budgets. */
interface Wedged extends Schedule {
  readonly kind: 'wedged'
}

/** Nothing of the work is left. A release requires this state. */
export interface Empty {
  readonly kind: 'empty'
}

/** The deadlines of a drain that has begun. */
interface Schedule {
  readonly voluntary: boolean
  /** When tasks are aborted; undefined once they were aborted. */
  readonly abortAt: number | undefined
  readonly wedgedAt: number
  readonly cleanups: CleanupBudget
}

/** How long cleanups may take. */
export interface CleanupBudget {
  readonly timeoutMs: number
  /** When their signal aborts, in milliseconds from their beginning. @default this drain does not abort it */
  readonly abortAfterMs?: number
}

/** How work is to end. */
export interface DrainPlan {
  /** Whether there is time for all cleanups. */
  readonly voluntary: boolean
  readonly abortAt: number
  readonly wedgedAt: number
  readonly cleanups: CleanupBudget
}

/** An event of the work. `now` is in monotonic milliseconds. */
export type DrainEvent = { readonly now: number } & (
  | { readonly kind: 'ask'; readonly plan: DrainPlan }
  /** Every task of the work has settled, and the cleanups of some of it begin. */
  | { readonly kind: 'cleaning' }
  /** The cleanups of a part of the work missed their own timeout. */
  | { readonly kind: 'cleanup-overdue' }
  | { readonly kind: 'empty' }
  /** The time that `drainWakesAt` asked for has come. */
  | { readonly kind: 'wake' }
)

/** What the driver must do to the work. */
export type DrainEffect = 'hard-abort' | 'abort-cleanups' | 'wedged'

/** The next state, and the effects to carry out. */
export interface DrainStep<S extends DrainState = DrainState> {
  readonly state: S
  readonly effects: readonly DrainEffect[]
}

/** Work that was not asked to end. */
export const OPEN: Open = { kind: 'open' }

/** Work that has ended completely. */
export const EMPTY: Empty = { kind: 'empty' }

/** When a drain wants a `wake` event if nothing else happens before. */
export function drainWakesAt(state: DrainState): number | undefined {
  if (state.kind === 'open' || state.kind === 'empty') return undefined
  const times = timesOf(state).filter((time): time is number => time !== undefined && time !== Infinity)
  return times.length === 0 ? undefined : Math.min(...times)
}

function timesOf(state: Running): readonly (number | undefined)[] {
  switch (state.kind) {
    case 'asked':
    case 'wedged':
      return [state.abortAt]
    case 'aborted':
      return [state.wedgedAt]
    case 'cleaning':
      return [state.abortAt, state.cleanupsAbortAt, wedgeDueAt(state)]
    default:
      return state satisfies never
  }
}

type Running = Asked | Aborted | Cleaning | Wedged
type EventOf<K> = Extract<DrainEvent, { kind: K }>
type StateOf<K> = Extract<DrainState, { kind: K }>
type Handler<S, E> = (state: S, event: E) => DrainStep
type Table = {
  readonly [S in DrainState['kind']]: { readonly [E in DrainEvent['kind']]: Handler<StateOf<S>, EventOf<E>> }
}

const ignore: Handler<DrainState, unknown> = (state) => ({ state, effects: [] })
const emptied: Handler<DrainState, unknown> = () => ({ state: EMPTY, effects: [] })
const wedge: Handler<Asked | Aborted | Cleaning, unknown> = (state) => wedged(state, [])

/** The handler of every event in every state. */
const TABLE: Table = {
  open: {
    ask: (_state, { now, plan }) => abortedAtOnce({ kind: 'asked', ...plan }, now),
    cleaning: ignore,
    'cleanup-overdue': ignore,
    empty: emptied,
    wake: ignore,
  },
  asked: { ask: hastened, cleaning, 'cleanup-overdue': wedge, empty: emptied, wake: woken },
  aborted: { ask: hastened, cleaning, 'cleanup-overdue': wedge, empty: emptied, wake: woken },
  cleaning: { ask: hastened, cleaning, 'cleanup-overdue': wedge, empty: emptied, wake: woken },
  wedged: { ask: hastened, cleaning: ignore, 'cleanup-overdue': ignore, empty: emptied, wake: woken },
  empty: { ask: ignore, cleaning: ignore, 'cleanup-overdue': ignore, empty: ignore, wake: ignore },
}

/** Work that is already ending reacts only to an involuntary end, which has its own deadlines. */
function hastened(state: Running, { now, plan }: EventOf<'ask'>): DrainStep {
  if (plan.voluntary) return { state, effects: [] }
  const { voluntary, wedgedAt } = plan
  const abortAt = state.abortAt === undefined ? undefined : plan.abortAt
  const next: Running = { ...state, voluntary, abortAt, wedgedAt }
  const aborted = abortedAtOnce(next, now)
  // Work that was in time for a voluntary end is too late for this one.
  const isTooLate = state.kind === 'cleaning' && now >= state.wedgedAt
  return isTooLate ? wedged(aborted.state, aborted.effects) : aborted
}

/** An involuntary end without time for tasks aborts them immediately. A voluntary end lets them notice first. */
function abortedAtOnce(state: Running, now: number): DrainStep<Running> {
  return state.voluntary ? { state, effects: [] } : aborted(state, now)
}

function aborted(state: Running, now: number): DrainStep<Running> {
  if (state.abortAt === undefined || now < state.abortAt) return { state, effects: [] }
  const next: Running = { ...state, abortAt: undefined }
  return { state: next.kind === 'asked' ? { ...next, kind: 'aborted' } : next, effects: ['hard-abort'] }
}

/** Cleanups that take no time are in time whatever their budget. So nothing is overdue at this moment. */
function cleaning(state: Asked | Aborted | Cleaning, { now }: EventOf<'cleaning'>): DrainStep {
  const { voluntary, abortAt, wedgedAt, cleanups } = state
  const { timeoutMs, abortAfterMs } = cleanups
  const times = {
    cleanupsAbortAt: abortAfterMs === undefined ? undefined : now + abortAfterMs,
    cleanedBy: now + timeoutMs,
  }
  return { state: { kind: 'cleaning', voluntary, abortAt, wedgedAt, cleanups, ...times }, effects: [] }
}

function woken(state: Running, { now }: EventOf<'wake'>): DrainStep {
  const { state: next, effects } = cleanupsAborted(aborted(state, now), now)
  if (next.kind === 'aborted' && now >= next.wedgedAt) return wedged(next, effects)
  if (next.kind === 'cleaning' && now >= wedgeDueAt(next)) return wedged(next, effects)
  return { state: next, effects }
}

function cleanupsAborted({ state, effects }: DrainStep<Running>, now: number): DrainStep<Running> {
  if (state.kind !== 'cleaning' || state.cleanupsAbortAt === undefined || now < state.cleanupsAbortAt) {
    return { state, effects }
  }
  return { state: { ...state, cleanupsAbortAt: undefined }, effects: [...effects, 'abort-cleanups'] }
}

function wedged({ voluntary, abortAt, wedgedAt, cleanups }: Running, effects: readonly DrainEffect[]): DrainStep {
  return { state: { kind: 'wedged', voluntary, abortAt, wedgedAt, cleanups }, effects: [...effects, 'wedged'] }
}

function wedgeDueAt({ voluntary, wedgedAt, cleanedBy }: Cleaning): number {
  return voluntary ? cleanedBy : Math.min(wedgedAt, cleanedBy)
}
