import type { ElectorEvent } from '../../src/election/machine/event.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { transition } from '../../src/election/machine/transition.ts'
import { actionsOf } from './actions.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { Laboratory, Machine } from './handle.ts'
import { type Entries, History } from './history.ts'
import { assertRecovers } from './recovery.ts'
import { BrokenRule, initialWorld, type Scope, type World } from './world.ts'

/** One cell of the transition table. */
export type Cell = `${ElectorState['kind']} × ${ElectorEvent['kind']}`

/** A broken rule, with the shortest history that breaks it. */
interface Finding {
  readonly rule: string
  readonly message: string
  readonly history: readonly string[]
}

/** The result of an exploration. */
export interface Exploration {
  readonly states: number
  /** The number of steps from the first world up to which every world was visited. */
  readonly depth: number
  /** Whether every world of the scope was visited. */
  readonly isExhausted: boolean
  readonly cells: ReadonlySet<Cell>
  readonly findings: readonly Finding[]
}

/** An exploration in the form in which a process sends it. */
export type SentExploration = Omit<Exploration, 'cells'> & { readonly cells: readonly Cell[] }

/** Options of an exploration. */
export interface ExploreOptions {
  readonly scope: Scope
  /** The maximum number of distinct worlds. */
  readonly states: number
  /** The state machine. @default the machine of production */
  readonly machine?: Machine
  /** One in this many worlds is checked for recovery: without further faults there must be a leader. @default 256 */
  readonly recoveryShare?: number
}

/**
 * Visits every possible world, breadth first, until it has visited `states` distinct worlds or all of them. Stops at the first broken
 * rule, so no shorter history breaks one.
 */
export function explore(options: ExploreOptions): Exploration {
  const search = new Search(options)
  let frontier: readonly Found[] = [search.begin()]
  for (let depth = 0; ; depth++) {
    frontier = search.expand(frontier)
    if (search.isOver || frontier.length === 0) return search.result(depth)
  }
}

/** A world that was found, and its number. */
export interface Found {
  readonly world: World
  readonly number: number
}

/** The worlds found so far, and the rules that they broke. */
export class Search {
  readonly #cells = new Set<Cell>()
  readonly #lab: Laboratory
  /** Its steps do not count towards coverage. */
  readonly #unobserved: Laboratory
  readonly #history: History
  readonly #recoveryShare: number
  readonly #findings: Finding[] = []

  constructor({ scope, states, machine = transition, recoveryShare = 256 }: ExploreOptions) {
    const subject = { scope, machine }
    this.#lab = { ...subject, witness: (state, event) => this.#cells.add(`${state} × ${event}`) }
    this.#unobserved = { ...subject, witness: () => {} }
    this.#history = new History(states)
    this.#recoveryShare = recoveryShare
  }

  /** Whether a rule is broken or the maximum number of worlds is reached. */
  get isOver(): boolean {
    return this.#findings.length > 0 || this.#history.isFull
  }

  /** The number of worlds. */
  get states(): number {
    return this.#history.size
  }

  /** The cells of the transition table that were reached. */
  get cells(): readonly Cell[] {
    return [...this.#cells]
  }

  /** What the history holds from a world on. */
  entriesFrom(world: number): Entries {
    return this.#history.entriesFrom(world)
  }

  /** Continues a search of which these are the next worlds. */
  restore(entries: Entries, cells: readonly Cell[]): void {
    this.#history.restore(entries)
    for (const cell of cells) this.#cells.add(cell)
  }

  begin(): Found {
    const first = opened(this.#unobserved, () => {})
    this.#history.enter(fingerprintOf(first), 0, 0)
    return { world: first, number: 0 }
  }

  /** The new worlds that are one action away from these. */
  expand(frontier: readonly Found[]): readonly Found[] {
    const found: Found[] = []
    for (const from of frontier) {
      this.#expand(from, found)
      if (this.isOver) break
    }
    return found
  }

  #expand(from: Found, found: Found[]): void {
    const actions = actionsOf(from.world, this.#lab)
    for (const [number, action] of actions.entries()) {
      try {
        const reached = this.#enter(action.apply(), from, number)
        if (reached !== undefined) found.push(reached)
      } catch (error) {
        this.#report(error, from, number)
      }
      if (this.isOver) return
    }
  }

  /** The result, after every world up to `depth` was expanded or the search is over. */
  result(depth: number): Exploration {
    const { size: states } = this.#history
    return { states, depth, isExhausted: !this.isOver, cells: this.#cells, findings: this.#findings }
  }

  /** Undefined for a known world. */
  #enter(world: World, from: Found, action: number): Found | undefined {
    const number = this.#history.enter(fingerprintOf(world), from.number, action)
    if (number === undefined) return undefined
    if (number % this.#recoveryShare === 0) assertRecovers(world, this.#unobserved)
    return { world, number }
  }

  #report(error: unknown, from: Found, action: number): void {
    if (!(error instanceof BrokenRule)) throw error
    const path = [...this.#history.pathTo(from.number), action]
    const history = tell(path, this.#unobserved)
    this.#findings.push({ rule: error.rule, message: error.message, history })
  }
}

/** The world after the opening of the scope. */
function opened(lab: Laboratory, told: (world: World, action: string) => void): World {
  return (lab.scope.opening ?? []).reduce((world, name) => {
    const actions = actionsOf(world, lab)
    const action = actions.find((possible) => possible.name === name)
    if (action === undefined) {
      throw new Error(`Expected the opening to name one of ${actions.map((one) => one.name).join('; ')}, got ${name}`)
    }
    told(world, name)
    return action.apply()
  }, initialWorld(lab.scope))
}

/** Describes each step of a history. */
function tell(path: readonly number[], lab: Laboratory): readonly string[] {
  const lines: string[] = []
  const told = ({ tick }: World, action: string) => lines.push(`${String(tick * 1000).padStart(6)} ms  ${action}`)
  let world = opened(lab, told)
  for (const number of path) {
    const action = actionsOf(world, lab)[number]
    if (action === undefined) throw new Error('The history names an action that does not exist')
    told(world, action.name)
    try {
      world = action.apply()
    } catch (error) {
      if (error instanceof BrokenRule) return lines
      throw error
    }
  }
  return lines
}
