/** The fences on the server, on a real kube-apiserver: two of them over one etcd, each with caches of its own. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { FENCE_REFUSAL_CHANNEL } from '@tenure/core/internal'
import { gated, holderCheck, termCheck, type FencePolicy } from '@tenure/kubernetes'
import { missingResources } from '@tenure/kubernetes/internal'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, type Api } from './api.ts'
import { FencedCluster, until, type Writer } from './fenced-cluster.ts'
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  forgedStatusWrites,
  forgedWrites,
  WIDGETS,
  type ForgedWrite,
  type Target,
} from './forged-writes.ts'

const RESOURCES = [
  { apiGroup: '', resources: ['configmaps'] },
  { apiGroup: 'apps', resources: ['deployments'] },
  { apiGroup: 'faults.tenure.dev', resources: ['widgets'] },
]

let cluster: FencedCluster
let namespaces = 0

beforeAll(async () => {
  cluster = await FencedCluster.start(2)
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})

async function createNamespace(): Promise<string> {
  const namespace = `policies-${++namespaces}`
  await cluster.createNamespace(namespace)
  return namespace
}

function stamp(epoch: bigint | string, lease = 'janitor') {
  return { 'tenure.dev/epoch': String(epoch), 'tenure.dev/lease': lease }
}

async function create(target: Target, namespace: string, name: string, annotations?: Readonly<Record<string, string>>) {
  const object = target.object(name) as { metadata: object }
  const metadata = { ...object.metadata, ...(annotations && { annotations }) }
  return cluster.admin.expect('POST', target.path(namespace), { ...object, metadata })
}

describe('the term check', () => {
  let namespace: string
  beforeAll(async () => {
    namespace = await createNamespace()
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace }, resources: RESOURCES }))
    await cluster.untilTermCheckHolds(namespace)
  })

  const writes: [string, Target, ForgedWrite][] = [CONFIG_MAPS, DEPLOYMENTS, WIDGETS].flatMap((target) =>
    forgedWrites(target).map(
      (write) => [`${write.name} of ${target.name}`, target, write] as [string, Target, ForgedWrite],
    ),
  )
  const statusWrites = forgedStatusWrites(DEPLOYMENTS).map(
    (write) => [`${write.name} of deployments`, DEPLOYMENTS, write] as [string, Target, ForgedWrite],
  )

  test.each([...writes, ...statusWrites])(
    'refuses an older epoch and takes an equal or newer one: %s',
    async (_what, target, { send, name: verb }) => {
      const name = `t-${verb.replaceAll(/[^a-z]/g, '-')}`
      await create(target, namespace, name, stamp(100n))
      const at = { target, namespace, name }
      for (const admin of cluster.admins) {
        expect(await send(admin, { ...at, annotations: stamp(99n) })).toBe(422)
        expect(await send(admin, { ...at, annotations: stamp(9n) })).toBe(422)
        expect(await send(admin, { ...at, annotations: stamp(100n) })).toBe(200)
      }
      expect(await send(cluster.admin, { ...at, annotations: stamp(1000n) })).toBe(200)
      expect(await send(cluster.admin, { ...at, annotations: stamp(999n) })).toBe(422)
      const stored = await cluster.admin.get(`${target.path(namespace)}/${name}`)
      expect(stored.body.metadata.annotations).toMatchObject(stamp(1000n))
    },
  )

  test.each(writes.filter(([, , { name }]) => name !== APPLY_PATCH))(
    'refuses to have the epoch removed: %s',
    async (_what, target, { send, name: verb }) => {
      const name = `r-${verb.replaceAll(/[^a-z]/g, '-')}`
      await create(target, namespace, name, stamp(100n))
      expect(await send(cluster.admin, { target, namespace, name, annotations: undefined })).toBe(422)
    },
  )

  test.each([
    ['a word', 'abc'],
    ['a negative number', '-1'],
    ['a fraction', '1.5'],
    ['a number with a leading zero', '0123'],
    ['a number with a space', ' 123'],
    ['one more than 64 bits hold', '9223372036854775808'],
    ['a number of thirty digits', '9'.repeat(30)],
  ])('refuses %s for an epoch, on create as on update, and says what it expected', async (_what, epoch) => {
    const name = 'malformed'
    const path = CONFIG_MAPS.path(namespace)
    const object = { metadata: { name, annotations: stamp(epoch) } }
    const created = await cluster.admin.send('POST', path, object)
    expect(created.status).toBe(422)
    expect(created.body.message).toContain(`is not an epoch, a decimal number of at most 64 bits: ${epoch}`)
    const { status } = await cluster.admin.send('GET', `${path}/well-formed`)
    if (status === 404) await create(CONFIG_MAPS, namespace, 'well-formed', stamp(1n))
    const body = { metadata: { annotations: stamp(epoch) } }
    const updated = await cluster.admin.send('PATCH', `${path}/well-formed`, body, MERGE_PATCH)
    expect(updated.status).toBe(422)
    expect(updated.body.message).toContain(`is not an epoch, a decimal number of at most 64 bits: ${epoch}`)
  })

  describe('bounds an epoch by the version of the Lease', () => {
    let own: string
    const leases = () => `/apis/coordination.k8s.io/v1/namespaces/${own}/leases/janitor`
    const canary = (epoch: string) => ({
      metadata: { annotations: { 'tenure.dev/epoch': epoch, 'tenure.dev/lease': 'canary' } },
    })
    const patchCanary = (admin: Api, body: object, query = '') =>
      admin.send('PATCH', `${CONFIG_MAPS.path(own)}/term-check-canary${query}`, body, MERGE_PATCH)

    beforeAll(async () => {
      own = await createNamespace()
      await cluster.ensureLease(own)
      await cluster.apply(termCheck({ lease: { name: 'janitor', namespace: own }, resources: RESOURCES }))
      await cluster.untilTermCheckHolds(own)
      for (const admin of cluster.admins) {
        await until(
          'the bound to hold',
          async () => (await patchCanary(admin, canary('1000000000'), '?dryRun=All')).status === 422,
        )
      }
    })

    test.each(['9223372036854775807', '9223372036854775806', '4611686018427387904', '1000000000'])(
      'and refuses %s, on create as on update by every verb, so that later terms can write',
      async (epoch) => {
        const path = CONFIG_MAPS.path(own)
        const name = `ahead-${epoch}`
        const created = await cluster.admin.send('POST', path, { metadata: { name, annotations: stamp(epoch) } })
        expect(created.status).toBe(422)
        expect(created.body.message).toContain(`no term of the lease can have had the epoch ${epoch} yet`)
        await create(CONFIG_MAPS, own, name, stamp(100n))
        const at = { target: CONFIG_MAPS, namespace: own, name }
        for (const { send } of forgedWrites(CONFIG_MAPS)) {
          for (const admin of cluster.admins) expect(await send(admin, { ...at, annotations: stamp(epoch) })).toBe(422)
        }
        expect(await forgedWrites(CONFIG_MAPS)[0]?.send(cluster.admin, { ...at, annotations: stamp(101n) })).toBe(200)
      },
    )

    test('and takes that of a term that has just begun, by every API server', async () => {
      for (let term = 0; term < 50; term++) {
        const acquired = await cluster.admin.expect(
          'PATCH',
          leases(),
          { spec: { leaseTransitions: term } },
          MERGE_PATCH,
        )
        const { resourceVersion } = acquired.metadata as { readonly resourceVersion: string }
        for (const admin of cluster.admins) expect((await patchCanary(admin, canary(resourceVersion))).status).toBe(200)
      }
    })

    test('and goes on to compare epochs while the Lease does not exist', async () => {
      await cluster.admin.expect('DELETE', leases())
      for (const admin of cluster.admins) {
        await until('the deletion to be seen', async () => {
          return (await patchCanary(admin, canary('1000000000'), '?dryRun=All')).status === 200
        })
        expect((await patchCanary(admin, canary('1'))).status).toBe(422)
        expect((await patchCanary(admin, canary('9223372036854775807'))).status).toBe(422)
        expect((await patchCanary(admin, { data: { value: 'of somebody else' } })).status).toBe(200)
      }
    })
  })

  test('lets an object without the annotation be adopted, and others write it without naming the annotation', async () => {
    await create(CONFIG_MAPS, namespace, 'adopted')
    const path = `${CONFIG_MAPS.path(namespace)}/adopted`
    const send = (body: object) => cluster.admin.send('PATCH', path, body, MERGE_PATCH)
    expect((await send({ metadata: { annotations: stamp(5n) } })).status).toBe(200)
    expect((await send({ data: { value: 'of somebody else' } })).status).toBe(200)
    expect((await send({ metadata: { annotations: stamp(4n) } })).status).toBe(422)
  })

  test('lets a stored annotation that is no epoch be overwritten by an epoch', async () => {
    const bare = await createNamespace()
    await create(CONFIG_MAPS, bare, 'odd', stamp('odd'))
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace: bare }, resources: RESOURCES }))
    await cluster.untilTermCheckHolds(bare)
    const path = `${CONFIG_MAPS.path(bare)}/odd`
    const patched = await cluster.admin.send('PATCH', path, { metadata: { annotations: stamp(1n) } }, MERGE_PATCH)
    expect(patched.status).toBe(200)
  })

  test('names both leases when two of them guard one object', async () => {
    await create(CONFIG_MAPS, namespace, 'shared', stamp(100n, 'janitor'))
    const body = { metadata: { annotations: stamp(200n, 'sweeper') } }
    const answer = await cluster.admin.send('PATCH', `${CONFIG_MAPS.path(namespace)}/shared`, body, MERGE_PATCH)
    expect(answer.status).toBe(422)
    expect(answer.body.message).toContain("guarded by the lease janitor, the write names the lease 'sweeper'")
  })

  test('says in its refusal which epochs it compared', async () => {
    await create(CONFIG_MAPS, namespace, 'worded', stamp(100n))
    const body = { metadata: { annotations: stamp(99n) } }
    const answer = await cluster.admin.send('PATCH', `${CONFIG_MAPS.path(namespace)}/worded`, body, MERGE_PATCH)
    expect(answer.body.message).toContain('the term with epoch 99, the stored object to the newer one with epoch 100')
  })

  test('is noticed by the gate of the writer whose write it refuses', async () => {
    const refusals: unknown[] = []
    const onRefusal = (refusal: unknown) => void refusals.push(refusal)
    subscribe(FENCE_REFUSAL_CHANNEL, onRefusal)
    onTestFinished(() => void unsubscribe(FENCE_REFUSAL_CHANNEL, onRefusal))
    await create(CONFIG_MAPS, namespace, 'noticed', stamp(100n))
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(cluster.controlPlane.adminKubeConfig())
    const gate = new AbortController()
    const term = { epoch: 99n, lease: 'janitor', isHeld: () => true, gateSignal: gate.signal }
    const api = gated(term, kubeConfig).makeApiClient(CoreV1Api)
    const body = { metadata: { name: 'noticed' } }
    await expect(api.replaceNamespacedConfigMap({ name: 'noticed', namespace, body })).rejects.toMatchObject({
      code: 422,
    })
    expect(refusals).toEqual([{ term, method: 'PUT' }])
    gate.abort()
  })

  test('does not see what carries no annotations of the object: status of custom resources, scale, deletion', async () => {
    await create(WIDGETS, namespace, 'blind', stamp(100n))
    const [updateStatus] = forgedStatusWrites(WIDGETS)
    const at = { target: WIDGETS, namespace, name: 'blind', annotations: stamp(1n) }
    expect(await updateStatus?.send(cluster.admin, at)).toBe(200)
    const widget = await cluster.admin.get(`${WIDGETS.path(namespace)}/blind`)
    expect(widget.body.metadata.annotations).toMatchObject(stamp(100n))
    await create(DEPLOYMENTS, namespace, 'blind', stamp(100n))
    const path = `${DEPLOYMENTS.path(namespace)}/blind`
    const scale = { metadata: { annotations: stamp(1n) }, spec: { replicas: 1 } }
    expect((await cluster.admin.send('PATCH', `${path}/scale`, scale, MERGE_PATCH)).status).toBe(200)
    expect((await cluster.admin.send('DELETE', path)).status).toBe(200)
  })

  test('lets users who are exempt hand an object to another lease', async () => {
    const own = await createNamespace()
    const exemptUsers = ['faults-admin']
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace: own }, resources: RESOURCES, exemptUsers }))
    const [writer] = cluster.clientsOf(await cluster.createWriter(own))
    const path = `${CONFIG_MAPS.path(own)}/handed`
    await create(CONFIG_MAPS, own, 'handed', stamp(100n))
    const older = { metadata: { annotations: stamp(99n) } }
    await until('the term check to hold', async () => {
      return (await writer.send('PATCH', `${path}?dryRun=All`, older, MERGE_PATCH)).status === 422
    })
    const handed = { metadata: { annotations: stamp(1n, 'sweeper') } }
    expect((await cluster.admin.send('PATCH', path, handed, MERGE_PATCH)).status).toBe(200)
  })

  test.each(['Warn', 'Audit'] as const)('in mode %s lets the write pass', async (mode) => {
    const own = await createNamespace()
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace: own }, resources: RESOURCES, mode }))
    await create(CONFIG_MAPS, own, 'seen', stamp(100n))
    const older = { metadata: { annotations: stamp(99n) } }
    const path = `${CONFIG_MAPS.path(own)}/seen?dryRun=All`
    if (mode === 'Warn') {
      await until('a warning', async () => {
        const answer = await cluster.admin.send('PATCH', path, older, MERGE_PATCH)
        expect(answer.status).toBe(200)
        return answer.warnings.includes('newer one with epoch 100')
      })
    } else {
      expect((await cluster.admin.send('PATCH', path, older, MERGE_PATCH)).status).toBe(200)
    }
  })

  test('for a resource that does not exist is taken by the server, and guards nothing', async () => {
    const own = await createNamespace()
    const resources = [{ apiGroup: 'nowhere.example', resources: ['nothings'] }]
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace: own }, resources }))
    await create(CONFIG_MAPS, own, 'free', stamp(100n))
    const older = { metadata: { annotations: stamp(99n) } }
    const answer = await cluster.admin.send('PATCH', `${CONFIG_MAPS.path(own)}/free`, older, MERGE_PATCH)
    expect(answer.status).toBe(200)
  })

  test('can be asked beforehand which of its resources the server does not have', async () => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(cluster.controlPlane.adminKubeConfig())
    const misspelt = [
      { apiGroup: 'apps', resources: ['deployment'] },
      { apiGroup: 'nowhere.example', resources: ['nothings'] },
    ]
    const missing = await missingResources(kubeConfig, [...RESOURCES, ...misspelt])
    expect(missing).toEqual(['apps/deployment', 'nowhere.example/nothings'])
  })
})

describe('the holder check', () => {
  let namespace: string
  let fence: FencePolicy
  let first: readonly [Api, ...Api[]]
  let second: readonly [Api, ...Api[]]
  let unbound: readonly [Api, ...Api[]]
  let writer: Writer

  const leasePath = () => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`

  async function hold(holderIdentity: string | null): Promise<void> {
    const body = { metadata: { name: 'janitor' }, spec: { holderIdentity, leaseDurationSeconds: 3600 } }
    const { status } = await cluster.admin.send('PATCH', `${leasePath()}/janitor`, body, MERGE_PATCH)
    if (status === 404) await cluster.admin.expect('POST', leasePath(), body)
  }

  const dryRun = { metadata: { name: 'probe' } }

  /** Resolves when every API server lets exactly these clients write. */
  async function untilWriters(allowed: readonly (readonly Api[])[]): Promise<void> {
    for (const apis of [first, second, unbound]) {
      for (const api of apis) {
        await until('the caches of the server to follow the lease', async () => {
          const { status } = await api.send('POST', `${CONFIG_MAPS.path(namespace)}?dryRun=All`, dryRun)
          return (status === 201) === allowed.includes(apis)
        })
      }
    }
  }

  beforeAll(async () => {
    namespace = await createNamespace()
    writer = await cluster.createWriter(namespace, 'pod-1')
    first = cluster.clientsOf(writer)
    second = cluster.clientsOf(await cluster.createWriter(namespace, 'pod-2'))
    unbound = cluster.clientsOf(await cluster.createWriter(namespace))
    fence = holderCheck({ lease: { name: 'janitor', namespace }, resources: RESOURCES, writers: [writer.user] })
    await hold('pod-1_4f3c')
    await cluster.apply(fence)
    await untilWriters([first])
  })

  test('lets the holder use every verb, and nobody else of the writers, through any API server', async () => {
    for (const [index, holder] of first.entries()) {
      const other = second[index] ?? second[0]
      await create(DEPLOYMENTS, namespace, `every-${index}`)
      const path = `${DEPLOYMENTS.path(namespace)}/every-${index}`
      const stored = await holder.expect('GET', path)
      const apply = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { minReadySeconds: 2 } }
      const verbs: [string, (api: Api) => ReturnType<Api['send']>][] = [
        ['create', (api) => api.send('POST', `${CONFIG_MAPS.path(namespace)}?dryRun=All`, dryRun)],
        ['update', (api) => api.send('PUT', `${path}?dryRun=All`, stored)],
        ['patch', (api) => api.send('PATCH', path, { spec: { minReadySeconds: 1 } }, MERGE_PATCH)],
        [
          'json patch',
          (api) => api.send('PATCH', path, [{ op: 'add', path: '/metadata/labels', value: {} }], JSON_PATCH),
        ],
        ['apply', (api) => api.send('PATCH', `${path}?fieldManager=w&force=true`, apply, APPLY_PATCH)],
        ['status', (api) => api.send('PATCH', `${path}/status`, { status: { observedGeneration: 1 } }, MERGE_PATCH)],
        ['scale', (api) => api.send('PATCH', `${path}/scale`, { spec: { replicas: 0 } }, MERGE_PATCH)],
        ['deletecollection', (api) => api.send('DELETE', `${DEPLOYMENTS.path(namespace)}?dryRun=All`)],
        ['delete', (api) => api.send('DELETE', path)],
      ]
      for (const [verb, send] of verbs) {
        const refused = await send(other)
        expect([verb, refused.status]).toEqual([verb, 422])
        expect(refused.body.message).toContain('is held by pod-1_4f3c, not by pod-2')
        expect([verb, (await send(holder)).status < 300]).toEqual([verb, true])
      }
    }
  })

  test('minds sessions in containers', async () => {
    const own = await createNamespace()
    const { user, ...holder } = await cluster.createWriter(own, 'pod-1')
    const [other] = cluster.clientsOf(await cluster.createWriter(own, 'pod-2'))
    const [api] = cluster.clientsOf(holder)
    const lease = { metadata: { name: 'janitor' }, spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 3600 } }
    await cluster.admin.expect('POST', `/apis/coordination.k8s.io/v1/namespaces/${own}/leases`, lease)
    const resources = [{ apiGroup: '', resources: ['pods'] }]
    await cluster.apply(holderCheck({ lease: { name: 'janitor', namespace: own }, resources, writers: [user] }))
    for (const session of ['exec?command=true', 'attach', 'portforward']) {
      const path = `/api/v1/namespaces/${own}/pods/pod-1/${session}`
      await until('the holder check to hold', async () => (await other.send('POST', path)).status === 422)
      const refused = await other.send('POST', path)
      expect(refused.body.message).toContain('is held by pod-1, not by pod-2')
      // There is no kubelet: what the holder asks for gets as far as the Pod, which runs nowhere.
      expect((await api.send('POST', path)).body.message).toContain('does not have a host assigned')
    }
  })

  test('refuses a token that is bound to no Pod, and says so', async () => {
    const answer = await unbound[0].send('POST', CONFIG_MAPS.path(namespace), dryRun)
    expect(answer.status).toBe(422)
    expect(answer.body.message).toContain('the token of the writer is not bound to a Pod')
  })

  test('minds only the writers, and never the Lease itself', async () => {
    const path = `${CONFIG_MAPS.path(namespace)}?dryRun=All`
    expect((await cluster.admin.send('POST', path, dryRun)).status).toBe(201)
    const { body } = await second[0].get(`${leasePath()}/janitor`)
    expect((await second[0].send('PUT', `${leasePath()}/janitor`, body)).status).toBe(200)
  })

  test('follows the Lease to its next holder, whose name may begin with that of the former', async () => {
    await hold('pod-2')
    await untilWriters([second])
    await hold('pod-11_a')
    await untilWriters([])
    await hold('pod-1_b')
    await untilWriters([first])
  })

  test('lets nobody write while nobody holds the Lease, or while it does not exist, and says why', async () => {
    await hold('')
    await untilWriters([])
    const released = await first[0].send('POST', CONFIG_MAPS.path(namespace), dryRun)
    expect(released.body.message).toContain(`nobody holds the Lease ${namespace}/janitor`)
    await cluster.admin.expect('DELETE', `${leasePath()}/janitor`)
    await until('the deletion to be seen', async () => {
      const { status, body } = await first[0].send('POST', CONFIG_MAPS.path(namespace), dryRun)
      return status === 422 && (body.message ?? '').includes('no params found')
    })
    await hold('pod-1_c')
    await untilWriters([first])
  })

  test('by annotation admits only objects that carry the identity of the holder', async () => {
    const own = await createNamespace()
    const { user, token } = await cluster.createWriter(own)
    const [api] = cluster.clientsOf({ token })
    await cluster.admin.expect('POST', `/apis/coordination.k8s.io/v1/namespaces/${own}/leases`, {
      metadata: { name: 'janitor' },
      spec: { holderIdentity: 'replica-a', leaseDurationSeconds: 3600 },
    })
    await cluster.apply(
      holderCheck({
        lease: { name: 'janitor', namespace: own },
        resources: RESOURCES,
        writers: [user],
        recognizeBy: 'annotation',
      }),
    )
    const write = async (holder?: string) => {
      const annotations = holder === undefined ? {} : { 'tenure.dev/holder': holder }
      const body = { metadata: { name: 'probe', annotations } }
      return (await api.send('POST', `${CONFIG_MAPS.path(own)}?dryRun=All`, body)).status
    }
    await until('the holder check to hold', async () => (await write('replica-b#1')) === 422)
    expect([await write(), await write('replica-a'), await write('replica-a#1')]).toEqual([422, 422, 201])
    expect([await write('replica-a#b#1'), await write('#1'), await write('replica#1')]).toEqual([422, 422, 422])
    await create(DEPLOYMENTS, own, 'known', { 'tenure.dev/holder': 'replica-a#1' })
    const path = `${DEPLOYMENTS.path(own)}/known`
    const patch = async (holder: string, subresource = '') => {
      const body = { metadata: { annotations: { 'tenure.dev/holder': holder } } }
      return (await api.send('PATCH', `${path}${subresource}?dryRun=All`, body, MERGE_PATCH)).status
    }
    expect([await patch('replica-b#2'), await patch('replica-a#2')]).toEqual([422, 200])
    // It covers no subresource and no deletion.
    expect(await patch('replica-b#2', '/status')).toBe(200)
    expect((await api.send('DELETE', `${path}?dryRun=All`)).status).toBe(200)
  })

  test('by annotation refuses every write that does not name the annotation, though the object carries it', async () => {
    const own = await createNamespace()
    const { user, token } = await cluster.createWriter(own)
    const [api] = cluster.clientsOf({ token })
    await cluster.admin.expect('POST', `/apis/coordination.k8s.io/v1/namespaces/${own}/leases`, {
      metadata: { name: 'janitor' },
      spec: { holderIdentity: 'replica-a', leaseDurationSeconds: 3600 },
    })
    const lease = { name: 'janitor', namespace: own }
    await cluster.apply(holderCheck({ lease, resources: RESOURCES, writers: [user], recognizeBy: 'annotation' }))
    await create(CONFIG_MAPS, own, 'held', { 'tenure.dev/holder': 'replica-a#1' })
    const path = `${CONFIG_MAPS.path(own)}/held`
    const patch = (body: object, type: string) =>
      api.send('PATCH', `${path}?fieldManager=b${type === APPLY_PATCH ? '&force=true' : ''}`, body, type)
    await until('the holder check to hold', async () => (await patch({ data: { a: 'b' } }, MERGE_PATCH)).status === 422)
    const refused = await patch({ data: { a: 'b' } }, MERGE_PATCH)
    expect(refused.body.message).toContain('does not name the annotation tenure.dev/holder')
    expect((await patch([{ op: 'add', path: '/data', value: { a: 'b' } }], JSON_PATCH)).status).toBe(422)
    const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held' }, data: { a: 'b' } }
    expect((await patch(apply, APPLY_PATCH)).status).toBe(422)
    const stored = await api.expect('GET', path)
    expect((await api.send('PUT', path, { ...stored, data: { a: 'b' } })).status).toBe(422)
    const named = { metadata: { annotations: { 'tenure.dev/holder': 'replica-a#2' } }, data: { a: 'b' } }
    expect((await patch(named, MERGE_PATCH)).status).toBe(200)
  })

  test('in mode Warn refuses nothing, also while there is no Lease', async () => {
    const own = await createNamespace()
    const { user, token } = await cluster.createWriter(own)
    const [api] = cluster.clientsOf({ token })
    const lease = { name: 'janitor', namespace: own }
    const fences = [
      holderCheck({ lease, resources: RESOURCES, writers: [user], mode: 'Warn' }),
      termCheck({ lease, resources: RESOURCES, mode: 'Warn' }),
    ]
    for (const one of fences) await cluster.apply(one)
    await cluster.ensureLease(own)
    const body = { metadata: { name: 'seen', annotations: stamp(1n) } }
    const write = () => api.send('POST', `${CONFIG_MAPS.path(own)}?dryRun=All`, body)
    await until('the holder check to warn', async () => (await write()).warnings.includes('not bound to a Pod'))
    await cluster.admin.expect('DELETE', `/apis/coordination.k8s.io/v1/namespaces/${own}/leases/janitor`)
    await until('the deletion to be seen', async () => !(await write()).warnings.includes('not bound to a Pod'))
    expect((await write()).status).toBe(201)
  })
})
