import type { Edge, Graph } from './graph.ts'
import { type ModelProcess, type ModelState, NAMES } from './model-state.ts'

/** Steps that the model allows at any time, and that the code takes only at some times. */
interface Choice {
  readonly reason: string
  readonly actions: readonly string[]
  /** Whether the code never takes the step in this state of its replica. */
  readonly isNever: (process: ModelProcess) => boolean
}

/** What the code never chooses. The walk fails if it does. */
const NEVER_CHOSEN: readonly Choice[] = [
  {
    reason: 'a replica ends its term, and writes nothing, when the time of its lease is over',
    actions: ['Offer', 'Release', 'Transfer'],
    isNever: ({ valid }) => valid === 0,
  },
]

/** The steps of a graph, as far as the code may take them. */
export interface Choices {
  /** The steps that the code can reach without a step that it never chooses. */
  readonly possible: ReadonlySet<Edge>
  /** The steps that it never chooses, by reason, and those that only follow them. */
  readonly never: ReadonlyMap<string, ReadonlySet<Edge>>
  readonly behind: number
}

/** Sorts the steps of a graph by what the code chooses. */
export function choicesIn({ states, edges, initial }: Graph): Choices {
  const possible = new Set<Edge>()
  const never = new Map<string, Set<Edge>>(NEVER_CHOSEN.map(({ reason }) => [reason, new Set()]))
  const reached = new Set(initial)
  let all = 0
  for (const out of edges.values()) all += out.length
  for (const key of reached) {
    for (const edge of edges.get(key) ?? []) {
      const choice = NEVER_CHOSEN.find((one) => isNever(one, edge, states))
      if (choice !== undefined) {
        never.get(choice.reason)?.add(edge)
        continue
      }
      possible.add(edge)
      reached.add(edge.to)
    }
  }
  const excluded = [...never.values()].reduce((sum, set) => sum + set.size, 0)
  return { possible, never, behind: all - possible.size - excluded }
}

function isNever({ actions, isNever: isNeverIn }: Choice, edge: Edge, states: Graph['states']): boolean {
  if (!actions.includes(edge.action)) return false
  const from = states.get(edge.from)
  const to = states.get(edge.to)
  if (from === undefined || to === undefined) return false
  return NAMES.some((name) => isBy(name, from, to) && isNeverIn(from.proc[name]))
}

/** Whether a step is one of this replica: it changes what the replica knows or has sent. */
function isBy(name: (typeof NAMES)[number], from: ModelState, to: ModelState): boolean {
  return JSON.stringify([from.proc[name], from.msg[name]]) !== JSON.stringify([to.proc[name], to.msg[name]])
}
