import { type Figures, percentile, SUMMARY_HEAD, summary } from '../figures.ts'
import { importCost, type ImportCost } from './import-cost.ts'
import { type Form, ReplicaStarter, type ReplicaStart } from './replica-start.ts'

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

/** The samples of imports and of replicas. */
export interface StartSamples {
  readonly imports: Readonly<Record<Subject, readonly ImportCost[]>>
  readonly replicas: Readonly<Record<Form, readonly ReplicaStart[]>>
}

/** Measures in turns, and prints a table. */
export async function measureStart(rounds: number): Promise<StartSamples> {
  const imports = Object.fromEntries(NAMES.map((name) => [name, []])) as unknown as Record<Subject, ImportCost[]>
  const replicas: Record<Form, ReplicaStart[]> = { packages: [], bundle: [] }
  await using starter = await ReplicaStarter.create()
  for (let round = 0; round < rounds; round++) {
    for (const name of NAMES) imports[name].push(await importCost(SUBJECTS[name]))
    for (const form of FORMS) replicas[form].push(await starter.start(form))
  }
  const samples = { imports, replicas }
  print(samples)
  return samples
}

function print({ imports, replicas }: StartSamples): void {
  console.log(SUMMARY_HEAD)
  for (const name of NAMES) console.log(summary(`import ${name}`, importMs(imports[name])))
  for (const form of FORMS) {
    console.log(summary(`process start to candidate, ${form}`, candidateMs(replicas[form])))
  }
  console.log(SUMMARY_HEAD.replace('ms', 'MB'))
  for (const name of NAMES) console.log(summary(`RSS after import ${name}`, importMb(imports[name])))
  for (const form of FORMS) console.log(summary(`RSS of a follower, ${form}`, followerMb(replicas[form])))
}

/** The medians. */
export function startFigures({ imports, replicas }: StartSamples): Figures {
  const { tenure, core, node, 'client-node': clientNode } = imports
  const figures = {
    import_ms: median(importMs(tenure)),
    process_start_to_candidate_p50_ms: median(candidateMs(replicas.packages)),
    rss_follower_mb: median(followerMb(replicas.packages)),
    'bundle.process_start_to_candidate_p50_ms': median(candidateMs(replicas.bundle)),
    'bundle.rss_follower_mb': median(followerMb(replicas.bundle)),
    import_core_ms: median(importMs(core)),
    import_client_node_ms: median(importMs(clientNode)),
    rss_node_mb: median(importMb(node)),
    rss_core_mb: median(importMb(core)),
    rss_client_node_mb: median(importMb(clientNode)),
    rss_import_mb: median(importMb(tenure)),
  }
  const parts = NAMES.flatMap((name) => [
    [`parts.${name}.import_ms`, median(importMs(imports[name]))],
    [`parts.${name}.rss_mb`, median(importMb(imports[name]))],
  ])
  return {
    ...figures,
    import_ratio_to_client_node: figures.import_ms / figures.import_client_node_ms,
    rss_follower_ratio_to_node: figures.rss_follower_mb / figures.rss_node_mb,
    ...Object.fromEntries(parts),
  }
}

function importMs(costs: readonly ImportCost[]): number[] {
  return costs.map(({ ms }) => ms)
}

function importMb(costs: readonly ImportCost[]): number[] {
  return costs.map(({ bytes }) => bytes / 1e6)
}

function candidateMs(starts: readonly ReplicaStart[]): number[] {
  return starts.map((start) => start.candidateMs)
}

function followerMb(starts: readonly ReplicaStart[]): number[] {
  return starts.map(({ followerBytes }) => followerBytes / 1e6)
}

function median(samples: readonly number[]): number {
  return percentile(samples, 0.5)
}
