import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
import { assertTraces } from '../test/traces/assert-traces.ts'
import { type Figures, SUMMARY_HEAD, writeFigures } from './figures.ts'
import { judge } from './rollout/bounds.ts'
import { writeDocuments } from './rollout/documents.ts'
import { ALONE, type Bench, LANES, type Part } from './rollout/parts.ts'
import { SlowWrites } from './rollout/slow-writes.ts'
import { Turns } from './rollout/turns.ts'

/*
 * The effect of a rollout on a lease: the number of leader changes, and the time without a leader. Replicas are processes on a real API
 * server with etcd on disk. They are replaced in the order of a Deployment with a surge of one, and of a StatefulSet. An independent watch
 * of the lease counts. client-go and controller-runtime run the same rollouts with the timing of Kubernetes components.
 *
 * Other parts measure what a rollout consists of: replicas that have just begun to follow, standbys that have ended, slow writes, foreign
 * leaders, fifty followers, and the start of a process.
 *
 * Exits with 1 if a figure misses its bound, unless `--lenient` is given, for a busy machine.
 */
const USER = { name: 'bench', groups: ['system:masters'] }
const SLOW_WRITE_MS = 100

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    /** The parts to run, for example `rollout3,peers`. */
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    /** Writes the tables of the documents. */
    readme: { type: 'boolean', default: false },
    lenient: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}
const known = [...LANES.flat(), ...ALONE].map(({ id }) => id)
const wanted = values.only === '' ? known : values.only.split(',')
if (!wanted.every((part) => known.some((id) => isPartOf(id, part)))) {
  console.error(`Expected \`--only\` to name some of ${known.join(', ')}, got \`${values.only}\``)
  process.exit(2)
}

const isWanted = ({ id }: Part) => wanted.some((name) => isPartOf(id, name))
const tabled = LANES.flat()
if (values.readme && !tabled.every(isWanted)) {
  const ids = tabled.map(({ id }) => id).join(', ')
  console.error(`Expected \`--only\` to name at least ${ids} for \`--readme\`, got \`${values.only}\``)
  process.exit(2)
}

const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
try {
  const figures = await run()
  await writeFigures(values.json, figures)
  if (values.readme) await writeDocuments(figures)
  console.log()
  const missed = judge(figures)
  if (missed.length > 0 && !values.lenient) process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, maxRetries: 5 })
}

async function run(): Promise<Figures> {
  await using server = await startControlPlane({ durable: true })
  const direct = server.access(USER)
  await using proxy = await SlowWrites.start(direct, SLOW_WRITE_MS)
  const traces = join(folder, 'traces')
  await mkdir(traces)
  const shared = { server, traces, namespace: 'default', turns: new Turns() }
  const placeAt = async (url: string) => {
    const kubeConfigPath = join(folder, `kubeconfig-${new URL(url).port}`)
    await writeFile(kubeConfigPath, server.kubeConfig(USER, url), { mode: 0o600 })
    return { ...shared, access: { ...direct, url }, kubeConfigPath }
  }
  const bench: Bench = {
    place: await placeAt(direct.url),
    slowPlace: await placeAt(proxy.url),
    rounds,
    startAudited: () => startControlPlane({ durable: true, auditLevel: 'RequestResponse' }),
  }
  const [loadBefore = 0] = loadavg()
  console.log(`load of the machine: ${loadBefore.toFixed(2)}`)
  console.log(SUMMARY_HEAD)
  const lanes = await Promise.all(LANES.map((parts) => runParts(parts, bench)))
  const alone = await runParts(ALONE, bench)
  await assertTraces(traces, { atLeast: 0 })
  return Object.assign({ load_before: loadBefore, load_after: loadavg()[0] }, ...lanes, alone)
}

async function runParts(parts: readonly Part[], bench: Bench): Promise<Figures> {
  const figures = {}
  for (const part of parts) if (isWanted(part)) Object.assign(figures, await part.run(bench))
  return figures
}

/** Whether a part has this name or belongs to it. */
function isPartOf(id: string, name: string): boolean {
  return id === name || id.startsWith(`${name}.`)
}
