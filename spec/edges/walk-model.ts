import { type Choices, choicesIn } from './choices.ts'
import { type EdgeModel, VARIANTS } from './edge-models.ts'
import { exploreGraph } from './graph.ts'
import { type Walk, walk } from './walk.ts'

/** How many ways to one state each configuration follows in any case. More ways are followed only while its steps are not all covered. */
const WAYS = 1

/** A walk that finds more differences than this ends. */
const MOST_DIFFERENCES = 3

/** The numbers of one walk. */
interface Walked {
  /** The steps that the code may take, and how many of them it took. 0 if the walk was not to be complete. */
  readonly edges: number
  readonly covered: number
  /** The same of a walk that was not to be complete. */
  readonly sampledEdges: number
  readonly sampledCovered: number
  readonly tests: number
  /** The steps that the code never chooses, and those that only follow them. */
  readonly never: number
  readonly behind: number
  /** Tests in which a replica sent more writes than the constants of the model allow. */
  readonly beyond: number
  readonly differences: number
}

/** Walks along the graph of one model, and prints the result. */
export async function walkModel(jar: string, model: EdgeModel, printMissing: boolean): Promise<Walked> {
  const graph = await exploreGraph(jar, model)
  const choices = choicesIn(graph)
  const { tests } = model
  const limit = tests === undefined ? {} : { tests }
  const result = await walk({ model, graph, variants: VARIANTS, ways: WAYS, most: MOST_DIFFERENCES, ...limit })
  const missing = [...choices.possible].filter((edge) => !result.covered.has(edge))
  const covered = choices.possible.size - missing.length
  const never = [...choices.never.values()].reduce((sum, { size }) => sum + size, 0)
  console.log(
    `${model.name}: ${graph.states.size} states, ${covered} of ${choices.possible.size} steps covered by ${result.tests} tests; ` +
      `${never} never chosen, ${choices.behind} behind them; ${result.beyond} tests left the bounds`,
  )
  const taken = printChoices(choices, result)
  printDifferences(result)
  if (printMissing)
    for (const { action, from, to } of missing) console.log(`  not covered: ${action} from ${from} to ${to}`)
  const edges = choices.possible.size
  const counted =
    model.tests === undefined
      ? { edges, covered, sampledEdges: 0, sampledCovered: 0 }
      : { edges: 0, covered: 0, sampledEdges: edges, sampledCovered: covered }
  const { beyond, differences } = result
  return {
    ...counted,
    tests: result.tests,
    never,
    behind: choices.behind,
    beyond,
    differences: differences.length + taken,
  }
}

/** Prints what the code never chooses. Returns how many of these steps it took all the same. */
function printChoices({ never }: Choices, { covered }: Walk): number {
  let count = 0
  for (const [reason, edges] of never) {
    console.log(`  never: ${edges.size} × ${reason}`)
    for (const edge of edges) {
      if (!covered.has(edge)) continue
      count += 1
      console.log(`  DIFFERENCE: takes a step that it never takes: ${edge.action} from ${edge.from}`)
    }
  }
  return count
}

function printDifferences({ differences }: Walk): void {
  for (const { variant, commands, message } of differences) {
    console.log(`  DIFFERENCE (${variant}): ${commands.join(' → ')}\n    ${message}`)
  }
}
