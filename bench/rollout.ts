import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
import { type Figures, percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { createFloor } from './handover/floor.ts'
import { Fleet, type Rollout, type RolloutOptions } from './rollout/fleet.ts'
import { measureSuccession, SUCCESSIONS, type Succession } from './rollout/succession.ts'
import type { Program } from './rollout/replica.ts'

/*
 * The effect of a rollout on a lease: the number of leader changes, and the time without a leader. Replicas are processes on a real API
 * server. They are replaced in the order of a Deployment with a surge of one, and of a StatefulSet. An independent watch of the lease
 * counts. client-go and controller-runtime run the same rollouts with the timing of Kubernetes components.
 */
const NAMESPACE = 'default'
const WAITS_MS = { short: 5000, long: 65_000 } as const

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    lenient: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}

/** One row of the bench. */
interface Case {
  readonly id: string
  readonly program: Program
  readonly size: number
  readonly rollout: RolloutOptions
  /** The time from the end of one rollout to the next. */
  readonly waitMs: number
  readonly rounds: number
}

const SURGE: RolloutOptions = { order: 'surge', readyAfterMs: 2000 }
const AT_ONCE: RolloutOptions = { order: 'surge', readyAfterMs: 0 }
const ORDERED: RolloutOptions = { order: 'ordered', readyAfterMs: 2000 }
const few = Math.max(1, Math.round(rounds / 5))
const ours = { program: 'tenure', size: 3, waitMs: WAITS_MS.short, rounds } as const
const CASES: readonly Case[] = [
  { ...ours, id: 'rollout3', rollout: SURGE },
  { ...ours, id: 'rollout3.start_at_once', rollout: AT_ONCE },
  { ...ours, id: 'rollout3.ordered', rollout: ORDERED, rounds: few },
  { ...ours, id: 'rollout3.after_65s', rollout: SURGE, waitMs: WAITS_MS.long, rounds: few },
  { ...ours, id: 'rollout10', size: 10, rollout: SURGE, rounds: few },
  ...(['client-go-elector', 'controller-runtime-manager'] as const).flatMap((program): Case[] => [
    { ...ours, program, id: `peers.${program}`, rollout: SURGE },
    { ...ours, program, id: `peers.${program}.start_at_once`, rollout: AT_ONCE },
  ]),
]
const cases = CASES.filter(({ id }) => id.includes(values.only))
const successions = SUCCESSIONS.filter(({ id }) => id.includes(values.only))
if (cases.length + successions.length === 0) {
  const ids = [...CASES, ...SUCCESSIONS].map(({ id }) => id)
  console.error(`Expected \`--only\` to be part of one of ${ids.join(', ')}, got \`${values.only}\``)
  process.exit(2)
}

const controlPlane = await startControlPlane({ durable: true })
const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
try {
  const kubeConfigPath = join(folder, 'kubeconfig')
  await writeFile(kubeConfigPath, controlPlane.adminKubeConfig(), { mode: 0o600 })
  const place = { server: controlPlane, kubeConfigPath, namespace: NAMESPACE }
  const rollouts = await measure(kubeConfigPath)
  const samples = new Map<string, readonly Succession[]>()
  for (const each of successions) samples.set(each.id, await measureSuccession(each, place, few))
  await report(rollouts, samples, await measureFloor())
} finally {
  await controlPlane.stop()
  await rm(folder, { recursive: true, maxRetries: 5 })
}

/** Runs the fleets of Tenure one after the other, and in parallel those of the peers, which mostly wait. */
async function measure(kubeConfigPath: string): Promise<ReadonlyMap<string, readonly Rollout[]>> {
  const results = new Map<string, readonly Rollout[]>()
  const run = async (all: readonly Case[]) => {
    for (const each of all) results.set(each.id, await runCase(each, kubeConfigPath))
  }
  const isOurs = ({ program }: Case) => program === 'tenure'
  await Promise.all([run(cases.filter(isOurs)), run(cases.filter((each) => !isOurs(each)))])
  return results
}

async function runCase({ id, program, size, ...setup }: Case, kubeConfigPath: string): Promise<readonly Rollout[]> {
  const place = { server: controlPlane, kubeConfigPath, namespace: NAMESPACE, lease: id.replaceAll(/[._]/g, '-') }
  await using fleet = await Fleet.start(program, place, { size, random: Math.random })
  const rollouts: Rollout[] = []
  for (let round = 0; round < setup.rounds; round++) {
    await sleep(setup.waitMs)
    rollouts.push(await fleet.rollOut(setup.rollout))
  }
  return rollouts
}

/** The duration of a handover between bare clients, in milliseconds. */
async function measureFloor(): Promise<number> {
  const floor = await createFloor(controlPlane, NAMESPACE)
  const samples: number[] = []
  for (let round = 0; round < 50; round++) samples.push(await floor.round())
  floor.close()
  return percentile(samples, 0.5)
}

async function report(
  results: ReadonlyMap<string, readonly Rollout[]>,
  successionResults: ReadonlyMap<string, readonly Succession[]>,
  floorMs: number,
): Promise<void> {
  const named = CASES.flatMap(({ id }) => {
    const rollouts = results.get(id)
    return rollouts === undefined ? [] : [[id, rollouts] as const]
  })
  console.log(`${SUMMARY_HEAD}   changes: mean, max`)
  for (const [id, rollouts] of named) {
    const changes = rollouts.map((rollout) => rollout.changes)
    const mean = changes.reduce((total, count) => total + count, 0) / changes.length
    console.log(`${summary(id, leaderless(rollouts))}      ${mean.toFixed(2)} ${Math.max(...changes)}`)
  }
  for (const [id, samples] of successionResults) {
    const ms = samples.map(({ leaderlessMs }) => leaderlessMs)
    const ghosts = samples.filter(({ isGhostNamed }) => isGhostNamed).length
    console.log(
      `${summary(id, ms)}      ${(percentile(ms, 0.5) / floorMs).toFixed(2)} × the floor, ghosts named: ${ghosts}`,
    )
  }
  console.log(`The floor, of bare clients: ${floorMs.toFixed(2)} ms (p50)`)
  const figures = Object.assign(
    { floor_p50_ms: floorMs },
    ...named.map(([id, rollouts]) => figuresOf(id, rollouts)),
    ...[...successionResults].map(([id, samples]) => figuresOfSuccession(id, samples, floorMs)),
  ) as Figures
  await writeFigures(values.json, figures)
  judge(figures)
}

function figuresOf(id: string, rollouts: readonly Rollout[]): Figures {
  const changes = rollouts.map((rollout) => rollout.changes)
  return {
    [`${id}.changes_max`]: Math.max(...changes),
    [`${id}.changes_p50`]: percentile(changes, 0.5),
    [`${id}.leaderless_p50_ms`]: percentile(leaderless(rollouts), 0.5),
    [`${id}.leaderless_p99_ms`]: percentile(leaderless(rollouts), 0.99),
    [`${id}.ends_with_old`]: rollouts.filter(({ endsWithNew }) => !endsWithNew).length,
  }
}

function figuresOfSuccession(id: string, samples: readonly Succession[], floorMs: number): Figures {
  const p50 = percentile(
    samples.map(({ leaderlessMs }) => leaderlessMs),
    0.5,
  )
  const ghosts = samples.filter(({ isGhostNamed }) => isGhostNamed).length
  return { [`${id}_p50_ms`]: p50, [`${id}.handover_p50_ratio`]: p50 / floorMs, [`${id}.ghosts_named`]: ghosts }
}

function leaderless(rollouts: readonly Rollout[]): readonly number[] {
  return rollouts.map(({ leaderlessMs }) => leaderlessMs)
}

/** The upper bound of each figure. */
function judge(figures: Figures): void {
  const bounds: readonly (readonly [string, number])[] = [
    ['rollout3.changes_max', 1],
    ['rollout10.changes_max', 1],
    ['rollout3.leaderless_p50_ms', 15],
    ['rollout3.leaderless_p99_ms', 80],
    ['rollout3.start_at_once.leaderless_p50_ms', 15],
    ['after_foreign_release_p50_ms', 15],
    ['fresh2s.2.handover_p50_ratio', 1.5],
    ['fresh2s.3.handover_p50_ratio', 1.5],
    ['fresh2s.5.handover_p50_ratio', 1.5],
    ['standby_stopped.ghosts_named', 0],
  ]
  for (const [id, bound] of bounds) {
    const value = figures[id]
    if (value === undefined) continue
    const isMet = value <= bound
    console.log(`${id.padEnd(42)} ${value.toFixed(2).padStart(9)}   at most ${bound}${isMet ? '' : '   MISSED'}`)
    if (!isMet && !values.lenient) process.exitCode = 1
  }
}
