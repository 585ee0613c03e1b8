import type { ControlPlane } from '@tenure/test-control-plane'
import { type Figures, percentile, summary } from '../figures.ts'
import { measureStart, startFigures } from '../start/measure-start.ts'
import { BARE, OURS, PEERS, type RolloutCase, rolloutFigures, runCase } from './cases.ts'
import { measureFifty } from './fifty.ts'
import { measureFloor } from './floor.ts'
import { measureFresh } from './fresh.ts'
import type { FleetPlace } from './replica.ts'
import { measureStaleReads } from './stale.ts'
import { measureSuccession, SUCCESSIONS, type Succession } from './succession.ts'

/** What the parts share. */
export interface Bench {
  readonly place: Omit<FleetPlace, 'lease'>
  /** The same behind a proxy that holds writes back. */
  readonly slowPlace: Omit<FleetPlace, 'lease'>
  readonly rounds: number
  /** Starts another control plane, whose audit log keeps the bodies of requests. */
  readonly startAudited: () => Promise<ControlPlane>
}

/** A part of the bench, which can run alone. */
export interface Part {
  readonly id: string
  run(bench: Bench): Promise<Figures>
}

const ofRollouts = (each: RolloutCase): Part => ({
  id: each.id,
  run: async ({ place, rounds }) => rolloutFigures(each.id, await runCase(each, place, rounds)),
})

const median = (samples: readonly number[]) => percentile(samples, 0.5)

/** More than 2,000 handovers in a usual run. */
const HANDOVERS_PER_ROUND = 170

/** How many samples a part gets that is not a rollout. */
const USUAL = 0.5

/** Lanes run beside each other, because they mostly wait; they take turns where something is measured. The parts of a lane follow each other. */
export const LANES: readonly (readonly Part[])[] = [
  [{ id: 'floor', run: floor }, ofRollouts(OURS.surge)],
  [ofRollouts(OURS.rollout10), { id: 'slow_api', run: slowApi }, ofRollouts(BARE)],
  [ofRollouts(OURS.startAtOnce), ofRollouts(OURS.ordered)],
  [ofRollouts(OURS.after65s)],
  [
    { id: 'ghosts', run: ghosts },
    { id: 'after_foreign_release', run: afterForeignRelease },
  ],
  [{ id: 'peers', run: peers }],
  ...Object.values(PEERS).flatMap(({ ordered, after65s }) => [[ofRollouts(ordered)], [ofRollouts(after65s)]]),
]

/** The parts that run afterwards, each alone. */
export const ALONE: readonly Part[] = [
  { id: 'fresh2s', run: fresh2s },
  { id: 'fifty', run: fifty },
  { id: 'start', run: start },
  { id: 'stale_reads', run: ({ place, rounds }) => measureStaleReads(place, HANDOVERS_PER_ROUND * rounds) },
]

async function floor({ place, rounds }: Bench): Promise<Figures> {
  const direct = place.access
  const setup = { access: direct, direct, namespace: place.namespace, lease: 'floor', rounds: rounds * 5 }
  const { handovers, leaderless } = await place.turns.take(() => measureFloor(setup))
  console.log(summary('floor: release, event, acquire', handovers))
  console.log(summary('floor: event, acquire', leaderless))
  return { 'floor.handover_p50_ms': median(handovers), 'floor.leaderless_p50_ms': median(leaderless) }
}

async function peers({ place, rounds }: Bench): Promise<Figures> {
  const cases = Object.values(PEERS)
  const runs = cases.map(async ({ surge, startAtOnce }) => ({
    surge: await runCase(surge, place, rounds),
    startAtOnce: await runCase(startAtOnce, place, rounds),
  }))
  const results = await Promise.all(runs)
  const [clientGo] = results
  const each = cases.flatMap(({ surge, startAtOnce }, index) => [
    rolloutFigures(surge.id, results[index]?.surge ?? []),
    rolloutFigures(startAtOnce.id, results[index]?.startAtOnce ?? []),
  ])
  const all = results.flatMap(({ surge }) => surge)
  // client-go is faster than controller-runtime, which does more at its start.
  const fastest = rolloutFigures('peers.start_at_once', clientGo?.startAtOnce ?? [])
  return Object.assign({}, rolloutFigures('peers', all), fastest, ...each)
}

async function slowApi({ place, slowPlace, rounds }: Bench): Promise<Figures> {
  const { id } = OURS.slowApi
  const rollouts = await runCase(OURS.slowApi, slowPlace, rounds)
  const setup = { access: slowPlace.access, direct: place.access, namespace: place.namespace, lease: 'slow-floor' }
  const { leaderless } = await measureFloor({ ...setup, rounds })
  console.log(summary('floor of slow_api', leaderless))
  const figures = rolloutFigures(id, rollouts)
  const floorMs = median(leaderless)
  return {
    ...figures,
    [`${id}.floor_p50_ms`]: floorMs,
    [`${id}.leaderless_p50_ratio`]: median(rollouts.map(({ leaderlessMs }) => leaderlessMs)) / floorMs,
  }
}

async function succession(id: string, { place, rounds }: Bench): Promise<readonly Succession[]> {
  const found = SUCCESSIONS.find((each) => each.id === id)
  if (found === undefined) throw new Error(`Expected \`id\` to be of a succession, got \`${id}\``)
  const samples = await measureSuccession(found, place, Math.ceil(rounds * USUAL))
  console.log(summary(id, leaderlessOf(samples)))
  return samples
}

function leaderlessOf(samples: readonly Succession[]): readonly number[] {
  return samples.map(({ leaderlessMs }) => leaderlessMs)
}

async function ghosts(bench: Bench): Promise<Figures> {
  const bare = leaderlessOf(await succession('floor.processes', bench))
  const alive = leaderlessOf(await succession('standby_alive', bench))
  const stopped = await succession('standby_stopped', bench)
  const killed = leaderlessOf(await succession('standby_killed', bench))
  return {
    ghosts_named: stopped.filter(({ isGhostNamed }) => isGhostNamed).length,
    ghosts_killed_cost_ms: median(killed) - median(alive),
    'standby_alive.leaderless_p50_ms': median(alive),
    'standby_stopped.leaderless_p50_ms': median(leaderlessOf(stopped)),
    'standby_killed.leaderless_p50_ms': median(killed),
    'standby_killed.leaderless_max_ms': Math.max(...killed),
    'floor.processes.leaderless_p50_ms': median(bare),
  }
}

async function afterForeignRelease(bench: Bench): Promise<Figures> {
  const samples = leaderlessOf(await succession('after_foreign_release', bench))
  return { after_foreign_release_p50_ms: median(samples), after_foreign_release_max_ms: Math.max(...samples) }
}

async function fresh2s({ place, rounds }: Bench): Promise<Figures> {
  const { floor: floorMs, bySize } = await measureFresh(place.server, place.namespace, rounds)
  console.log(summary('floor of fresh2s', floorMs))
  const figures: Record<string, number> = { 'fresh2s.floor_p50_ms': median(floorMs) }
  for (const [size, samples] of bySize) {
    console.log(summary(`fresh2s, fleet of ${size}`, samples))
    figures[`fresh2s.n${size}.handover_p50_ms`] = median(samples)
    figures[`fresh2s.n${size}.handover_p50_ratio`] = median(samples) / median(floorMs)
  }
  figures['fresh2s.handover_p50_ratio'] = median([...bySize.values()].flat()) / median(floorMs)
  return figures
}

async function fifty({ place, rounds, startAudited }: Bench): Promise<Figures> {
  await using server = await startAudited()
  const measured = await measureFifty(server, place.namespace, rounds)
  console.log(summary('fresh2s, fifty followers', measured.firstHandovers))
  console.log(summary('floor of fifty', measured.floor))
  const { announcements, firstAcquires, laterAcquires } = measured
  console.log(
    `writes of fifty, by start: announcements ${announcements.join(' ')}, first release ${firstAcquires.join(' ')}`,
  )
  console.log(`later releases: ${laterAcquires.join(' ')}`)
  return {
    'fresh2s.n50.handover_p50_ms': median(measured.firstHandovers),
    'fresh2s.n50.handover_p50_ratio': median(measured.firstHandovers) / median(measured.floor),
    'fifty.acquire_writes_per_release_p99': percentile([...firstAcquires, ...laterAcquires], 0.99),
    'fifty.acquire_writes_at_first_release_max': Math.max(...firstAcquires),
    'fifty.announcement_writes_per_start': Math.max(...announcements),
    'fifty.announcement_writes_per_start_p50': median(announcements),
  }
}

async function start({ rounds }: Bench): Promise<Figures> {
  return startFigures(await measureStart(Math.ceil(rounds * USUAL)))
}
