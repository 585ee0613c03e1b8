import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { ServiceFleet } from '../../test/faults/endpoints/service-fleet.ts'
import { observeQuiet, type Rounds, type Samples } from './samples.ts'

/** As long as the entries of kube-apiserver live. */
const LEASE_MS = 15_000

/** How often a replica renews its Lease, so that the phase of a kill can be random. */
const RENEWAL_MS = LEASE_MS / 3

/** How many replicas are killed within one renewal. Their deaths do not depend on each other. */
const KILLED_TOGETHER = 5

/** Measures replicas with `endpoints()` in mode `lease`. */
export async function measureReplicas(server: ControlPlane, rounds: Rounds): Promise<Samples> {
  // The packages as they were built, as users run them.
  const options = { service: 'bench', leaseDurationMs: LEASE_MS, execArgv: [] }
  await using fleet = await ServiceFleet.open(server, options)
  const { watch } = fleet
  const startIn: number[] = []
  const begin = async () => {
    const replica = await fleet.start()
    startIn.push((replica.livesFrom ?? 0) - replica.startedAt)
    return replica
  }
  await begin()
  const sigtermOut: number[] = []
  for (let round = 0; round < rounds.stops; round += 1) {
    const replica = await begin()
    const { at, gone } = fleet.end(replica, 'SIGTERM')
    sigtermOut.push((await watch.without(replica.address, at)).at - at)
    await gone
  }
  const sigkillOut: number[] = []
  while (sigkillOut.length < rounds.kills) {
    const size = Math.min(KILLED_TOGETHER, rounds.kills - sigkillOut.length)
    const kill = async (): Promise<number> => {
      const replica = await begin()
      await sleep(RENEWAL_MS + Math.random() * RENEWAL_MS)
      const { at } = fleet.end(replica, 'SIGKILL')
      return (await watch.without(replica.address, at)).at - at
    }
    sigkillOut.push(...(await Promise.all(Array.from({ length: size }, kill))))
  }
  // Two, as of upstream.
  await begin()
  const steadyWritesPerMinute = await observeQuiet(server, watch, rounds)
  const { lives } = fleet
  return { sigtermOut, sigkillOut, startIn, lives, steadyWritesPerMinute, versions: watch.versions }
}
