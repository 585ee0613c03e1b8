import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { HealthRegistry } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { createManager, type ProcessManager, type Term } from 'tenure'
import { writeFigures } from '../../bench/figures.ts'
import { assertTraces, traceInto } from '../traces/assert-traces.ts'
import { ApiServer, type ApiServerKind, REPLICA } from './api-server.ts'
import { type Census, type CensusOptions, countHandles, takeCensus } from './census.ts'
import { CensusJournal } from './census-journal.ts'
import { Worker } from './controllers.ts'
import { plants } from './plants.ts'
import { plot } from './plot.ts'
import { Ready } from './ready.ts'
import { isUndecided, judge, objectsOf, type Verdict } from './verdict.ts'

/*
 * Runs many terms in one process, one after the other. Each has 10 controllers of 20 tasks with metrics, health checks, gated clients and
 * watches. Fails if a term leaves anything behind. `--plant KIND` plants a leak in every term, and must fail. Runs up to four times
 * as many terms as requested while the heap scatters too much to decide.
 */
const LONGEST_GOODBYE_MS = 5000
/** The terms before the first census, in which code is compiled, connections are opened, and tables grow. */
const WARM_UP_TERMS = 100
/** The longest run, as a multiple of the terms that were requested. */
const LONGEST = 4
const LOOKS = 200
const SHORTEST_STEP = 20
/** The interval in terms between counts of objects, which stop the process for a second. */
const OBJECT_COUNTS = 25
/** Between two terms another holder has the lease, so that a census can examine a follower. */
const TIME_TO_SEIZE_MS = 1000
const LEASE = 'soak'

const { values } = parseArgs({
  options: {
    terms: { type: 'string', default: '10000' },
    controllers: { type: 'string', default: '10' },
    plant: { type: 'string', default: 'none' },
    'api-server': { type: 'string', default: 'embedded' },
    json: { type: 'string' },
    svg: { type: 'string' },
  },
})
const wanted = Number(values.terms)
if (!Number.isInteger(wanted) || wanted < 100) refuse('--terms', 'a whole number of at least 100', values.terms)
const controllers = Number(values.controllers)
if (!Number.isInteger(controllers) || controllers < 1)
  refuse('--controllers', 'a whole number of at least 1', values.controllers)
const plant = plants[values.plant] ?? refuse('--plant', `one of ${Object.keys(plants).join(', ')}`, values.plant)
const kind = values['api-server']
if (!isApiServerKind(kind)) refuse('--api-server', '`embedded` or `real`', kind)

await openStream()
const handlesBefore = countHandles()
const startedAt = performance.now()
const traces = await mkdtemp(join(tmpdir(), 'tenure-soak-'))
process.once('exit', () => rmSync(traces, { recursive: true, force: true }))
const { censuses, terms } = await soak(kind)
const left = await whatStays()
const exitCode = await report(judge(censuses, terms))
await assertTraces(traces)
// A leak may keep the process alive.
process.exit(exitCode)

interface Soak {
  readonly censuses: readonly Census[]
  readonly terms: number
}

async function soak(kind: ApiServerKind): Promise<Soak> {
  await using apiServer = await ApiServer.start(kind)
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(apiServer.kubeConfig)
  const health = new HealthRegistry()
  const manager = createManager({
    identity: REPLICA,
    lease: { name: LEASE, namespace: 'default' },
    kubeConfig,
    ops: { host: '127.0.0.1', port: 0 },
    signals: false,
    logger: silentLogger,
    env: traceInto(traces, REPLICA),
    argv: [],
  })
  const failed = new Promise<never>((_resolve, reject) =>
    manager.on((event) => {
      if (event.kind === 'controller-failed') reject(new Error(`${event.controller} failed`, { cause: event.error }))
    }),
  )
  manager.livez.add(health)
  const ready = new Ready(controllers)
  const port = Number(new URL(kubeConfig.getCurrentCluster()?.server ?? '').port)
  for (let index = 0; index < controllers; index++) {
    const onReady = () => ready.arrived()
    const plantIn = (term: Term) => (index === 0 ? plant({ term, port, health }) : undefined)
    const options = {
      name: `worker-${index}`,
      kubeConfig,
      writes: index < 4,
      watches: index < 2,
      onReady,
      plant: plantIn,
    }
    manager.register(() => new Worker(options))
  }
  const running = manager.start()
  const soaked = await Promise.race([runTerms({ manager, apiServer, ready }), failed])
  await manager.stop()
  await running
  return soaked
}

interface Stage {
  readonly manager: ProcessManager
  readonly apiServer: ApiServer
  readonly ready: Ready
}

async function runTerms(stage: Stage): Promise<Soak> {
  using journal = new CensusJournal()
  const looks = Math.max(SHORTEST_STEP, Math.floor(wanted / LOOKS))
  const counts = looks * Math.ceil(wanted / looks / OBJECT_COUNTS)
  let terms = wanted
  for (let term = 1 - WARM_UP_TERMS; term <= terms; term++) {
    await stage.ready.all()
    const isLooked = term >= 0 && term % looks === 0
    const { kind } = await stage.manager.stepDown({ cooldownMs: isLooked ? TIME_TO_SEIZE_MS : 0 })
    if (kind !== 'stepped-down') throw new Error(`Expected term ${term} to end by a step-down, got ${kind}`)
    if (isLooked) journal.add(await look(stage, { term, withObjects: term % counts === 0 }))
    if (term === terms && terms < LONGEST * wanted && isUndecided(judge(journal.read(), terms))) terms += wanted
  }
  return { censuses: journal.read(), terms }
}

async function look({ manager, apiServer }: Stage, options: CensusOptions): Promise<Census> {
  await apiServer.setHolder(LEASE, 'somebody')
  const census = await takeCensus(manager, options)
  if (process.stderr.isTTY) process.stderr.write(`\r${census.term} terms, ${(census.heapBytes / 1e6).toFixed(2)} MB `)
  await apiServer.setHolder(LEASE, '')
  return census
}

/** Opens a stream. With the first stream, libuv opens a reserve descriptor, which it keeps. */
async function openStream(): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

/** The handles that remain after everything has ended. */
async function whatStays(): Promise<readonly (readonly [name: string, count: number])[]> {
  const find = () =>
    Object.entries(countHandles())
      .map(([name, count]) => [name, count - (handlesBefore[name] ?? 0)] as const)
      .filter(([, more]) => more > 0)
  for (let waited = 0; waited < LONGEST_GOODBYE_MS && find().length > 0; waited += 50) await sleep(50)
  return find()
}

async function report(verdict: Verdict): Promise<number> {
  const { heap, objectsPerTerm, deltas, rssGrowthBytes } = verdict
  const findings = [
    ...verdict.findings,
    ...left.map(([name, count]) => `${name}: ${count} more after the end than before the start`),
  ]
  const deltaOf = (prefix: string) =>
    Object.entries(deltas).reduce(
      (total, [name, delta]) => total + (name.startsWith(prefix) ? Math.max(0, delta) : 0),
      0,
    )
  const elapsedMs = performance.now() - startedAt
  const figures = {
    terms,
    heap_bytes_per_term: heap.perTerm,
    heap_bytes_per_term_ub95: heap.upperBound95,
    objects_per_term: objectsPerTerm['objects'] ?? Number.NaN,
    leaks: findings.length,
    handles_delta: deltaOf('handle.'),
    descriptors_delta: deltaOf('descriptors'),
    listeners_delta: deltaOf('listeners.'),
    metrics_delta: deltaOf('metrics.'),
    health_delta: deltaOf('health.'),
    rss_growth_mib: rssGrowthBytes / 2 ** 20,
    ms_per_term: elapsedMs / terms,
    samples: censuses.length,
  }
  for (const [name, value] of Object.entries(figures)) console.log(name.padEnd(28) + value.toFixed(2).padStart(14))
  const objects = objectsOf(censuses, 'objects').map(([, count]) => count)
  console.log(`objects ${objects.join(' ')}`)
  for (const finding of findings) console.log(`LEFT BEHIND: ${finding}`)
  await writeFigures(values.json, figures)
  if (values.svg !== undefined) await writeFile(values.svg, draw())
  return findings.length === 0 ? 0 : 1
}

function draw(): string {
  const mebibytes = (value: number) => `${(value / 2 ** 20).toFixed(2)} MiB`
  return plot(`${terms} terms, ${controllers} controllers, 20 tasks each`, [
    { name: 'heap', points: censuses.map(({ term, heapBytes }) => [term, heapBytes]), format: mebibytes },
    { name: 'RSS', points: censuses.map(({ term, rssBytes }) => [term, rssBytes]), format: mebibytes },
    { name: 'objects', points: objectsOf(censuses, 'objects'), format: String },
  ])
}

function isApiServerKind(kind: string): kind is ApiServerKind {
  return kind === 'embedded' || kind === 'real'
}

function refuse(option: string, what: string, value: string): never {
  console.error(`Expected \`${option}\` to be ${what}, got \`${value}\``)
  process.exit(2)
}
