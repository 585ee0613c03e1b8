import { setTimeout as sleep } from 'node:timers/promises'
import type { Access } from '@tenure/test-control-plane'
import { createFloor } from '../handover/floor.ts'
import { LeaseJournal } from './lease-journal.ts'

/** The time for the watch to catch up after a round. */
const PAUSE_MS = 20

/** Handovers between two bare clients, in milliseconds. */
export interface FloorSamples {
  /** From the release until the answer to the acquiring write. */
  readonly handovers: readonly number[]
  /** The time without a holder by an independent watch: one write after one event. */
  readonly leaderless: readonly number[]
}

/**
 * Measures the minimum on this API server.
 *
 * @param direct how the independent watch reaches the API server
 */
export async function measureFloor(setup: {
  readonly access: Access
  readonly direct: Access
  readonly namespace: string
  readonly lease: string
  readonly rounds: number
}): Promise<FloorSamples> {
  const { access, direct, namespace, lease, rounds } = setup
  const floor = await createFloor(access, namespace, lease)
  using journal = await LeaseJournal.open(direct, namespace, lease)
  const handovers: number[] = []
  const leaderless: number[] = []
  for (let round = 0; round < rounds; round++) {
    journal.restart()
    handovers.push(await floor.round())
    await sleep(PAUSE_MS)
    leaderless.push(journal.history().leaderlessMs)
  }
  floor.close()
  return { handovers, leaderless }
}
