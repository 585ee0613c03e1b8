import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from '../coordinated/pod.ts'
import { Turns } from '../rollout/turns.ts'

/** A replica in a Pod that stands for a ConfigMap of leaders for life. */
interface Member {
  readonly pod: Pod
  /** Resolves when it follows. */
  readonly follows: () => Promise<void>
  /** Resolves with the time at which its term begins, on {@link Members.now}. */
  readonly leads: () => Promise<number>
  /** Kills its process. Resolves when it is gone. */
  readonly kill: () => Promise<void>
}

/** How to make the replicas of one kind. */
export interface Members {
  readonly create: (identity: string, lease: string) => Promise<Member>
  /** The clock of the replicas, in milliseconds. */
  readonly now: () => number
  /** How long a follower waits before the leader is killed. */
  readonly settleMs: number
  /** How many fleets there are beside each other. */
  readonly lanes: number
}

/** What becomes of a leader. */
export interface Takeovers {
  /** Begins the names of the ConfigMaps. */
  readonly name: string
  readonly rounds: number
  /** Whether the kubelet reports that the container has terminated before the Pod is deleted. Otherwise the Pod is deleted by force. */
  readonly isReported: boolean
}

/** A takeover that is quick has ended by then. */
const QUIET_MS = 100

/** Kills leaders together with their Pods. Returns the milliseconds from the first word of the kubelet, or the deletion, to the next term. */
export async function measureTakeovers(members: Members, takeovers: Takeovers): Promise<readonly number[]> {
  const turns = new Turns()
  const samples: number[] = []
  let begun = 0
  const lane = async (_: unknown, index: number) => {
    await sleep(index * 700)
    const lease = `${takeovers.name}-${index}`
    let leader = await members.create(`${lease}-0`, lease)
    await leader.leads()
    for (let round = 1; begun < takeovers.rounds; round++) {
      begun++
      const follower = await members.create(`${lease}-${round}`, lease)
      await follower.follows()
      await sleep(members.settleMs)
      samples.push(await takeOver(members, { leader, follower, turns, isReported: takeovers.isReported }))
      leader = follower
    }
    await leader.kill()
    await leader.pod.delete()
  }
  await Promise.all(Array.from({ length: Math.min(members.lanes, takeovers.rounds) }, lane))
  return samples
}

async function takeOver(
  { now }: Members,
  pair: { readonly leader: Member; readonly follower: Member; readonly turns: Turns; readonly isReported: boolean },
): Promise<number> {
  const { leader, follower, turns, isReported } = pair
  await leader.kill()
  const began = follower.leads()
  // Only one fleet at a time begins, so that the processes of one do not slow down the takeover of another that is quick.
  const at = await turns.take(async () => {
    const reportedAt = now()
    if (isReported) await leader.pod.terminated()
    await leader.pod.delete()
    await sleep(QUIET_MS)
    return reportedAt
  })
  return (await began) - at
}
