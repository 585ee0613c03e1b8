/** One ConfigMap of leaders for life, shared with the real operator-lib under the real garbage collector. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Peer, startPeer } from '@tenure/test-control-plane'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRealApiServer } from '../scenarios/api-server.ts'
import { inhabit, type Inhabited } from '../scenarios/inhabited-replica.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { BRISK } from '../scenarios/timings.ts'
import { monotonicAt } from './wall-clock.ts'

const LONG_MS = 60_000
/** Longer than any wait of either elector: many attempts of operator-lib, and more than a lease of Tenure. */
const QUIET_MS = 2 * BRISK.leaseDurationMs
/** The accuracy of converting the wall clock of the peer to the monotonic clock. */
const CLOCK_ERROR_MS = 1

let server: Awaited<ReturnType<typeof openRealApiServer>>
beforeAll(async () => {
  server = await openRealApiServer()
  await server.controlPlane.startControllerManager({ controllers: ['garbage-collector-controller'] })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

interface OwnedMap {
  readonly metadata: { readonly ownerReferences?: readonly { readonly name: string }[] }
}

/** The Pod that owns the ConfigMap; undefined while there is none. */
async function ownerOf({ namespace, leaseName }: Scenario): Promise<string | undefined> {
  const { status, body } = await server.admin.request(`/api/v1/namespaces/${namespace}/configmaps/${leaseName}`)
  return status === 404 ? undefined : (body as OwnedMap).metadata.ownerReferences?.[0]?.name
}

/** Expects that this Pod owns the ConfigMap, at many moments of a time that is long for both electors. */
async function expectOwnedThroughout(scenario: Scenario, pod: string): Promise<void> {
  const until = performance.now() + QUIET_MS
  while (performance.now() < until) {
    expect(await ownerOf(scenario)).toBe(pod)
    await sleep(100)
  }
}

/** A leader of operator-lib in a Pod of its own. */
interface GoLeader extends AsyncDisposable {
  readonly peer: Peer
  readonly deletePod: () => Promise<void>
  /** Marks the Pod as the node lifecycle controller does when the node is not heard from. */
  readonly loseNode: () => Promise<void>
  /** When it began to lead, in nanoseconds of the monotonic clock. */
  readonly began: () => Promise<bigint>
}

async function startGo(scenario: Scenario, name: string): Promise<GoLeader> {
  const { namespace, leaseName } = scenario
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const spec = { containers: [{ name: 'go', image: 'go:1' }], automountServiceAccountToken: false }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  await server.admin.request(`/api/v1/namespaces/${namespace}/serviceaccounts`, { method: 'POST', body: account })
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec }
  await server.admin.expect(pods, { method: 'POST', body })
  const kubeConfig = server.controlPlane.adminKubeConfig()
  const peer = await startPeer({ program: 'operator-lib-leader', kubeConfig, namespace, lease: leaseName, id: name })
  return {
    peer,
    deletePod: async () =>
      void (await server.admin.expect(`${pods}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })),
    loseNode: async () => {
      const pod = (await server.admin.expect(`${pods}/${name}`)) as object
      const conditions = [
        { type: 'ContainersReady', status: 'True' },
        { type: 'Ready', status: 'False' },
      ]
      const changed = { ...pod, status: { phase: 'Running', conditions } }
      await server.admin.expect(`${pods}/${name}/status`, { method: 'PUT', body: changed })
    },
    began: async () => monotonicAt((await peer.waitFor('started-leading', { timeoutMs: LONG_MS })).t),
    [Symbol.asyncDispose]: async () => void (await peer.process.kill()),
  }
}

function startTenure(scenario: Scenario, name: string, missingLease: 'create' | 'wait' = 'wait'): Promise<Inhabited> {
  return inhabit(server, scenario, { name, timing: { ...BRISK, missingLease }, forLife: true })
}

function hasBegun({ replica }: Inhabited): boolean {
  return replica.all('loop-began').length > 0
}

describe.concurrent('a ConfigMap shared with operator-lib', { timeout: 240_000 }, () => {
  it('that operator-lib holds is not taken by Tenure while the Pod exists, not even from a process that stands still', async () => {
    await using scenario = await Scenario.open(server)
    await using go = await startGo(scenario, 'go')
    await go.began()
    const tenure = await startTenure(scenario, 'alpha')
    await tenure.replica.follows('go', { timeoutMs: LONG_MS })
    // It would not notice that somebody else leads.
    await go.loseNode()
    go.peer.process.pause()
    await expectOwnedThroughout(scenario, 'go')
    expect(hasBegun(tenure)).toBe(false)
    await go.peer.process.kill()
    const endedAt = process.hrtime.bigint()
    await go.deletePod()
    const began = await tenure.replica.saw('loop-began', { timeoutMs: LONG_MS })
    // Tenure waits after the collection, because the Pod may have been deleted by force.
    expect(Number(began.at - endedAt) / 1e6).toBeGreaterThan(BRISK.leaseDurationMs)
    expect(await ownerOf(scenario)).toBe('alpha')
  })

  it('that Tenure holds is not taken by operator-lib while the Pod exists, also after Tenure has stopped', async () => {
    await using scenario = await Scenario.open(server)
    const tenure = await startTenure(scenario, 'alpha', 'create')
    await tenure.replica.saw('loop-began', { timeoutMs: LONG_MS })
    await using go = await startGo(scenario, 'go')
    await expectOwnedThroughout(scenario, 'alpha')
    expect(tenure.replica.all('loop-ended')).toEqual([])
    expect(await tenure.replica.terminate()).toMatchObject({ code: 0 })
    await expectOwnedThroughout(scenario, 'alpha')
    expect(go.peer.events).toEqual([])
    await tenure.deletePod()
    const beganAt = await go.began()
    const [ended] = tenure.replica.all('loop-ended')
    expect(Number(beganAt - (ended?.at ?? beganAt)) / 1e6).toBeGreaterThan(-CLOCK_ERROR_MS)
    expect(await ownerOf(scenario)).toBe('go')
  })

  it('goes from one Tenure replica to the next past a waiting operator-lib, also when the Pod of the first is deleted', async ({
    expect,
  }) => {
    await using scenario = await Scenario.open(server)
    const first = await startTenure(scenario, 'alpha', 'create')
    await first.replica.saw('loop-began', { timeoutMs: LONG_MS })
    await using go = await startGo(scenario, 'go')
    const second = await startTenure(scenario, 'beta')
    await second.replica.follows('alpha', { timeoutMs: LONG_MS })
    expect(await first.replica.terminate()).toMatchObject({ code: 0 })
    await second.replica.saw('loop-began', { timeoutMs: LONG_MS })
    await expect.poll(() => ownerOf(scenario), { timeout: LONG_MS }).toBe('beta')
    await first.deletePod()
    await expectOwnedThroughout(scenario, 'beta')
    expect(second.replica.all('loop-ended')).toEqual([])
    expect(go.peer.events).toEqual([])
  })
})
