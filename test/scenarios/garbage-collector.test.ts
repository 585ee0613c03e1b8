/** Leaders for life under the controllers of a real kube-controller-manager. The test is the kubelet of every node. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRealApiServer } from './api-server.ts'
import { inhabit, type Inhabited, wholeSecond } from './inhabited-replica.ts'
import { loopRuns, overlaps } from './loop-runs.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

const CONTROLLERS = [
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
]
const LONG_MS = 60_000
/** A clock of another process, and the time between a deletion and the news of it. */
const EARLY_MS = 50

type Server = Awaited<ReturnType<typeof openRealApiServer>>

let server: Server
let nodes = 0
beforeAll(async () => {
  server = await openRealApiServer()
  await server.controlPlane.startControllerManager({ controllers: CONTROLLERS })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

interface ConfigMap {
  readonly metadata: { readonly uid: string; readonly ownerReferences: readonly { readonly name: string }[] }
}

function configMapPath({ namespace, leaseName }: Scenario): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${leaseName}`
}

async function read(path: string): Promise<ConfigMap | undefined> {
  const { status, body } = await server.admin.request(path)
  return status === 404 ? undefined : (body as ConfigMap)
}

/** Creates a node, and reports how it is. */
async function createNode(): Promise<{ readonly name: string; readonly is: (ready: string) => Promise<void> }> {
  const name = `node-${++nodes}`
  const path = `/api/v1/nodes/${name}`
  const is = async (ready: string) => {
    const now = new Date().toISOString().replace(/\.\d+/, '')
    const condition = { type: 'Ready', status: ready, reason: 'Test', lastHeartbeatTime: now, lastTransitionTime: now }
    // Without a version, because a controller writes the node as well.
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions: [condition] } }
    await server.admin.expect(`${path}/status`, { method: 'PUT', body })
  }
  await server.admin.expect('/api/v1/nodes', {
    method: 'POST',
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name } },
  })
  await is('True')
  return { name, is }
}

/** Lets the replicas read nodes, as the ClusterRole of the manifests does. */
async function allowNodes(scenario: Scenario, names: readonly string[]): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const metadata = { name: `${scenario.namespace}-nodes` }
  const subjects = names.map((name) => ({ kind: 'User', apiGroup, name: scenario.userOf(name) }))
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }]
  const root = `/apis/${apiGroup}/v1`
  const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name }
  await server.admin.expect(`${root}/clusterroles`, { method: 'POST', body: { metadata, rules } })
  await server.admin.expect(`${root}/clusterrolebindings`, { method: 'POST', body: { metadata, roleRef, subjects } })
}

/** A leader for life, and a follower of it on another node. The leader need not wait, because nobody led before. */
async function leaderAndFollower(scenario: Scenario) {
  const [nodeA, nodeB] = await Promise.all([createNode(), createNode()])
  const common = { forLife: true } as const
  const first = { name: 'alpha', node: nodeA.name, timing: { ...BRISK, missingLease: 'create' } } as const
  const leader = await inhabit(server, scenario, { ...common, ...first })
  const { epoch } = await leader.replica.saw('loop-began')
  const follower = await inhabit(server, scenario, { ...common, name: 'beta', node: nodeB.name, timing: BRISK })
  await follower.replica.follows('alpha')
  return { leader, follower, node: nodeA, nodeOfFollower: nodeB, epoch }
}

/** Follows the ConfigMap until it is gone or another one is there, and returns when. */
async function replaced(scenario: Scenario, { metadata }: ConfigMap): Promise<bigint> {
  await expect
    .poll(async () => (await read(configMapPath(scenario)))?.metadata.uid, { interval: 20, timeout: 2 * LONG_MS })
    .not.toBe(metadata.uid)
  return process.hrtime.bigint()
}

/** Expects that the follower leads, not before `freedAt` and its wait, with a greater epoch, and that nobody acted beside it. */
async function expectSuccession(
  scenario: Scenario,
  pair: { readonly leader: Inhabited; readonly follower: Inhabited; readonly epoch: bigint },
  freedAt?: bigint,
): Promise<void> {
  const began = await pair.follower.replica.saw('loop-began')
  expect(began.epoch).toBeGreaterThan(pair.epoch)
  // `freedAt` is when the test saw it, which is up to an interval of its own late.
  if (freedAt !== undefined) {
    expect(Number(began.at - freedAt) / 1e6).toBeGreaterThan(BRISK.leaseDurationMs - EARLY_MS - 500)
  }
  expect((await read(configMapPath(scenario)))?.metadata.ownerReferences.map(({ name }) => name)).toEqual(['beta'])
  expect(overlaps(await loopRuns([pair.leader.replica, pair.follower.replica]))).toEqual([])
}

async function heldConfigMap(scenario: Scenario): Promise<ConfigMap> {
  const held = await read(configMapPath(scenario))
  if (held === undefined) throw new Error('Expected the ConfigMap to exist')
  return held
}

describe('a leader for life under the real garbage collector', { timeout: 240_000 }, () => {
  it('whose Pod is deleted in order hands over at once, and the collector leaves the ConfigMap of its successor alone', async () => {
    await using scenario = await Scenario.open(server)
    const pair = await leaderAndFollower(scenario)
    // A follower that is no standby yet may be slower than a kubelet of this test, and then waits.
    await expect
      .poll(async () => JSON.stringify(await read(configMapPath(scenario))), { timeout: LONG_MS })
      .toMatch(/standby.*beta/)
    const { uid } = (await heldConfigMap(scenario)).metadata
    await server.admin.expect(pair.leader.pod, { method: 'DELETE' })
    expect(await pair.leader.replica.terminate()).toMatchObject({ code: 0 })
    await pair.leader.deletePod()
    await expectSuccession(scenario, pair)
    const [ended, began] = [pair.leader.replica.all('loop-ended')[0], pair.follower.replica.all('loop-began')[0]]
    expect(Number((began?.at ?? 0n) - (ended?.at ?? 0n)) / 1e6).toBeLessThan(BRISK.leaseDurationMs / 2)
    // A later object of another Pod is collected: the collector has come past this one.
    const marker = await collectMarker(scenario)
    await expect.poll(() => read(marker), { timeout: LONG_MS }).toBeUndefined()
    expect((await heldConfigMap(scenario)).metadata).toMatchObject({ uid, ownerReferences: [{ name: 'beta' }] })
    expect(pair.follower.replica.all('loop-ended')).toEqual([])
  })

  it('whose Pod is deleted by force, and runs on, ends before the successor acts, which waits after the collection', async () => {
    await using scenario = await Scenario.open(server)
    const pair = await leaderAndFollower(scenario)
    const held = await heldConfigMap(scenario)
    await pair.leader.deletePod()
    const freedAt = await replaced(scenario, held)
    await expectSuccession(scenario, pair, freedAt)
    expect(pair.leader.replica.isRunning).toBe(true)
    expect(pair.leader.replica.all('loop-began')).toHaveLength(1)
  })

  it('whose container has ended is succeeded at once, also when its Pod is deleted just then', async () => {
    await using scenario = await Scenario.open(server)
    const pair = await leaderAndFollower(scenario)
    const { containerID, replica } = pair.leader
    await expect
      .poll(async () => JSON.stringify(await read(configMapPath(scenario))), { timeout: LONG_MS })
      .toContain(containerID)
    replica.signal('SIGKILL')
    const { at } = await replica.exited
    const finishedAt = wholeSecond(Date.now() + 1000)
    await pair.leader.report({ terminated: { containerID, exitCode: 137, reason: 'Error', finishedAt } })
    await pair.leader.deletePod()
    await expectSuccession(scenario, pair)
    const began = await pair.follower.replica.saw('loop-began')
    expect(Number(began.at - at) / 1e6).toBeLessThan(BRISK.leaseDurationMs / 2)
  })

  it.each(['Evicted', 'Preempting', 'Terminated'])(
    'whose Pod has failed with reason %s and stays, with no word of its container, is succeeded after the wait',
    async (reason) => {
      await using scenario = await Scenario.open(server)
      const pair = await leaderAndFollower(scenario)
      const held = await heldConfigMap(scenario)
      pair.leader.replica.signal('SIGKILL')
      await pair.leader.replica.exited
      await pair.leader.reportFailed(reason)
      const freedAt = await replaced(scenario, held)
      await expectSuccession(scenario, pair, freedAt)
      expect((await server.admin.request(pair.leader.pod)).status).toBe(200)
    },
  )

  it.each(['False', 'Unknown'])(
    'whose node has the condition Ready %s, and runs on, ends before the successor acts, which waits',
    async (ready) => {
      await using scenario = await Scenario.open(server)
      await allowNodes(scenario, ['alpha', 'beta'])
      const pair = await leaderAndFollower(scenario)
      const held = await heldConfigMap(scenario)
      await pair.node.is(ready)
      const freedAt = await replaced(scenario, held)
      await expectSuccession(scenario, pair, freedAt)
      expect(pair.leader.replica.isRunning).toBe(true)
    },
  )

  it('on a node that nobody hears from is succeeded without the right to read nodes, when its Pod is marked', async () => {
    await using scenario = await Scenario.open(server)
    const pair = await leaderAndFollower(scenario)
    const held = await heldConfigMap(scenario)
    // The node lifecycle controller gives up the node of the leader after its grace period of 50 s.
    const beating = setInterval(() => void pair.nodeOfFollower.is('True').catch(() => {}), 5000)
    try {
      const freedAt = await replaced(scenario, held)
      await expectSuccession(scenario, pair, freedAt)
    } finally {
      clearInterval(beating)
    }
  })

  it('whose Pod was deleted, but whose kubelet does not end it, is succeeded after the grace period and the wait', async () => {
    await using scenario = await Scenario.open(server)
    const pair = await leaderAndFollower(scenario)
    const held = await heldConfigMap(scenario)
    await server.admin.expect(`${pair.leader.pod}?gracePeriodSeconds=1`, { method: 'DELETE' })
    const freedAt = await replaced(scenario, held)
    await expectSuccession(scenario, pair, freedAt)
    expect((await server.admin.request(pair.leader.pod)).status).toBe(200)
    // The former leader, which still runs, has not acquired it again.
    expect(pair.follower.replica.logs.entries.filter(({ event }) => event === 'holder-ended')).toHaveLength(1)
  })
})

/** Makes a ConfigMap whose owner does not exist, which the garbage collector deletes. */
async function collectMarker({ namespace }: Scenario): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'gone', uid: '00000000-0000-4000-8000-000000000000' }
  const metadata = { name: 'marker', ownerReferences: [owner] }
  await server.admin.expect(path, { method: 'POST', body: { apiVersion: 'v1', kind: 'ConfigMap', metadata } })
  return `${path}/marker`
}
