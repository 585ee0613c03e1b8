/** The constants of a model of the list of standbys. Replicas are numbers, which also order their names. */
export interface StandbyModel {
  readonly name: string
  readonly module: 'Standbys'
  /** The replicas of one revision. */
  readonly old: readonly number[]
  /** The replicas of another revision. @default none */
  readonly new?: readonly number[]
  /** The replicas that run at first. One of the others may be on the list. */
  readonly running: readonly number[]
  /** Whether leaders are eager. @default false */
  readonly eager?: boolean
  /** The length of a full list. @default 2 */
  readonly full?: number
  /** Stops, crashes, starts and step-downs. */
  readonly events: number
  /** Terms of a client that does not know the list. @default 0 */
  readonly foreign?: number
}

export type StandbyInvariant = 'B1' | 'B2' | 'B3' | 'B4' | 'B5' | 'B6' | 'B7' | 'B8' | 'B9'

const INVARIANTS: readonly StandbyInvariant[] = ['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7', 'B8', 'B9']

const one = (name: string, model: Omit<StandbyModel, 'name' | 'module'>): StandbyModel => ({
  name,
  module: 'Standbys',
  ...model,
})

export const STANDBY_MODELS: readonly StandbyModel[] = [
  one('standbys of one revision', { old: [1, 2, 3], running: [2, 3], events: 2 }),
  one('two revisions that both stay', { old: [1, 2], new: [3], running: [1, 2], events: 2 }),
  one('eager leaders', { old: [1], new: [2], running: [1], eager: true, events: 3 }),
  one('standbys of a client that keeps no list', { old: [1, 2], running: [1, 2], events: 2, foreign: 1 }),
]

export const LONG_STANDBY_MODELS: readonly StandbyModel[] = [
  one('standbys of one revision', { old: [1, 2, 3], running: [1, 2, 3], events: 2 }),
  one('eager leaders', { old: [1, 2], new: [3], running: [1, 2], eager: true, events: 2 }),
  one('eager leaders', { old: [1], new: [2], running: [1], eager: true, events: 4 }),
  one('standbys of a client that keeps no list', { old: [1, 2], running: [1, 2], events: 3, foreign: 2 }),
]

const fleet = { module: 'Standbys', old: [1, 2, 3], running: [2, 3], events: 2 } as const
const pair = { module: 'Standbys', old: [1, 2], running: [1, 2], events: 2 } as const
const beside = { ...pair, foreign: 1 } as const
const rollout = { module: 'Standbys', old: [1, 2], new: [3], running: [1, 2], eager: true, events: 1 } as const
const canary = { module: 'Standbys', old: [1], new: [2], running: [1, 2], eager: true, events: 2 } as const

/** The broken rule, the invariant that it violates, and the model that shows it. */
export const WRONG_STANDBY_MODELS: readonly (readonly [string, StandbyInvariant, Omit<StandbyModel, 'name'>])[] = [
  ['list without an end', 'B1', { ...fleet, full: 1 }],
  ['announcement counted as a renewal', 'B2', pair],
  ['list not bound to its term', 'B2', beside],
  ['standbys try at once', 'B3', fleet],
  ['missed turns kept', 'B4', fleet],
  ['announcement repeated', 'B5', pair],
  ['announcement ends the wait', 'B6', pair],
  ['ghosts kept by a transfer', 'B4', fleet],
  ['eager within a revision', 'B7', { ...pair, eager: true }],
  ['eager for an older revision', 'B7', canary],
  ['eager without a cool-down', 'B7', canary],
  ['crashed standby not asked', 'B9', rollout],
  ['announcement under another client at once', 'B8', beside],
  ['leave under another client', 'B8', beside],
]

/** The configuration of a model of the list for the model checker. */
export function configOfStandbys(model: StandbyModel, wrong: readonly string[], violates: string | undefined): string {
  return [
    'SPECIFICATION SpecStandbys',
    'CONSTANTS',
    `  Old = ${set(model.old)}`,
    `  New = ${set(model.new ?? [])}`,
    `  Running = ${set(model.running)}`,
    `  Eager = ${model.eager === true ? 'TRUE' : 'FALSE'}`,
    `  MaxList = ${model.full ?? 2}`,
    `  MaxEvents = ${model.events}`,
    `  MaxForeign = ${model.foreign ?? 0}`,
    `  Wrong = ${set(wrong.map((rule) => JSON.stringify(rule)))}`,
    `INVARIANTS ${violates ?? INVARIANTS.join(' ')}`,
    '',
  ].join('\n')
}

export function set(elements: readonly (string | number)[]): string {
  return `{${elements.join(', ')}}`
}
