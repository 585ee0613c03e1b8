import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PodDeathProof } from '../src/locks/death/pod-death-proof.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { FakeLeaseClient } from './support/fake-lease-client.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

const unaborted = { signal: new AbortController().signal }
const PODS = '/api/v1/namespaces/ops/pods'
/** Well after any process of this test started. */
const finishedAt = '2100-01-01T00:00:00Z'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/ops'

let cluster: EmbeddedCluster
let serial = 0

beforeAll(async () => {
  cluster = await EmbeddedCluster.start()
})

afterAll(() => cluster.stop())

/** A Pod that a kubelet keeps the status of, and a replica in it that may do what the documented Role allows. */
async function replica({ proveDeath = true } = {}) {
  const name = `janitor-${++serial}`
  const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name, namespace: 'ops', subjects, proveDeath })
  await cluster.asAdmin('POST', `${RBAC}/roles`, role)
  await cluster.asAdmin('POST', `${RBAC}/rolebindings`, roleBinding)
  const spec = { containers: [{ name: 'janitor', image: 'janitor:1' }] }
  await cluster.asAdmin('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'ops' }, spec })
  const client = new LeaseClient({ kubeConfig: cluster.kubeConfig(name) })
  const startedAt = performance.timeOrigin
  const proof = new PodDeathProof({ client, pod: { name, namespace: 'ops' }, startedAt })
  const lock = new LeaseLock({ client, name, namespace: 'ops', deathProof: proof })
  return {
    name,
    proof,
    lock,
    report: (containerID: string, state: object, lastState: object = {}) =>
      cluster.asAdmin('PATCH', `${PODS}/${name}/status`, {
        status: { containerStatuses: [{ name: 'janitor', containerID, state, lastState }] },
      }),
    running: { running: { startedAt: new Date(startedAt).toISOString().replace(/\.\d+/, '') } },
    [Symbol.asyncDispose]: async () => {
      await lock.close()
      await proof.close()
      await client.close()
    },
  }
}

type Replica = Awaited<ReturnType<typeof replica>>

async function known({ lock }: Replica): Promise<string> {
  while (lock.processRef === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
  return lock.processRef
}

/** Follows the death of the process of another replica. */
function mourn(follower: Replica, holder: Replica, processRef: string) {
  const deaths = new EventEmitter()
  let count = 0
  const watch = follower.lock.watchHolder?.(
    { identity: holder.name, acquireTime: '', processRef },
    { dead: () => deaths.emit('death', ++count) },
  )
  if (watch === undefined) throw new Error('Expected the lock to watch holders')
  const first = once(deaths, 'death')
  return { watch, deaths: () => count, first }
}

describe('a proof of death', () => {
  test('says once that it found the container of its process, however often the status of the Pod changes', () => {
    const client = new FakeLeaseClient()
    const lines: Line[] = []
    const logger = recordingLogger(lines)
    const pod = { name: 'p', namespace: 'ops' }
    const proof = new PodDeathProof({ client: client as object as LeaseClient, pod, startedAt: 0, logger })
    proof.start()
    proof.start()
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p'])
    const seen = (containerID: string, state: object) =>
      client.shows('pods', {
        metadata: { ...pod, uid: 'u' },
        status: { containerStatuses: [{ name: 'c', containerID, state }] },
      })
    const events = () => lines.map(({ fields }) => fields['event'])
    const running = { running: { startedAt: '1970-01-01T00:00:00Z' } }
    seen('containerd://one', { waiting: {} })
    expect(events()).toEqual([])
    for (const _ of [1, 2]) seen('containerd://one', running)
    expect(events()).toEqual(['container-known'])
    for (const _ of [1, 2]) seen('containerd://two', { waiting: {} })
    expect(events()).toEqual(['container-known', 'container-withdrawn'])
  })

  test('knows the container of its process once the kubelet has reported it', async () => {
    await using leader = await replica()
    leader.proof.start()
    expect(leader.lock.processRef).toBeUndefined()
    await leader.report('containerd://old', { running: { startedAt: '2020-01-01T00:00:00Z' } })
    await leader.report('containerd://one', leader.running)
    expect(JSON.parse(await known(leader))).toMatchObject({ pod: leader.name, containerId: 'containerd://one' })
  })

  test('is not given for the predecessor of a leader whose container was restarted', async () => {
    await using leader = await replica()
    await using follower = await replica()
    leader.proof.start()
    // The kubelet has not reported the restart yet.
    await leader.report('containerd://one', leader.running)
    const claimed = await known(leader)
    const early = mourn(follower, leader, claimed)
    const endedBefore = new Date(performance.timeOrigin - 1500).toISOString().replace(/\.\d+/, '')
    const predecessor = { terminated: { containerID: 'containerd://one', exitCode: 1, finishedAt: endedBefore } }
    await leader.report('containerd://one', predecessor)
    while (leader.lock.processRef !== undefined) await new Promise((resolve) => setTimeout(resolve, 5))
    await leader.report('containerd://two', leader.running, predecessor)
    const own = await known(leader)
    expect(JSON.parse(own)).toMatchObject({ containerId: 'containerd://two' })

    const late = mourn(follower, leader, own)
    await leader.report(
      'containerd://two',
      { terminated: { containerID: 'containerd://two', finishedAt } },
      predecessor,
    )
    await late.first
    expect(early.deaths()).toBe(0)
  })

  test('is given once, when the kubelet reports that the very container has terminated', async () => {
    await using leader = await replica()
    await using follower = await replica()
    leader.proof.start()
    await leader.report('containerd://one', leader.running)
    const ref = await known(leader)
    const mourner = mourn(follower, leader, ref)
    const terminated = { terminated: { containerID: 'containerd://one', exitCode: 137, finishedAt } }
    await leader.report('containerd://one', terminated)
    await mourner.first
    await leader.report('containerd://two', leader.running, terminated)
    const next = mourn(follower, leader, ref)
    await next.first
    expect(mourner.deaths()).toBe(1)
  })

  test('is not given for a Pod that is gone, nor for the Pod that takes its name', async () => {
    await using leader = await replica()
    await using follower = await replica()
    leader.proof.start()
    await leader.report('containerd://one', leader.running)
    const mourner = mourn(follower, leader, await known(leader))
    await cluster.asAdmin('DELETE', `${PODS}/${leader.name}`)
    const spec = { containers: [{ name: 'janitor', image: 'janitor:1' }] }
    await cluster.asAdmin('POST', PODS, { metadata: { name: leader.name, namespace: 'ops' }, spec })
    await leader.report('containerd://two', { terminated: { containerID: 'containerd://one', finishedAt } })
    await using witness = await replica()
    witness.proof.start()
    await witness.report('containerd://w', witness.running)
    await known(witness)
    const control = mourn(follower, witness, witness.lock.processRef ?? '')
    await witness.report('containerd://w', { terminated: { containerID: 'containerd://w', finishedAt } })
    await control.first
    expect(mourner.deaths()).toBe(0)
  })

  test('is not given for what names no container, and not after its watch was closed', async () => {
    await using leader = await replica()
    await using follower = await replica()
    leader.proof.start()
    await leader.report('containerd://one', leader.running)
    const closed = mourn(follower, leader, await known(leader))
    const nonsense = mourn(follower, leader, 'somebody')
    const open = mourn(follower, leader, await known(leader))
    await closed.watch.close()
    await leader.report('containerd://one', { terminated: { containerID: 'containerd://one', finishedAt } })
    await open.first
    expect([closed.deaths(), nonsense.deaths()]).toEqual([0, 0])
  })

  test('is not given, and does no harm, without the right to read Pods', async () => {
    await using leader = await replica()
    await using follower = await replica({ proveDeath: false })
    leader.proof.start()
    await leader.report('containerd://one', leader.running)
    const mourner = mourn(follower, leader, await known(leader))
    await leader.report('containerd://one', { terminated: { containerID: 'containerd://one', finishedAt } })
    await follower.lock.get(unaborted)
    expect(mourner.deaths()).toBe(0)
  })

  test('is not looked for by a lock that was not told to', () => {
    const kubeConfig = cluster.kubeConfig()
    const lock = new LeaseLock({ kubeConfig, name: 'janitor', namespace: 'ops' })
    expect(lock.watchHolder).toBeUndefined()
    expect(lock.processRef).toBeUndefined()
  })
})
