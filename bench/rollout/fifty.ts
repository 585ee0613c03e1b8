import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry, ControlPlane } from '@tenure/test-control-plane'
import { createFloor } from '../handover/floor.ts'
import { countWrites, herdOf } from '../load/herd.ts'
import { StandingFleet } from './standing-fleet.ts'

const FOLLOWERS = 50
/** How long the followers have followed when the first leader steps down, in milliseconds. The floor rests for as long. */
const AGE_MS = 2000
/** The releases after the first one of each fleet. */
const FURTHER_RELEASES = 3

/** What fifty followers of one process cost, and how fast they are when they have just started. */
export interface Fifty {
  /** For each start of the fifty: the writes until the first release of followers that lead nothing, conflicts included. */
  readonly announcements: readonly number[]
  /** For each start: the acquiring writes after its first release. */
  readonly firstAcquires: readonly number[]
  /** The same after later releases. */
  readonly laterAcquires: readonly number[]
  /** The first handover after each start, in milliseconds. */
  readonly firstHandovers: readonly number[]
  /** The handover of bare clients while as many watch, because all watches share this process and the API server. */
  readonly floor: readonly number[]
}

/** Starts fifty followers at once, again and again. The server has to keep the bodies of requests in its audit log. */
export async function measureFifty(server: ControlPlane, namespace: string, starts: number): Promise<Fifty> {
  const user = { name: 'bench', groups: ['system:masters'] }
  const floor = await createFloor(server.access(user), namespace, 'floor-of-fifty', FOLLOWERS - 1)
  const announcements: number[] = []
  const firstAcquires: number[] = []
  const laterAcquires: number[] = []
  const firstHandovers: number[] = []
  const floorMs: number[] = []
  // The first start only warms up the code of this process for the handovers; its writes count.
  for (let start = 0; start <= starts; start++) {
    const lease = `fifty-${start}`
    const setup = { lease, size: FOLLOWERS + 1, userOf: (index: number) => `${lease}-${index}` }
    await sleep(AGE_MS)
    const floorOfStart = await floor.round()
    await using fleet = await StandingFleet.start(server, setup)
    await sleep(AGE_MS)
    const before = await herdOf(server, lease)
    const first = fleet.leader ?? ''
    announcements.push(byOthers(before, first))
    const handoverMs = await fleet.stepDown()
    if (start > 0) {
      floorMs.push(floorOfStart)
      firstHandovers.push(handoverMs)
    }
    await fleet.settled()
    const after = await herdOf(server, lease)
    firstAcquires.push(countWrites(after.slice(before.length), first).acquires)
    laterAcquires.push(...(await furtherReleases(server, fleet, lease)))
  }
  floor.close()
  return { announcements, firstAcquires, laterAcquires, firstHandovers, floor: floorMs }
}

async function furtherReleases(server: ControlPlane, fleet: StandingFleet, lease: string): Promise<number[]> {
  const acquires: number[] = []
  for (let release = 0; release < FURTHER_RELEASES; release++) {
    const before = (await herdOf(server, lease)).length
    const leader = fleet.leader ?? ''
    await fleet.stepDown()
    await fleet.settled()
    acquires.push(countWrites((await herdOf(server, lease)).slice(before), leader).acquires)
  }
  return acquires
}

function byOthers(entries: readonly AuditEntry[], leader: string): number {
  return entries.filter(({ user }) => user !== leader).length
}
