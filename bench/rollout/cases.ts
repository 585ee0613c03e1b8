import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, percentile, summary } from '../figures.ts'
import { Fleet, type Rollout, type RolloutOptions } from './fleet.ts'
import type { FleetPlace, Program } from './replica.ts'

/** A fleet of replica processes that is rolled out again and again. */
export interface RolloutCase {
  readonly id: string
  readonly program: Program
  readonly size: number
  readonly rollout: RolloutOptions
  /** The time from the end of one rollout to the next. */
  readonly waitMs: number
  /** The part of the rounds that it gets. @default 1 */
  readonly share?: number
}

const SURGE: RolloutOptions = { order: 'surge', startAfterMs: 2000, probeAfterMs: 1000 }
const AT_ONCE: RolloutOptions = { order: 'surge', startAfterMs: 0, probeAfterMs: 0 }
const ORDERED: RolloutOptions = { order: 'ordered', startAfterMs: 2000, probeAfterMs: 1000 }
const three = { size: 3, rollout: SURGE, waitMs: 5000 } as const
const few = { share: 1 / 4 } as const

/** Fleets of three of one program, under the prefix `id`. */
function threeOf(id: string, program: Program) {
  return {
    surge: { ...three, id, program },
    startAtOnce: { ...three, id: `${id}.start_at_once`, program, rollout: AT_ONCE },
    ordered: { ...three, ...few, id: `${id}.ordered`, program, rollout: ORDERED },
    after65s: { ...three, ...few, id: `${id}.after_65s`, program, waitMs: 65_000 },
  } satisfies Record<string, RolloutCase>
}

/** The cases of Tenure. */
export const OURS = {
  ...threeOf('rollout3', 'tenure'),
  rollout10: { ...three, ...few, id: 'rollout10', program: 'tenure', size: 10 },
  slowApi: { ...three, ...few, id: 'slow_api', program: 'tenure' },
} as const satisfies Record<string, RolloutCase>

/** The same fleets of other electors. */
export const PEERS = {
  clientGo: threeOf('peers.client_go', 'client-go-elector'),
  controllerRuntime: threeOf('peers.controller_runtime', 'controller-runtime-manager'),
} as const

/** A fleet of bare electors. */
export const BARE: RolloutCase = { ...three, ...few, id: 'floor.rollout3', program: 'bare' }

/** Rolls a fleet out. */
export async function runCase(
  { id, program, size, rollout, waitMs, share = 1 }: RolloutCase,
  place: Omit<FleetPlace, 'lease'>,
  rounds: number,
): Promise<readonly Rollout[]> {
  const lease = id.replaceAll(/[._]/g, '-')
  await using fleet = await Fleet.start(program, { ...place, lease }, { size, random: Math.random })
  const rollouts: Rollout[] = []
  for (let round = 0; round < Math.ceil(rounds * share); round++) {
    await sleep(waitMs)
    rollouts.push(await fleet.rollOut(rollout))
  }
  console.log(`${summary(id, leaderless(rollouts))}   changes ${changes(rollouts).join(' ')}`)
  return rollouts
}

/** The figures of rollouts, under the prefix `id`. */
export function rolloutFigures(id: string, rollouts: readonly Rollout[]): Figures {
  return {
    [`${id}.changes_max`]: Math.max(...changes(rollouts)),
    [`${id}.changes_p50`]: percentile(changes(rollouts), 0.5),
    [`${id}.changes_mean`]: changes(rollouts).reduce((sum, count) => sum + count, 0) / rollouts.length,
    [`${id}.leaderless_p50_ms`]: percentile(leaderless(rollouts), 0.5),
    [`${id}.leaderless_p99_ms`]: percentile(leaderless(rollouts), 0.99),
    [`${id}.rollouts`]: rollouts.length,
    [`${id}.ends_with_old`]: rollouts.filter(({ endsWithNew }) => !endsWithNew).length,
  }
}

function leaderless(rollouts: readonly Rollout[]): readonly number[] {
  return rollouts.map(({ leaderlessMs }) => leaderlessMs)
}

function changes(rollouts: readonly Rollout[]): readonly number[] {
  return rollouts.map((rollout) => rollout.changes)
}
