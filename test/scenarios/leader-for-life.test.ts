import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LeaseOptions } from 'tenure'
import { type ApiServer, openApiServer } from './api-server.ts'
import { inhabit, type Inhabited, wholeSecond } from './inhabited-replica.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

/** Long enough that no lease could expire while a proof is given. */
const SLOW = { ...BRISK, leaseDurationMs: 15_000, renewDeadlineMs: 10_000 } as const

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

interface ConfigMap {
  readonly metadata: { readonly ownerReferences: readonly { readonly kind: string; readonly name: string }[] }
}

function configMapPath({ namespace, leaseName }: Scenario): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${leaseName}`
}

async function ownerOf(scenario: Scenario): Promise<string | undefined> {
  const { metadata } = (await server.admin.expect(configMapPath(scenario))) as ConfigMap
  return metadata.ownerReferences[0]?.name
}

/** Does what the garbage collector does when the Pod of the leader is gone. */
async function collect(scenario: Scenario): Promise<bigint> {
  await server.admin.request(configMapPath(scenario), { method: 'DELETE' })
  return process.hrtime.bigint()
}

/** A leader for life, and a follower of it. The leader need not wait, because nobody led before. */
async function leaderAndFollower(scenario: Scenario, timing: Partial<LeaseOptions>) {
  const leader = await inhabit(server, scenario, {
    name: 'alpha',
    timing: { ...timing, missingLease: 'create' },
    forLife: true,
  })
  await leader.replica.reached('leading')
  const follower = await inhabit(server, scenario, { name: 'beta', timing, forLife: true })
  await follower.replica.follows('alpha')
  return { leader, follower }
}

async function began({ replica }: Inhabited): Promise<{ readonly at: bigint; readonly epoch: bigint }> {
  return replica.saw('loop-began')
}

function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6
}

describe('a leader for life', () => {
  it('owns the ConfigMap by its Pod, and writes nothing while it leads', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, BRISK)
    expect(await ownerOf(scenario)).toBe('alpha')
    // Until both have written what they write once a term: the container of the leader, and the follower among the standbys.
    await sleep(3000)
    const written = await writes(scenario)
    await sleep(2500)
    expect(await writes(scenario)).toEqual(written)
    expect(leader.replica.all('loop-ended')).toEqual([])
    expect(follower.replica.all('loop-began')).toEqual([])
  })

  it('counts its checks as renewals, and is healthy and ready, as its follower is', async () => {
    await using scenario = await Scenario.open(server)
    const timing = { ...BRISK, missingLease: 'create' } as const
    const leader = await inhabit(server, scenario, { name: 'alpha', timing, forLife: true, ops: true })
    await leader.replica.reached('leading')
    const follower = await inhabit(server, scenario, { name: 'beta', timing, forLife: true, ops: true })
    await follower.replica.follows('alpha')
    const checked = /^tenure_renew_duration_seconds_count [1-9]/m
    await expect.poll(async () => (await leader.replica.get('/metrics')).body, { timeout: 90_000 }).toMatch(checked)
    const [led, followed] = await Promise.all([leader, follower].map(({ replica }) => replica.get('/metrics')))
    expect(led?.body).toContain('leader_election_master_status{name="janitor"} 1')
    expect(led?.body).toMatch(/^tenure_lease_remaining_seconds\{name="janitor"\} [1-9]/m)
    expect(followed?.body).toContain('leader_election_master_status{name="janitor"} 0')
    expect(followed?.body).not.toMatch(checked)
    for (const { replica } of [leader, follower]) {
      for (const path of ['/livez', '/readyz', '/healthz']) {
        await expect.poll(async () => (await replica.get(path)).status, { timeout: 90_000 }).toBe(200)
      }
    }
  })

  it('is succeeded without a wait when it stops, by a leader that owns the ConfigMap', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, SLOW)
    await sleep(1500)
    leader.replica.signal('SIGTERM')
    const ended = await leader.replica.saw('loop-ended')
    const { at } = await began(follower)
    expect(msBetween(ended.at, at)).toBeGreaterThan(0)
    expect(msBetween(ended.at, at)).toBeLessThan(SLOW.leaseDurationMs / 5)
    expect(await leader.replica.exited).toMatchObject({ code: 0 })
    await expect.poll(() => ownerOf(scenario)).toBe('beta')
  })

  it('is succeeded at once when its container has provably ended', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, SLOW)
    await expect
      .poll(async () => JSON.stringify(await server.admin.expect(configMapPath(scenario))))
      .toContain(leader.containerID)
    leader.replica.signal('SIGKILL')
    const { at } = await leader.replica.exited
    const finishedAt = wholeSecond(Date.now() + 1000)
    await leader.report({ terminated: { containerID: leader.containerID, exitCode: 137, reason: 'Error', finishedAt } })
    expect(msBetween(at, (await began(follower)).at)).toBeLessThan(SLOW.leaseDurationMs / 2)
    expect(await ownerOf(scenario)).toBe('beta')
  })

  it('whose Pod is deleted by force ends before its successor acts, which waits for a lease duration', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, BRISK)
    const first = await began(leader)
    await leader.deletePod()
    const deletedAt = await collect(scenario)
    const ended = await leader.replica.saw('loop-ended')
    const second = await began(follower)
    expect(ended.at).toBeLessThan(second.at)
    expect(msBetween(deletedAt, second.at)).toBeGreaterThan(BRISK.leaseDurationMs - 50)
    expect(second.epoch).toBeGreaterThan(first.epoch)
    // It still runs, but its Pod is gone.
    expect(leader.replica.isRunning).toBe(true)
    expect(leader.replica.all('loop-began')).toHaveLength(1)
  })

  it('that was evicted without a word of its container is succeeded after a lease duration', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, BRISK)
    leader.replica.signal('SIGKILL')
    const { at } = await leader.replica.exited
    await leader.reportFailed('Evicted')
    expect(msBetween(at, (await began(follower)).at)).toBeGreaterThan(BRISK.leaseDurationMs - 50)
    expect(await ownerOf(scenario)).toBe('beta')
  })
})

/** How often each replica has written the ConfigMap. */
async function writes(scenario: Scenario): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of ['alpha', 'beta']) {
    const requests = await server.requestsOf(scenario.userOf(name))
    const writing = requests.filter(
      ({ verb, resource }) => resource === 'configmaps' && !['get', 'list', 'watch'].includes(verb),
    )
    counts[name] = writing.length
  }
  return counts
}
