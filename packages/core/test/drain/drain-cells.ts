import { type DrainEvent, type DrainPlan, type DrainState, OPEN, transition } from '../../src/drain/machine.ts'

const PLANS: readonly DrainPlan[] = [
  { voluntary: true, abortAt: 100, wedgedAt: 150, cleanups: { timeoutMs: 40, abortAfterMs: 20 } },
  { voluntary: false, abortAt: 50, wedgedAt: 90, cleanups: { timeoutMs: 40 } },
]

/** Moments before, between and after everything that may be due. */
const TIMES = [0, 30, 60, 95, 120, 160, 1000]

/** Every event at every such moment. */
export const DRAIN_EVENTS: readonly DrainEvent[] = TIMES.flatMap((now): readonly DrainEvent[] => [
  ...PLANS.map((plan) => ({ kind: 'ask', plan, now }) as const),
  { kind: 'cleaning', now },
  { kind: 'cleanup-overdue', now },
  { kind: 'empty', now },
  { kind: 'wake', now },
])

/** Every state that some history of these events leads to, however time goes. */
export function drainStates(events: readonly DrainEvent[] = DRAIN_EVENTS): readonly DrainState[] {
  const seen = new Map<string, DrainState>([[JSON.stringify(OPEN), OPEN]])
  for (const state of seen.values()) {
    for (const event of events) {
      const { state: next } = transition(state, event)
      seen.set(JSON.stringify(next), next)
    }
  }
  return [...seen.values()]
}

/** The cells of the table that change something, with the states that follow. */
export function drainCells(): ReadonlyMap<string, readonly DrainState['kind'][]> {
  const cells = new Map<string, Set<DrainState['kind']>>()
  const states = drainStates()
  const changed = new Set<string>()
  for (const state of states) {
    for (const event of DRAIN_EVENTS) {
      const cell = `${state.kind} ${event.kind}`
      const next = transition(state, event)
      if (JSON.stringify(next.state) !== JSON.stringify(state) || next.effects.length > 0) changed.add(cell)
      cells.set(cell, (cells.get(cell) ?? new Set()).add(next.state.kind))
    }
  }
  return new Map([...cells].filter(([cell]) => changed.has(cell)).map(([cell, next]) => [cell, [...next].toSorted()]))
}
