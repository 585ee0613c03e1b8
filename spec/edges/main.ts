import { spawnSync } from 'node:child_process'
import { env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { locateTlc } from '../tlc.ts'
import { choicesIn } from './choices.ts'
import { EDGE_MODELS, SHORT_EDGE_MODELS, VARIANTS } from './edge-models.ts'
import { exploreGraph } from './graph.ts'
import { PLANTED } from './planted.ts'
import { walk } from './walk.ts'

/*
 * Leads real electors along every step of small models, and checks that the models allow everything that the electors do. Fails if they
 * differ, or if a step is not covered. `--planted` plants defects and fails unless each is found.
 */
const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    planted: { type: 'boolean', default: false },
    missing: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

/** How many ways to one state each configuration follows in any case. More ways are followed only while its steps are not all covered. */
const WAYS = 1

if (values.planted) findPlanted()
else await walkAll()

async function walkAll(): Promise<void> {
  const jar = await locateTlc()
  const started = performance.now()
  const models = (values.short ? SHORT_EDGE_MODELS : EDGE_MODELS).filter(({ name }) => name.includes(values.only ?? ''))
  const figures = { edges: 0, covered: 0, tests: 0, never_chosen: 0, behind_never_chosen: 0, beyond_bounds: 0, differences: 0 }
  for (const model of models) {
    const graph = await exploreGraph(jar, model)
    const { possible, never, behind } = choicesIn(graph)
    const result = await walk({ model, graph, variants: VARIANTS, ways: WAYS, most: 3 })
    const covered = [...possible].filter((edge) => result.covered.has(edge)).length
    const neverChosen = [...never.values()].reduce((sum, { size }) => sum + size, 0)
    figures.edges += possible.size
    figures.covered += covered
    figures.tests += result.tests
    figures.never_chosen += neverChosen
    figures.behind_never_chosen += behind
    figures.beyond_bounds += result.beyond
    figures.differences += result.differences.length
    console.log(
      `${model.name}: ${graph.states.size} states, ${covered} of ${possible.size} steps covered by ${result.tests} tests; ` +
        `${neverChosen} never chosen, ${behind} behind them; ${result.beyond} tests left the bounds`,
    )
    for (const [reason, edges] of never) {
      console.log(`  never: ${edges.size} × ${reason}`)
      const taken = [...edges].filter((edge) => result.covered.has(edge))
      if (taken.length > 0) console.log(`  TAKEN ALL THE SAME: ${taken.length}, such as ${taken[0]?.action} from ${taken[0]?.from}`)
      figures.differences += taken.length
    }
    for (const { variant, commands, message } of result.differences) {
      console.log(`  DIFFERENCE (${variant}): ${commands.join(' → ')}\n    ${message}`)
    }
    if (values.missing) {
      for (const edge of possible) if (!result.covered.has(edge)) console.log(`  not covered: ${edge.action} from ${edge.from} to ${edge.to}`)
    }
  }
  const seconds = (performance.now() - started) / 1000
  await writeFigures(values.json, { ...figures, seconds })
  console.log(`${figures.covered} of ${figures.edges} steps, ${figures.tests} tests, ${figures.differences} differences, ${seconds.toFixed(0)} s`)
  if (figures.covered < figures.edges || figures.differences > 0 || figures.tests === 0) process.exitCode = 1
}

function findPlanted(): void {
  for (const { id, defect } of PLANTED.filter(({ id }) => id === (values.only ?? id))) {
    const plant = fileURLToPath(new URL('plant.ts', import.meta.url))
    const args = ['--conditions=@tenure/source', '--import', plant, fileURLToPath(import.meta.url)]
    const model = id === 'E8' ? ['--only', 'a deletion'] : id === 'E4' ? ['--only', 'validity'] : ['--short']
    const run = spawnSync(execPath, [...args, ...model], { env: { ...env, TENURE_PLANTED: id }, encoding: 'utf8' })
    const how = /DIFFERENCE \((.*?)\): (.*)/.exec(run.stdout)?.[2] ?? /.* steps, .*/.exec(run.stdout)?.[0]
    const isFound = run.status === 1 && how !== undefined
    console.log(`${id} ${defect}: ${isFound ? `found by ${how}` : `NOT FOUND ${run.stderr.slice(-2000)}`}`)
    if (!isFound) process.exitCode = 1
  }
}
