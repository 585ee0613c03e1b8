import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { locateTlc } from '../tlc.ts'
import { EDGE_MODELS, SHORT_EDGE_MODELS } from './edge-models.ts'
import { findPlanted } from './find-planted.ts'
import { walkModel } from './walk-model.ts'

/*
 * Leads real electors along every step of small models, and checks that the models allow everything that the electors do. Fails if they
 * differ, or if a step is not covered. `--short` walks the larger model only for a while, and plants two defects that must be found.
 * `--planted` plants them all.
 */
const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    planted: { type: 'boolean', default: false },
    missing: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

/** Defects that a short walk finds in a few seconds. */
const QUICK_DEFECTS = ['E3', 'E9']

const started = performance.now()
const figures = {
  edges: 0,
  covered: 0,
  sampled_edges: 0,
  sampled_covered: 0,
  tests: 0,
  never_chosen: 0,
  behind_never_chosen: 0,
  beyond_bounds: 0,
  differences: 0,
}
let unfound = 0

if (!values.planted) await walkAll()
if (values.planted) unfound = findPlanted((id) => values.only === '' || id === values.only)
else if (values.short && values.only === '') unfound = findPlanted((id) => QUICK_DEFECTS.includes(id))

const seconds = (performance.now() - started) / 1000
await writeFigures(values.json, { ...figures, unfound, seconds })
if (figures.covered < figures.edges || figures.differences > 0 || unfound > 0) process.exitCode = 1

async function walkAll(): Promise<void> {
  const jar = await locateTlc()
  for (const model of values.short ? SHORT_EDGE_MODELS : EDGE_MODELS) {
    if (!model.name.includes(values.only)) continue
    const walked = await walkModel(jar, model, values.missing)
    figures.edges += walked.edges
    figures.covered += walked.covered
    figures.sampled_edges += walked.sampledEdges
    figures.sampled_covered += walked.sampledCovered
    figures.tests += walked.tests
    figures.never_chosen += walked.never
    figures.behind_never_chosen += walked.behind
    figures.beyond_bounds += walked.beyond
    figures.differences += walked.differences
  }
  const { covered, edges, tests, differences } = figures
  if (tests === 0) throw new Error(`No model is named like \`${values.only}\``)
  console.log(`${covered} of ${edges} steps, ${tests} tests, ${differences} differences, ${secondsSoFar()} s`)
}

function secondsSoFar(): string {
  return ((performance.now() - started) / 1000).toFixed(0)
}
