import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { type Edge, exploreGraph, type Graph } from '../edges/graph.ts'
import type { LeaseModel } from '../models.ts'
import { locateTlc } from '../tlc.ts'
import { type Action, actionsFrom } from './actions.ts'
import { compile, withNames, type World } from './evaluate.ts'
import { LEMMAS, S1 } from './lemmas.ts'
import { choicesOf, compileAction, type Leads, type Pools, poolsOf } from './same-steps.ts'
import { STATE } from './state.ts'
import { type Times, worldOf } from './world.ts'

/*
 * Compares the translation with the TLA+ model, on the whole graphs of small models. The invariant must hold in every reachable state, and
 * every step of the model must be a step of the translation of the same name. Steps of a broken rule must differ.
 */
const MODELS: readonly LeaseModel[] = [
  { name: 'validity, expiry, release', versions: 3 },
  { name: 'restarts, deletions, edits', versions: 2, restarts: 1, deletions: 1, features: ['absent', 'edits'] },
  { name: 'two writes of unknown outcome each', versions: 2, slots: 2 },
  { name: 'a wait before the first act', versions: 3, deletions: 1, features: ['absent'] },
]
const TIMES: Times = { wait: 3, validity: 2 }

const { values } = parseArgs({ options: { json: { type: 'string' } } })
const started = performance.now()
const jar = await locateTlc()
const lemmas = [...LEMMAS, S1].map(({ name, vars, of }) => ({ name, vars, holds: compile(of(STATE, ...vars)) }))
const taken = new Set<string>()
let failures = 0
let states = 0
let steps = 0

for (const model of MODELS) compare(model, await exploreGraph(jar, model))
const never = actionsFrom(STATE).filter(({ name }) => !taken.has(name))
for (const { name } of never) fail(`No model has the step ${name}`)
const seconds = (performance.now() - started) / 1000
console.log(`${failures} failures, ${seconds.toFixed(0)} s`)
await writeFigures(values.json, { states, steps, differences: failures, seconds })
if (failures > 0) process.exitCode = 1

function compare(model: LeaseModel, graph: Graph): void {
  const pools = poolsOf(model.versions, model.slots ?? 1)
  const worlds = new Map([...graph.states].map(([key, state]) => [key, worldOf(state, TIMES)]))
  for (const world of worlds.values()) assertInvariant(world, pools)
  const edges = [...graph.edges.values()].flat()
  const isStep = isStepOf(worlds, pools, actionsFrom(STATE))
  const isBrokenStep = isStepOf(worlds, pools, actionsFrom(STATE, 'validity from reading back'))
  for (const [action, { length }] of Map.groupBy(
    edges.filter((edge) => !isStep(edge)),
    ({ action }) => action,
  )) {
    fail(`${length} steps ${action} are not in the translation`)
  }
  if (edges.every(isBrokenStep)) fail('A broken rule makes no difference')
  for (const { action } of edges) taken.add(action)
  states += worlds.size
  steps += edges.length
  console.log(`${model.name.padEnd(36)} ${worlds.size} states, ${edges.length} steps`)
}

function assertInvariant(world: World, pools: Pools): void {
  const sorts: Readonly<Record<string, string>> = { p: 'Replica', s: 'Slot', v: 'Int' }
  for (const { name, vars, holds } of lemmas) {
    const choices = choicesOf(
      Object.fromEntries(vars.map((one) => [one, sorts[one.slice(0, 1)] ?? 'Int'])),
      pools,
      world,
    )
    if (choices.some((choice) => holds(withNames(world, choice)) !== true)) fail(`A reachable state violates "${name}"`)
  }
}

/** Whether an edge of the graph is a step of these actions. */
function isStepOf(
  worlds: ReadonlyMap<string, World>,
  pools: Pools,
  actions: readonly Action[],
): (edge: Edge) => boolean {
  const leads = new Map<string, Leads>(actions.map((action) => [action.name, compileAction(action)]))
  return ({ from, action, to }) => leads.get(action)?.(worlds.get(from) ?? {}, worlds.get(to) ?? {}, pools) === true
}

function fail(why: string): void {
  failures += 1
  if (failures <= 20) console.log(why)
}
