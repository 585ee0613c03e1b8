import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { createFloor } from '../handover/floor.ts'
import { StandingFleet } from './standing-fleet.ts'

/** How long the followers have followed when the leader steps down, in milliseconds. */
const AGE_MS = 2000
/** The fleets of each size that age at the same time. */
const BATCH = 5

/** The sizes of the fleets, leader included, except the fleet of fifty followers. */
const SMALL_FLEETS = [2, 3, 5] as const

/** Handovers to replicas that have just begun to follow, and the floor in the same rounds, in milliseconds. */
export interface FreshHandovers {
  readonly floor: readonly number[]
  readonly bySize: ReadonlyMap<number, readonly number[]>
}

/** Measures the first handover of new fleets in this process. */
export async function measureFresh(server: ControlPlane, namespace: string, rounds: number): Promise<FreshHandovers> {
  const user = { name: 'bench', groups: ['system:masters'] }
  const floor = await createFloor(server.access(user), namespace, 'floor-of-fresh')
  const floorMs: number[] = []
  const bySize = new Map<number, number[]>(SMALL_FLEETS.map((size) => [size, []]))
  // The first batch only warms up the code of this process.
  for (let batch = -1; batch * BATCH < rounds; batch++) {
    const setups = Array.from({ length: BATCH }, (_, index) => SMALL_FLEETS.map((size) => ({ size, index }))).flat()
    const fleets = await Promise.all(
      setups.map(async ({ size, index }) => {
        const lease = `fresh-${batch}-${size}-${index}`
        const fleet = await StandingFleet.start(server, { lease, size, userOf: (number) => `fresh-${number}` })
        return { size, fleet }
      }),
    )
    await sleep(AGE_MS)
    for (const { size, fleet } of fleets) {
      const floorOfRound = await floor.round()
      const handoverMs = await fleet.stepDown()
      if (batch < 0) continue
      floorMs.push(floorOfRound)
      bySize.get(size)?.push(handoverMs)
    }
    await Promise.all(fleets.map(({ fleet }) => fleet[Symbol.asyncDispose]()))
  }
  floor.close()
  return { floor: floorMs, bySize }
}
