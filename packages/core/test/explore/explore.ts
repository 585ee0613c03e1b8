import type { ElectorEvent } from '../../src/election/machine/event.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { transition } from '../../src/election/machine/transition.ts'
import { actionsOf } from './actions.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { Laboratory, Machine } from './handle.ts'
import { History } from './history.ts'
import { assertRecovers } from './recovery.ts'
import { BrokenRule, initialWorld, type Scope, type World } from './world.ts'

/** One cell of the transition table. */
export type Cell = `${ElectorState['kind']} × ${ElectorEvent['kind']}`

/** A rule that was broken, with the shortest history that leads there. */
interface Finding {
  readonly rule: string
  readonly message: string
  readonly history: readonly string[]
}

/** What an exploration came to. */
export interface Exploration {
  readonly states: number
  /** How many steps away from the beginning everything was seen. */
  readonly depth: number
  /** Whether there is nothing else to see within the scope. */
  readonly isExhausted: boolean
  readonly cells: ReadonlySet<Cell>
  readonly findings: readonly Finding[]
}

/** How far to explore. */
export interface ExploreOptions {
  readonly scope: Scope
  /** How many different worlds to see at most. */
  readonly states: number
  /** What decides. @default the machine of production */
  readonly machine?: Machine
  /** One in so many worlds is left alone to see whether somebody leads then. @default 256 */
  readonly recoveryShare?: number
}

/**
 * Tries everything that can happen, breadth first, until `states` different worlds are seen or there are no more. Ends with the first
 * rule that is broken: no history that leads to one is shorter.
 */
export function explore({ scope, states, machine = transition, recoveryShare = 256 }: ExploreOptions): Exploration {
  const search = new Search({ scope, machine }, states, recoveryShare)
  let frontier: readonly Found[] = [search.begin(initialWorld(scope))]
  for (let depth = 0; ; depth++) {
    frontier = search.expand(frontier)
    if (search.isOver || frontier.length === 0) return search.result(depth)
  }
}

interface Found {
  readonly world: World
  readonly number: number
}

/** The worlds found so far, and the rules that they break. */
class Search {
  readonly #cells = new Set<Cell>()
  readonly #lab: Laboratory
  /** Its steps do not count as coverage. */
  readonly #unobserved: Laboratory
  readonly #history: History
  readonly #recoveryShare: number
  readonly #findings: Finding[] = []

  constructor(subject: Pick<Laboratory, 'scope' | 'machine'>, states: number, recoveryShare: number) {
    this.#lab = { ...subject, witness: (state, event) => this.#cells.add(`${state} × ${event}`) }
    this.#unobserved = { ...subject, witness: () => {} }
    this.#history = new History(states)
    this.#recoveryShare = recoveryShare
  }

  /** Whether a rule is broken, or the most worlds to see are seen. */
  get isOver(): boolean {
    return this.#findings.length > 0 || this.#history.isFull
  }

  begin(first: World): Found {
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

  /** What the search came to; it has expanded every world up to `depth` unless it is over. */
  result(depth: number): Exploration {
    const { size: states } = this.#history
    return { states, depth, isExhausted: !this.isOver, cells: this.#cells, findings: this.#findings }
  }

  /** Undefined for a world that is known. */
  #enter(world: World, from: Found, action: number): Found | undefined {
    const number = this.#history.enter(fingerprintOf(world), from.number, action)
    if (number === undefined) return undefined
    if (number % this.#recoveryShare === 0) assertRecovers(world, this.#unobserved)
    return { world, number }
  }

  #report(error: unknown, from: Found, action: number): void {
    if (!(error instanceof BrokenRule)) throw error
    const path = [...this.#history.pathTo(from.number), action]
    const history = tell(this.#lab.scope, path, this.#unobserved)
    this.#findings.push({ rule: error.rule, message: error.message, history })
  }
}

/** A history in words. */
function tell(scope: Scope, path: readonly number[], lab: Laboratory): readonly string[] {
  const lines: string[] = []
  let world = initialWorld(scope)
  for (const number of path) {
    const action = actionsOf(world, lab)[number]
    if (action === undefined) throw new Error('Expected a history to lead somewhere')
    lines.push(`${String(world.tick * 1000).padStart(6)} ms  ${action.name}`)
    try {
      world = action.apply()
    } catch (error) {
      if (error instanceof BrokenRule) return lines
      throw error
    }
  }
  return lines
}
