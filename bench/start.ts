import { parseArgs } from 'node:util'
import { percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { importCost, type ImportCost } from './start/import-cost.ts'
import { type Form, ReplicaStarter, type ReplicaStart } from './start/replica-start.ts'

/*
 * The cold start: the time and the memory of imports in fresh processes, in turns, and the time from the start of a replica's process to
 * the moment at which it knows the leader and stands for election. The replica is measured with its packages and as one file.
 */
const { values } = parseArgs({ options: { json: { type: 'string' }, rounds: { type: 'string', default: '20' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number above 0, got \`${values.rounds}\``)
  process.exit(2)
}

const SUBJECTS = {
  node: undefined,
  core: '@tenure/core',
  kubernetes: '@tenure/kubernetes',
  ops: '@tenure/ops',
  pino: 'pino',
  'prom-client': 'prom-client',
  'js-yaml': 'js-yaml',
  tenure: 'tenure',
  // Loaded when something needs them.
  fastify: 'fastify',
  'client-node': '@kubernetes/client-node',
} as const
type Subject = keyof typeof SUBJECTS
const NAMES = Object.keys(SUBJECTS) as Subject[]
const FORMS = ['packages', 'bundle'] as const satisfies Form[]

const imports = new Map<Subject, ImportCost[]>(NAMES.map((name) => [name, []]))
const replicas: Record<Form, ReplicaStart[]> = { packages: [], bundle: [] }
{
  await using starter = await ReplicaStarter.create()
  for (let round = 0; round < rounds; round++) {
    for (const name of NAMES) imports.get(name)?.push(await importCost(SUBJECTS[name]))
    for (const form of FORMS) replicas[form].push(await starter.start(form))
  }
}

console.log(SUMMARY_HEAD)
for (const name of NAMES) console.log(summary(`import ${name}`, importMs(name)))
for (const form of FORMS) {
  console.log(summary(`process start to candidate, ${form}`, candidateMs(form)))
}
console.log(SUMMARY_HEAD.replace('ms', 'MB'))
for (const name of NAMES) console.log(summary(`RSS after import ${name}`, importMb(name)))
for (const form of FORMS) console.log(summary(`RSS of a follower, ${form}`, followerMb(form)))

const figures = {
  import_ms: median(importMs('tenure')),
  process_start_to_candidate_p50_ms: median(candidateMs('packages')),
  rss_follower_mb: median(followerMb('packages')),
  'bundle.process_start_to_candidate_p50_ms': median(candidateMs('bundle')),
  'bundle.rss_follower_mb': median(followerMb('bundle')),
  import_core_ms: median(importMs('core')),
  import_client_node_ms: median(importMs('client-node')),
  rss_node_mb: median(importMb('node')),
  rss_core_mb: median(importMb('core')),
  rss_client_node_mb: median(importMb('client-node')),
  rss_import_mb: median(importMb('tenure')),
}
const parts = Object.fromEntries(
  NAMES.flatMap((name) => [
    [`parts.${name}.import_ms`, median(importMs(name))],
    [`parts.${name}.rss_mb`, median(importMb(name))],
  ]),
)
const ratios = {
  import_ratio_to_client_node: figures.import_ms / figures.import_client_node_ms,
  rss_follower_ratio_to_node: figures.rss_follower_mb / figures.rss_node_mb,
}
for (const [name, ratio] of Object.entries(ratios)) console.log(`${name.padEnd(36)}${ratio.toFixed(2)}`)
await writeFigures(values.json, { ...figures, ...ratios, ...parts })

function importMs(name: Subject): number[] {
  return (imports.get(name) ?? []).map(({ ms }) => ms)
}

function importMb(name: Subject): number[] {
  return (imports.get(name) ?? []).map(({ bytes }) => bytes / 1e6)
}

function candidateMs(form: Form): number[] {
  return replicas[form].map((start) => start.candidateMs)
}

function followerMb(form: Form): number[] {
  return replicas[form].map(({ followerBytes }) => followerBytes / 1e6)
}

function median(samples: readonly number[]): number {
  return percentile(samples, 0.5)
}
