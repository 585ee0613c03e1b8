import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
import { NAMESPACE } from './coordinated/candidate.ts'
import { type Figures, percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { createFloor } from './handover/floor.ts'
import { measureTakeovers, type Members } from './life/fleet.ts'
import { operatorLibMembers, tenureMembers } from './life/members.ts'

/*
 * Leaders for life on a real API server with etcd on disk and the real garbage collector: how long nobody leads after a leader was killed
 * together with its Pod.
 *
 * - `life_takeover`: the kubelet reports that the container has terminated, and then the Pod is deleted
 * - `life_takeover_unproved`: the Pod is deleted by force, with no word of its container; Tenure then waits for `leaseDurationMs`, 15 s
 * - `floor`: the least that a handover takes on this API server, by bare clients: a write, its news, and a write
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    json: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}

const [loadBefore = 0] = loadavg()
console.log(`load of the machine: ${loadBefore.toFixed(2)}`)
console.log(SUMMARY_HEAD)
const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
await using server = await startControlPlane({ durable: true })
await server.startControllerManager({ controllers: ['garbage-collector-controller'] })
const kubeConfigPath = join(folder, 'kubeconfig')
await server.writeKubeConfig(kubeConfigPath)
const kinds = [
  ['', 'tenure', tenureMembers(server, kubeConfigPath)],
  ['operator_lib.', 'operator-lib', operatorLibMembers(server)],
] as const
const measured: Figures[] = [await measureFloor()]
for (const [prefix, name, members] of kinds) measured.push(await measureKind(prefix, name, members))
await rm(folder, { recursive: true, maxRetries: 5 })
const figures: Figures = Object.assign({ load_before: loadBefore, load_after: loadavg()[0] ?? 0 }, ...measured)
await writeFigures(values.json, figures)

async function measureFloor(): Promise<Figures> {
  const bare = await createFloor(server.access({ name: 'bare', groups: ['system:masters'] }), NAMESPACE)
  const samples: number[] = []
  for (let round = 0; round < rounds; round++) samples.push(await bare.round())
  bare.close()
  console.log(summary('floor of a handover', samples))
  return { floor_p50_ms: percentile(samples, 0.5) }
}

async function measureKind(prefix: string, name: string, members: Members): Promise<Figures> {
  const reported = await measureTakeovers(members, { name, rounds, isReported: true })
  console.log(summary(`${name}: takeover`, reported))
  // It mostly waits, so there are fewer.
  const few = Math.max(1, Math.round(rounds / 3))
  const unproved = await measureTakeovers(members, { name: `${name}-unproved`, rounds: few, isReported: false })
  console.log(summary(`${name}: takeover, unproved`, unproved))
  return {
    [`${prefix}life_takeover_p50_ms`]: percentile(reported, 0.5),
    [`${prefix}life_takeover_p99_ms`]: percentile(reported, 0.99),
    [`${prefix}life_takeover_unproved_p50_ms`]: percentile(unproved, 0.5),
  }
}
