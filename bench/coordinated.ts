import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { judge } from './coordinated/bounds.ts'
import { measureClientGo, measureQuietClientGo } from './coordinated/client-go.ts'
import { measureCrashes } from './coordinated/crashes.ts'
import { measureFlaps, measureIdleWrites } from './coordinated/quiet.ts'
import { measureRounds, roundFigures } from './coordinated/rounds.ts'
import { type Figures, percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'

/*
 * Coordinated election on a real API server with etcd on disk: how long the best candidate takes to lead.
 *
 * - `peers`: candidates of Tenure, with the feature gate of the API server off
 * - `server`: the same candidates with the gate on, under the controller of the API server
 * - `client_go`: candidates of client-go under that controller, with the timing of Kubernetes components
 *
 * Exits with 1 if a figure misses its bound, unless `--lenient` is given, for a busy machine.
 */
const MODES = ['peers', 'server', 'client_go'] as const

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    /** How long the quiet fleets are watched. */
    minutes: { type: 'string', default: '1' },
    /** The modes to run, for example `peers,server`. */
    only: { type: 'string', default: MODES.join(',') },
    json: { type: 'string' },
    lenient: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}
const minutes = Number(values.minutes)
if (!(minutes > 0)) {
  console.error(`Expected \`--minutes\` to be a number above 0, got \`${values.minutes}\``)
  process.exit(2)
}
const wanted = values.only.split(',')
if (!wanted.every((name) => MODES.some((mode) => mode === name))) {
  console.error(`Expected \`--only\` to name some of ${MODES.join(', ')}, got \`${values.only}\``)
  process.exit(2)
}

const [loadBefore = 0] = loadavg()
console.log(`load of the machine: ${loadBefore.toFixed(2)}`)
console.log(SUMMARY_HEAD)
const measured: Figures[] = []
if (wanted.includes('peers')) {
  await using server = await startControlPlane({ durable: true })
  measured.push(await measureTenure(server, 'peers'))
}
if (wanted.includes('server') || wanted.includes('client_go')) {
  await using server = await startControlPlane({
    durable: true,
    featureGates: { CoordinatedLeaderElection: true },
    runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
  })
  if (wanted.includes('server')) measured.push(await measureTenure(server, 'server'))
  if (wanted.includes('client_go')) measured.push(await measurePeers(server))
}
const figures: Figures = Object.assign({ load_before: loadBefore, load_after: loadavg()[0] ?? 0 }, ...measured)
await writeFigures(values.json, figures)
console.log()
if (judge(figures).length > 0 && !values.lenient) process.exitCode = 1

async function measureTenure(server: ControlPlane, mode: 'peers' | 'server'): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
  const place = { server, kubeConfigPath: join(folder, 'kubeconfig') }
  try {
    await server.writeKubeConfig(place.kubeConfigPath)
    const { samples, floor, furtherChanges } = await measureRounds(server, mode, rounds)
    const ofRounds = roundFigures(mode, samples)
    console.log(summary(`${mode}: floor of a handover`, floor))
    const crashes = await measureCrashes(place, mode, rounds)
    console.log(summary(`${mode}: crash proved`, crashes))
    // Both mostly wait.
    const quiet = await Promise.all([measureFlaps(server, mode, minutes), measureIdleWrites(place, mode, minutes)])
    return {
      ...ofRounds,
      ...Object.assign({}, ...quiet),
      [`${mode}.further_changes`]: furtherChanges,
      [`${mode}.floor_p50_ms`]: percentile(floor, 0.5),
      [`${mode}.crash_proved_p50_ms`]: percentile(crashes, 0.5),
      [`${mode}.crash_proved_p99_ms`]: percentile(crashes, 0.99),
    }
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 })
  }
}

/** A round of client-go takes a minute, so there is one for ten of Tenure. */
async function measurePeers(server: ControlPlane): Promise<Figures> {
  // They mostly wait, so both run at once.
  const [samples, quiet] = await Promise.all([
    measureClientGo(server, Math.max(1, Math.round(rounds / 10))),
    measureQuietClientGo(server, minutes),
  ])
  const crashes = samples.map(({ crash }) => crash)
  const ofRounds = roundFigures('client_go', samples)
  console.log(summary('client_go: crash', crashes))
  return {
    ...ofRounds,
    'client_go.crash_proved_p50_ms': percentile(crashes, 0.5),
    'client_go.crash_proved_p99_ms': percentile(crashes, 0.99),
    ...quiet,
  }
}
