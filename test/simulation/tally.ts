import type { FaultKind, SimulationReport } from '@tenure/simulator'

/** The sum of many runs, in a form that processes can send to each other. */
export interface Tally {
  seeds: number
  /** The seeds that broke a rule. `--seed` replays one. */
  readonly broken: string[]
  terms: number
  events: number
  /** By the name of the fleet. */
  readonly fleets: Record<string, { seeds: number; simulatedMs: number; realMs: number }>
  /** How often each fault hit a replica in each state. */
  readonly coverage: Partial<Record<FaultKind, Record<string, number>>>
}

export function emptyTally(): Tally {
  return { seeds: 0, broken: [], terms: 0, events: 0, fleets: {}, coverage: {} }
}

/** What is counted of a run. */
export type CountedRun = Pick<SimulationReport, 'seed' | 'terms' | 'events' | 'simulatedMs' | 'coverage'> & {
  readonly violations: readonly unknown[]
}

/** Adds one run. */
export function count(tally: Tally, fleet: string, report: CountedRun, realMs: number): void {
  tally.seeds += 1
  if (report.violations.length > 0) tally.broken.push(report.seed)
  tally.terms += report.terms
  tally.events += report.events
  const sum = (tally.fleets[fleet] ??= { seeds: 0, simulatedMs: 0, realMs: 0 })
  sum.seeds += 1
  sum.simulatedMs += report.simulatedMs
  sum.realMs += realMs
  for (const [kind, states] of report.coverage) {
    const counts = (tally.coverage[kind] ??= {})
    for (const [state, times] of states) counts[state] = (counts[state] ?? 0) + times
  }
}

/** Adds the tally of another process. */
export function add(tally: Tally, more: Tally): void {
  tally.seeds += more.seeds
  tally.broken.push(...more.broken)
  tally.terms += more.terms
  tally.events += more.events
  for (const [name, fleet] of Object.entries(more.fleets)) {
    const sum = (tally.fleets[name] ??= { seeds: 0, simulatedMs: 0, realMs: 0 })
    sum.seeds += fleet.seeds
    sum.simulatedMs += fleet.simulatedMs
    sum.realMs += fleet.realMs
  }
  for (const [kind, states] of Object.entries(more.coverage)) {
    const counts = (tally.coverage[kind as FaultKind] ??= {})
    for (const [state, times] of Object.entries(states)) counts[state] = (counts[state] ?? 0) + times
  }
}

/** The simulated time of all fleets. */
export function simulatedMs(tally: Tally): number {
  return Object.values(tally.fleets).reduce((sum, fleet) => sum + fleet.simulatedMs, 0)
}
