import { setTimeout as sleep } from 'node:timers/promises'
import { Fleet } from './fleet.ts'
import type { FleetPlace, Program } from './replica.ts'

/** A leader that is stopped once, in a fleet of its own. */
interface SuccessionCase {
  readonly id: string
  readonly leader: Program
  /** @default 'tenure' */
  readonly follower?: Program
  /** The number of followers. */
  readonly followers: number
  /** The age of the followers when the leader stops, in milliseconds. */
  readonly ageMs: number
  /** What happens to the first standby a second before the leader stops. */
  readonly standby?: 'stop' | 'kill'
}

/** The result of one stop of a leader. */
export interface Succession {
  readonly leaderlessMs: number
  /** Whether the list still named the standby that ended. */
  readonly isGhostNamed: boolean
}

/** The measured cases. */
export const SUCCESSIONS: readonly SuccessionCase[] = [
  { id: 'floor.processes', leader: 'bare', follower: 'bare', followers: 1, ageMs: 2000 },
  { id: 'standby_alive', leader: 'tenure', followers: 3, ageMs: 2000 },
  { id: 'standby_stopped', leader: 'tenure', followers: 3, ageMs: 2000, standby: 'stop' },
  { id: 'standby_killed', leader: 'tenure', followers: 3, ageMs: 2000, standby: 'kill' },
  { id: 'after_foreign_release', leader: 'client-go-elector', followers: 3, ageMs: 8000 },
]

/** Measures one case several times, each time with a new lease. */
export async function measureSuccession(
  { id, leader, follower = 'tenure', followers, ageMs, standby }: SuccessionCase,
  place: Omit<FleetPlace, 'lease'>,
  rounds: number,
): Promise<readonly Succession[]> {
  const samples: Succession[] = []
  for (let round = 0; round < rounds; round++) {
    const lease = `${id.replaceAll(/[._]/g, '-')}-${round}`
    await using fleet = await Fleet.start(leader, { ...place, lease }, { size: 1, random: Math.random })
    await fleet.join(follower, followers)
    await sleep(ageMs)
    const ended = standby === undefined ? undefined : await fleet.endStandby(standby)
    if (ended !== undefined) await sleep(1000)
    const isGhostNamed = ended !== undefined && fleet.standbys.includes(ended)
    samples.push({ leaderlessMs: await fleet.stopLeader(), isGhostNamed })
  }
  return samples
}
