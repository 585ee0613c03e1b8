import { describe, expect, test } from 'vitest'
import {
  type DrainEffect,
  type DrainEvent,
  type DrainPlan,
  type DrainState,
  drainWakesAt,
  OPEN,
  transition,
} from '../../src/drain/machine.ts'
import { DRAIN_EVENTS, drainStates } from './drain-cells.ts'

type StateKind = DrainState['kind']
type EventKind = DrainEvent['kind']

interface Expected {
  readonly to: StateKind
  readonly effects: readonly DrainEffect[]
}

const VOLUNTARY: DrainPlan = { voluntary: true, abortAt: 100, wedgedAt: 150, cleanups: { timeoutMs: 40 } }
const INVOLUNTARY: DrainPlan = { voluntary: false, abortAt: 10, wedgedAt: 60, cleanups: { timeoutMs: 40 } }

/** The state after these events, and the effects of the last one. */
function after(...events: readonly DrainEvent[]): { state: DrainState; effects: readonly DrainEffect[] } {
  let step: ReturnType<typeof transition> = { state: OPEN, effects: [] }
  for (const event of events) step = transition(step.state, event)
  return step
}

const ask = (plan: DrainPlan, now = 0): DrainEvent => ({ kind: 'ask', plan, now })
const at = (kind: 'cleaning' | 'cleanup-overdue' | 'empty' | 'wake', now: number): DrainEvent => ({ kind, now })

const EXAMPLES: Readonly<Record<StateKind, readonly DrainEvent[]>> = {
  open: [],
  asked: [ask(VOLUNTARY)],
  aborted: [ask(VOLUNTARY), at('wake', 100)],
  cleaning: [ask(VOLUNTARY), at('cleaning', 5)],
  wedged: [ask(VOLUNTARY), at('wake', 150)],
  empty: [ask(VOLUNTARY), at('empty', 5)],
}

/** Every event; the end that is asked for is an involuntary one, and a wake comes when all time is up. */
const EVENTS: Readonly<Record<EventKind, DrainEvent>> = {
  ask: ask(INVOLUNTARY, 20),
  cleaning: at('cleaning', 20),
  'cleanup-overdue': at('cleanup-overdue', 20),
  empty: at('empty', 20),
  wake: at('wake', 1000),
}

const stays = (to: StateKind): Expected => ({ to, effects: [] })

/** What every event does in every state. The compiler sees to it that no cell is missing. */
const TABLE: Readonly<Record<StateKind, Readonly<Record<EventKind, Expected>>>> = {
  open: {
    ask: { to: 'aborted', effects: ['hard-abort'] },
    cleaning: stays('open'),
    'cleanup-overdue': stays('open'),
    empty: stays('empty'),
    wake: stays('open'),
  },
  asked: {
    ask: { to: 'aborted', effects: ['hard-abort'] },
    cleaning: stays('cleaning'),
    'cleanup-overdue': { to: 'wedged', effects: ['wedged'] },
    empty: stays('empty'),
    wake: { to: 'wedged', effects: ['hard-abort', 'wedged'] },
  },
  aborted: {
    ask: stays('aborted'),
    cleaning: stays('cleaning'),
    'cleanup-overdue': { to: 'wedged', effects: ['wedged'] },
    empty: stays('empty'),
    wake: { to: 'wedged', effects: ['wedged'] },
  },
  cleaning: {
    ask: { to: 'cleaning', effects: ['hard-abort'] },
    cleaning: stays('cleaning'),
    'cleanup-overdue': { to: 'wedged', effects: ['wedged'] },
    empty: stays('empty'),
    wake: { to: 'wedged', effects: ['hard-abort', 'wedged'] },
  },
  wedged: {
    ask: stays('wedged'),
    cleaning: stays('wedged'),
    'cleanup-overdue': stays('wedged'),
    empty: stays('empty'),
    wake: stays('wedged'),
  },
  empty: {
    ask: stays('empty'),
    cleaning: stays('empty'),
    'cleanup-overdue': stays('empty'),
    empty: stays('empty'),
    wake: stays('empty'),
  },
}

const STATE_KINDS = Object.keys(TABLE) as StateKind[]
const EVENT_KINDS = Object.keys(EVENTS) as EventKind[]

describe.each(STATE_KINDS)('A drain that is %s', (from) => {
  test.each(EVENT_KINDS)('does what the table says on %s', (kind) => {
    const before = after(...EXAMPLES[from]).state
    expect(before.kind).toBe(from)
    const { state, effects } = transition(before, EVENTS[kind])
    expect({ to: state.kind, effects }).toEqual(TABLE[from][kind])
  })
})

describe('A voluntary drain', () => {
  test('lets tasks finish until they are aborted, and is wedged when they do not react within the grace', () => {
    expect(after(ask(VOLUNTARY), at('wake', 99)).effects).toEqual([])
    expect(after(ask(VOLUNTARY), at('wake', 100)).effects).toEqual(['hard-abort'])
    expect(after(...EXAMPLES.aborted, at('wake', 149)).effects).toEqual([])
    expect(after(...EXAMPLES.aborted, at('wake', 150)).effects).toEqual(['wedged'])
  })

  test('grants cleanups their whole time, even after the moment at which tasks would be wedged', () => {
    const late = [...EXAMPLES.aborted, at('cleaning', 149)]
    expect(after(...late, at('wake', 188)).effects).toEqual([])
    expect(after(...late, at('wake', 189)).effects).toEqual(['wedged'])
  })

  test('grants more time when further cleanups begin, and none once those of a controller are overdue', () => {
    const twice = [...EXAMPLES.cleaning, at('cleaning', 40)]
    expect(after(...twice, at('wake', 79)).effects).toEqual([])
    expect(after(...twice, at('cleanup-overdue', 45)).effects).toEqual(['wedged'])
  })

  test('with no time at all first lets tasks and cleanups do what takes none', () => {
    const none: DrainPlan = { voluntary: true, abortAt: 0, wedgedAt: 0, cleanups: { timeoutMs: 0 } }
    expect(after(ask(none)).effects).toEqual([])
    expect(after(ask(none), at('cleaning', 0)).effects).toEqual([])
    expect(after(ask(none), at('cleaning', 0), at('wake', 0)).state.kind).toBe('wedged')
  })

  test('aborts the tasks that are left also after the cleanups of others were overdue', () => {
    const overdue = [ask(VOLUNTARY), at('cleanup-overdue', 20)]
    expect(drainWakesAt(after(...overdue).state)).toBe(100)
    expect(after(...overdue, at('wake', 100)).effects).toEqual(['hard-abort'])
  })

  test('is not prolonged by another voluntary end', () => {
    expect(after(ask(VOLUNTARY), ask({ ...VOLUNTARY, abortAt: 1000 }, 50)).state).toEqual(after(ask(VOLUNTARY)).state)
  })
})

describe('An involuntary drain', () => {
  test('bounds cleanups by the moment at which everything must be gone', () => {
    const cleaning = [ask(INVOLUNTARY, 20), at('cleaning', 30)]
    expect(after(...cleaning, at('wake', 59)).effects).toEqual([])
    expect(after(...cleaning, at('wake', 60)).effects).toEqual(['wedged'])
  })

  test('wedges at once cleanups that were in time only because the end was voluntary', () => {
    const late = [...EXAMPLES.aborted, at('cleaning', 149), at('wake', 160)]
    expect(after(...late).state.kind).toBe('cleaning')
    expect(after(...late, ask({ ...INVOLUNTARY, wedgedAt: 500 }, 170)).effects).toEqual(['wedged'])
    const since = (now: number) => after(...EXAMPLES.aborted, at('cleaning', 149), ask(INVOLUNTARY, now)).effects
    expect([since(149), since(150)]).toEqual([[], ['wedged']])
  })

  test('aborts at once where no time is left for tasks, and at its time otherwise', () => {
    expect(after(ask(INVOLUNTARY, 10)).effects).toEqual(['hard-abort'])
    expect(after(ask(INVOLUNTARY, 9)).effects).toEqual([])
    expect(drainWakesAt(after(ask(INVOLUNTARY, 9)).state)).toBe(10)
  })
})

test('The signal of cleanups aborts in time where that is the business of the drain, once', () => {
  const plan = { ...VOLUNTARY, cleanups: { timeoutMs: 40, abortAfterMs: 20 } }
  const half = [ask(plan), at('cleaning', 5)]
  expect(drainWakesAt(after(...half).state)).toBe(25)
  expect(after(...half, at('wake', 24)).effects).toEqual([])
  expect(after(...half, at('wake', 25)).effects).toEqual(['abort-cleanups'])
  expect(after(...half, at('wake', 25), at('wake', 30)).effects).toEqual([])
  expect(after(...half, at('wake', 45)).effects).toEqual(['abort-cleanups', 'wedged'])
})

test('Whatever happens in whatever order, a drain is empty only after the event that says so', () => {
  const told = drainStates().map(({ kind }) => kind)
  const untold = drainStates(DRAIN_EVENTS.filter(({ kind }) => kind !== 'empty')).map(({ kind }) => kind)
  expect(told).toContain('empty')
  expect(new Set(untold)).toEqual(new Set(STATE_KINDS.filter((kind) => kind !== 'empty')))
})
