import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { growthPerTerm, LEAK_BYTES } from './growth.ts'
import { loopRuns, overlaps } from './loop-runs.ts'
import type { Footprint } from './replica-event.ts'
import type { ReplicaProcess } from './replica-process.ts'
import { Scenario } from './scenario.ts'

const TERMS = 100
/**
 * The connection for writes and the one for Events are made in the first term and kept, each with its timers. The Event that tells of
 * the end of the term may still wait for its turn.
 */
const KEPT: Readonly<Record<string, number>> = { TCPSocketWrap: 2, Timeout: 5 }

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('a process that leads many terms', () => {
  it('is back at the level of a follower after each of 100 terms, and has one loop at all times', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('somebody', 3600)
    const replica = await scenario.start('alpha', {
      controllers: [{ kind: 'loop', observed: true }],
      ops: { port: 0, host: '127.0.0.1' },
    })
    await replica.follows('somebody')
    const follower = await observe(replica)

    const afterTerms: Observation[] = []
    for (let term = 1; term <= TERMS; term++) {
      await lead(scenario, replica)
      if (term === 1 || term === TERMS) expect(await servedNames(replica)).toEqual(withTerm(follower))
      await giveUp(scenario, replica)
      afterTerms.push(await observe(replica))
    }

    const runs = await loopRuns([replica])
    expect(runs).toHaveLength(TERMS)
    expect(overlaps(runs)).toEqual([])
    expect(replica.all('built')).toHaveLength(TERMS)
    expect(replica.isRunning).toBe(true)
    for (const { checks, series, footprint } of afterTerms) {
      expect({ checks, series }).toEqual({ checks: follower.checks, series: follower.series })
      expect(footprint.listeners).toEqual(follower.footprint.listeners)
      expect(aboveLevel(footprint.resources, follower.footprint.resources)).toEqual([])
    }
    expect(growthPerTerm(afterTerms.map(({ footprint }) => footprint.heapUsed))).toBeLessThan(LEAK_BYTES)
  })

  it('is found out when it keeps 50 kB of every term', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('somebody', 3600)
    const replica = await scenario.start('alpha', { controllers: [{ kind: 'leaky', kilobytes: 50 }] })
    await replica.follows('somebody')

    const heaps: number[] = []
    for (let term = 1; term <= 15; term++) {
      await lead(scenario, replica)
      await giveUp(scenario, replica)
      heaps.push((await replica.measure()).heapUsed)
    }

    expect(growthPerTerm(heaps)).toBeGreaterThan(LEAK_BYTES)
  })
})

/** What is left of a term, seen from inside and through the operations port. */
interface Observation extends ServedNames {
  readonly footprint: Footprint
}

interface ServedNames {
  /** The names of the health checks. */
  readonly checks: readonly string[]
  /** The names of all metrics, without those of the process, which depend on what the process is doing. */
  readonly series: readonly string[]
}

async function observe(replica: ReplicaProcess): Promise<Observation> {
  const footprint = await vi.waitFor(async () => {
    const measured = await replica.measure()
    // A connection that is about to be made is none of those that are kept yet.
    expect(measured.resources).not.toHaveProperty('ConnectWrap')
    return measured
  }, 90_000)
  return { footprint, ...(await servedNames(replica)) }
}

async function servedNames(replica: ReplicaProcess): Promise<ServedNames> {
  const [livez, metrics] = await Promise.all([replica.get('/livez?verbose'), replica.get('/metrics')])
  const checks = livez.body.match(/^\[.\]\S+/gm) ?? []
  const series = metrics.body.match(/^(?!nodejs_|process_)\w+/gm) ?? []
  return { checks: [...checks].sort(), series: [...new Set(series)].sort() }
}

function withTerm({ checks, series }: ServedNames): ServedNames {
  return { checks: [...checks, '[+]loop.acts'].sort(), series: [...series, 'loop_acts_total', 'tenure_tasks'].sort() }
}

/** Frees the lease and waits until the controllers of the replica are at work. */
async function lead(scenario: Scenario, replica: ReplicaProcess): Promise<void> {
  const from = replica.events.length
  await scenario.seizeLease('')
  await replica.saw('loop-began', { from })
}

/** Has the replica step down, and somebody else take the lease. */
async function giveUp(scenario: Scenario, replica: ReplicaProcess): Promise<void> {
  const from = replica.events.length
  await replica.stepDown({ cooldownMs: 60_000 })
  await scenario.seizeLease('somebody')
  await replica.follows('somebody', { from })
}

/** The kinds of which there are more than a follower has, with the connections that are kept. */
function aboveLevel(counts: Footprint['resources'], level: Footprint['resources']): readonly string[] {
  return Object.entries(counts)
    .filter(([kind, count]) => count > (level[kind] ?? 0) + (KEPT[kind] ?? 0))
    .map(([kind, count]) => `${kind}: ${count} where a follower has ${level[kind] ?? 0}`)
}
