import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { type Figures, percentile, summary } from '../figures.ts'
import { createFloor } from '../handover/floor.ts'
import { Turns } from '../rollout/turns.ts'
import { Candidate, NAMESPACE } from './candidate.ts'
import { ObjectWatch } from './object-watch.ts'

/** What one round measures, in milliseconds. */
export interface Round {
  /** From the start of the only candidate until its controller runs. */
  readonly startToLead: number
  /** From the start of a better candidate until its controller runs. */
  readonly betterJoinsToLead: number
  /** Of that, from the end of the old leader's work until the controller of the better candidate runs. */
  readonly preemptGap: number
  /** From the order to the leader to stop until the controller of the other candidate runs. */
  readonly cleanLeave: number
}

/** The rounds, the least that a handover takes on this API server at the same time, in milliseconds, and how many changes of the holder were seen beyond those that a round consists of. */
export interface Rounds {
  readonly samples: readonly Round[]
  /** From the release to the answer to the acquiring write, by bare clients. */
  readonly floor: readonly number[]
  readonly furtherChanges: number
}

const LANES = 5
/** How long a fleet is left alone between two measurements. */
const SETTLE_MS = 1500
/** The first rounds only warm up the code of this process. */
const WARM_UP = 10

/**
 * Measures candidates of Tenure in this process. Several fleets age beside each other; what is measured takes turns.
 *
 * @param mode begins the names of the leases
 */
export async function measureRounds(server: ControlPlane, mode: string, rounds: number): Promise<Rounds> {
  using watch = await ObjectWatch.open(server, 'leases')
  const bare = await createFloor(
    server.access({ name: 'bare', groups: ['system:masters'] }),
    NAMESPACE,
    `${mode}-floor`,
  )
  const turns = new Turns()
  const samples: Round[] = []
  const floor: number[] = []
  let furtherChanges = 0
  let begun = 0
  const lane = async () => {
    while (begun < rounds + WARM_UP) {
      const number = begun++
      const lease = `${mode}-${number}`
      const round = await measureRound({ server, lease, turns })
      furtherChanges += watch.holders(lease).length - 3
      const floorOfRound = await turns.take(() => bare.round())
      if (number < WARM_UP) continue
      samples.push(round)
      floor.push(floorOfRound)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  bare.close()
  return { samples, floor, furtherChanges }
}

interface RoundPlace {
  readonly server: ControlPlane
  readonly lease: string
  readonly turns: Turns
}

/** A candidate leads alone, a better one joins and leads, and leaves. */
async function measureRound({ server, lease, turns }: RoundPlace): Promise<Round> {
  const place = { server, lease }
  const newer = new Candidate(place, { identity: `${lease}-newer`, emulationVersion: '1.4.0' })
  const startToLead = await turns.take(() => started(newer))
  await sleep(SETTLE_MS)
  const older = new Candidate(place, { identity: `${lease}-older`, emulationVersion: '1.3.0' })
  const joined = await turns.take(async () => {
    const betterJoinsToLead = await started(older)
    return { betterJoinsToLead, preemptGap: older.ranAt - newer.endedAt }
  })
  await sleep(SETTLE_MS)
  const cleanLeave = await turns.take(async () => {
    const runs = newer.runs()
    const askedAt = performance.now()
    const left = older.stop()
    const elapsed = (await runs) - askedAt
    await left
    return elapsed
  })
  await newer.stop()
  return { startToLead, ...joined, cleanLeave }
}

async function started(candidate: Candidate): Promise<number> {
  const runs = candidate.runs()
  const at = candidate.start()
  return (await runs) - at
}

/** Prints the rounds and names their figures under the prefix `id`. */
export function roundFigures(id: string, samples: readonly Round[]): Figures {
  const of = (name: string, pick: (round: Round) => number) => {
    const values = samples.map(pick)
    console.log(summary(`${id}: ${name.replaceAll('_', ' ')}`, values))
    return {
      [`${id}.${name}_p50_ms`]: percentile(values, 0.5),
      [`${id}.${name}_p99_ms`]: percentile(values, 0.99),
    }
  }
  return {
    ...of('start_to_lead', ({ startToLead }) => startToLead),
    ...of('better_joins_to_lead', ({ betterJoinsToLead }) => betterJoinsToLead),
    ...of('preempt_gap', ({ preemptGap }) => preemptGap),
    ...of('clean_leave', ({ cleanLeave }) => cleanLeave),
  }
}
