import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { graphConfigOf, type LeaseModel } from '../models.ts'
import { runTlc } from '../tlc.ts'
import { keyOf, type ModelState } from './model-state.ts'
import { parseState } from './tla-value.ts'

/** A step of the model between two states. */
export interface Edge {
  readonly from: string
  readonly action: string
  readonly to: string
}

/** The reachable graph of a model. */
export interface Graph {
  readonly states: ReadonlyMap<string, ModelState>
  /** The steps out of each state. */
  readonly edges: ReadonlyMap<string, readonly Edge[]>
  readonly initial: readonly string[]
}

const STATE = /^(-?\d+) \[label="(.*)"(,style = filled)?\]/
const STEP = /^(-?\d+) -> (-?\d+) \[label="(\w+)"/

/** Lets the model checker explore a model without symmetry, and reads the whole graph. */
export async function exploreGraph(jar: string, model: LeaseModel): Promise<Graph> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-edges-'))
  try {
    const file = join(folder, 'graph.dot')
    const run = { module: 'Tenure', config: graphConfigOf(model), workers: 1, memoryMb: 3000, graph: file }
    const { violated } = await runTlc(jar, run)
    if (violated !== undefined) throw new Error(`The model \`${model.name}\` violates ${violated}`)
    return await readGraph(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reads the graph that the model checker wrote. */
async function readGraph(file: string): Promise<Graph> {
  const keys = new Map<string, string>()
  const states = new Map<string, ModelState>()
  const steps: (readonly [from: string, to: string, action: string])[] = []
  const initial: string[] = []
  for await (const line of createInterface(createReadStream(file))) {
    const step = STEP.exec(line)
    if (step !== null) {
      const [, from = '', to = '', action = ''] = step
      steps.push([from, to, action])
      continue
    }
    const [, id = '', label = '', isInitial] = STATE.exec(line) ?? []
    if (id === '' || keys.has(id)) continue
    const state = parseState(label.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)))
    const key = keyOf(state as unknown as ModelState)
    keys.set(id, key)
    if (!states.has(key)) states.set(key, state as unknown as ModelState)
    if (isInitial !== undefined) initial.push(key)
  }
  return { states, edges: edgesOf(steps, keys), initial }
}

function edgesOf(
  steps: readonly (readonly [from: string, to: string, action: string])[],
  keys: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly Edge[]> {
  const seen = new Set<string>()
  const edges = new Map<string, Edge[]>()
  for (const [fromId, toId, action] of steps) {
    const from = keys.get(fromId)
    const to = keys.get(toId)
    if (from === undefined || to === undefined) throw new Error('The graph has a step without its states')
    const name = `${from} ${action} ${to}`
    if (seen.has(name)) continue
    seen.add(name)
    const out = edges.get(from) ?? []
    edges.set(from, out)
    out.push({ from, action, to })
  }
  return edges
}
