import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { instance } from '@viz-js/viz'
import type { CandidacyState } from '@tenure/core'
import { ROOT } from '../stage.ts'
import { card, text } from './svg.ts'

/** What each state of a replica means. The compiler sees to it that none is missing. */
const STATES: Readonly<Record<CandidacyState['kind'], string>> = {
  idle: 'not started',
  following: 'watches the lease',
  acquiring: 'the write is under way',
  leading: 'the term is in force',
  draining: 'the term ends; tasks finish',
  releasing: 'empty; frees the lease',
  wedged: 'tasks are left; never released',
  stopped: 'stands no more',
}

type Edge = readonly [from: CandidacyState['kind'], to: CandidacyState['kind'], label: string]

const EDGES: readonly Edge[] = [
  ['idle', 'following', 'start()'],
  ['following', 'acquiring', 'the lease is free or expired'],
  ['acquiring', 'following', 'another replica was first'],
  ['acquiring', 'leading', 'acknowledged'],
  ['leading', 'draining', 'stop, step-down,\\nor the lease is lost'],
  ['draining', 'releasing', 'voluntary and empty'],
  ['draining', 'following', 'lost and empty'],
  ['draining', 'wedged', 'a budget is used up'],
  ['wedged', 'releasing', 'onWedged: hold,\\nand empty at last'],
  ['releasing', 'following', 'step-down'],
  ['releasing', 'stopped', 'stop()'],
  ['following', 'stopped', 'stop()'],
]

/** The life of a replica as states. */
export async function replicaStates(): Promise<string> {
  const nodes = Object.entries(STATES).map(([name, meaning]) => `${name} [label="${name}\\n${meaning}"]`)
  const edges = EDGES.map(([from, to, label]) => `${from} -> ${to} [label=" ${label} "]`)
  return drawGraph('The life of a replica', 'rankdir=TB; nodesep=0.6; ranksep=0.5', [...nodes, ...edges])
}

/** Which elector fits: questions and answers. */
export async function electors(): Promise<string> {
  const questions = {
    exclusive: 'May only one replica act?',
    pods: 'Are the replicas Pods,\\nand may each of them serve?',
    reached: 'Must clients reach the replicas?',
    renews: 'Must another one act within seconds\\nafter a crash?',
    chooses: 'Does Kubernetes itself decide,\\nwith its own components?',
    found: 'Must clients reach the one that acts?',
  }
  const answers = {
    selector: 'Service with a selector',
    endpointsLease: 'endpoints()\\nmode lease',
    membership: 'membership()',
    life: 'lifeLock()',
    coordinated: 'coordinated election',
    lease: 'a Lease, the default',
    endpointsLeader: 'a Lease, and endpoints()\\nmode leader',
  }
  const nodes = [
    ...Object.entries(questions).map(([name, label]) => `${name} [label="${label}"]`),
    ...Object.entries(answers).map(([name, label]) => `${name} [label="${label}", class=go]`),
  ]
  const edges = [
    ['exclusive', 'renews', 'yes'],
    ['exclusive', 'reached', 'no'],
    ['reached', 'pods', 'yes'],
    ['reached', 'membership', 'no'],
    ['pods', 'selector', 'yes'],
    ['pods', 'endpointsLease', 'no'],
    ['renews', 'life', 'no, when its Pod has ended'],
    ['renews', 'chooses', 'yes'],
    ['chooses', 'coordinated', 'yes'],
    ['chooses', 'found', 'no'],
    ['found', 'lease', 'no'],
    ['found', 'endpointsLeader', 'yes'],
  ].map(([from, to, label]) => `${from} -> ${to} [label=" ${label} "]`)
  return drawGraph('Which elector fits', 'rankdir=TB; nodesep=0.5; ranksep=0.5', [...nodes, ...edges])
}

/** The packages, from what their manifests depend on. */
export async function packageGraph(): Promise<string> {
  const manifests = readdirSync(join(ROOT, 'packages')).map(readManifest)
  const names = new Set(manifests.map(({ name }) => name))
  const edges = manifests.flatMap(({ name, dependencies = {} }) =>
    Object.keys(dependencies)
      .filter((other) => names.has(other))
      .map((other) => `"${name}" -> "${other}"`),
  )
  return drawGraph(
    'The packages: an arrow is an import',
    'rankdir=LR',
    [...names].map((name) => `"${name}"`).concat(edges),
  )
}

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'))
}

const LOOK = `
  graph [bgcolor=transparent]
  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, class=wait, margin="0.14,0.08"]
  edge [fontname="sans-serif", fontsize=10, arrowsize=0.7, class=line]`

/** Lays out a graph and draws it with the classes of the other pictures, which know light and dark. */
async function drawGraph(title: string, layout: string, statements: readonly string[]): Promise<string> {
  const viz = await instance()
  const svg = viz.renderString(`digraph { ${layout}\n${LOOK}\n${statements.join('\n')} }`, { format: 'svg' })
  const [, width = '0', height = '0'] = /viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? []
  const [, graph = ''] = /(<g id="graph0".*<\/g>)\n<\/svg>/s.exec(svg) ?? []
  const scale = 1.2
  const size = { width: Math.ceil(Number(width) * scale) + 40, height: Math.ceil(Number(height) * scale) + 64 }
  return card(title, size.width, size.height, [
    text(title, { x: 20, y: 28, look: 'head' }),
    `<g transform="translate(20 44) scale(${scale})">`,
    withoutColours(graph),
    '</g>',
  ])
}

/** Colours come from the style sheet of the card. */
function withoutColours(graph: string): string {
  return graph
    .replaceAll(/<!--.*?-->\n/gs, '')
    .replaceAll(/<title>.*?<\/title>\n/gs, '')
    .replaceAll(/ (?:fill|stroke|font-family|font-size)="[^"]*"/g, '')
}
