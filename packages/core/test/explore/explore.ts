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
  const cells = new Set<Cell>()
  const lab: Laboratory = { scope, machine, witness: (state, event) => cells.add(`${state} × ${event}`) }
  const history = new History(states)
  const unheard: Laboratory = { ...lab, witness: () => {} }
  const done = (depth: number, isExhausted: boolean, findings: readonly Finding[] = []): Exploration => ({
    states: history.size,
    depth,
    isExhausted,
    cells,
    findings,
  })
  const first = initialWorld(scope)
  history.enter(fingerprintOf(first), 0, 0)
  let frontier: Found[] = [{ world: first, number: 0 }]
  for (let depth = 0; ; depth++) {
    const next: Found[] = []
    for (const { world, number } of frontier) {
      const actions = actionsOf(world, lab)
      for (let action = 0; action < actions.length; action++) {
        try {
          const reached = actions[action]?.apply() ?? world
          const entered = history.enter(fingerprintOf(reached), number, action)
          if (entered === undefined) continue
          if (entered % recoveryShare === 0) assertRecovers(reached, unheard)
          next.push({ world: reached, number: entered })
        } catch (error) {
          if (!(error instanceof BrokenRule)) throw error
          const path = [...history.pathTo(number), action]
          return done(depth, false, [{ rule: error.rule, message: error.message, history: tell(scope, path, unheard) }])
        }
        if (history.isFull) return done(depth, false)
      }
    }
    if (next.length === 0) return done(depth, true)
    frontier = next
  }
}

interface Found {
  readonly world: World
  readonly number: number
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
