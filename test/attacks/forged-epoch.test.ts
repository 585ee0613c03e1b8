/** Writers that forge annotations against the fences on a real API server. */
import { holderCheck, termCheck } from '@tenure/kubernetes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../faults/api.ts'
import { FencedCluster, until } from '../faults/fenced-cluster.ts'

const RESOURCES = [{ apiGroup: '', resources: ['configmaps'] }]

let cluster: FencedCluster
let namespaces = 0
beforeAll(async () => {
  cluster = await FencedCluster.start()
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})

async function openNamespace() {
  const namespace = `forged-${++namespaces}`
  await cluster.createNamespace(namespace)
  const { user, token } = await cluster.createWriter(namespace)
  const [writer] = cluster.clientsOf({ token })
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const spec = { holderIdentity: 'replica-a', leaseDurationSeconds: 15 }
  const lease = await cluster.admin.expect('POST', leases, { metadata: { name: 'janitor' }, spec })
  const epoch = BigInt((lease.metadata as { readonly resourceVersion: string }).resourceVersion)
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const options = { lease: { name: 'janitor', namespace }, resources: RESOURCES }
  return { namespace, user, writer, leases: `${leases}/janitor`, epoch, path, options }
}

const stamp = (epoch: bigint | string) => ({ 'tenure.dev/epoch': String(epoch), 'tenure.dev/lease': 'janitor' })

test('no writer of a guarded object can keep later terms out by an epoch that no term has had', async () => {
  const { writer, leases, epoch, path, options } = await openNamespace()
  await cluster.apply(termCheck(options))
  const annotated = (value: bigint | string) => ({ metadata: { annotations: stamp(value) } })
  await cluster.admin.expect('POST', path, { metadata: { name: 'held', annotations: stamp(epoch) } })
  const held = `${path}/held`
  await until('the fence to hold', async () => {
    return (await writer.send('PATCH', `${held}?dryRun=All`, annotated(epoch + 1_000_000n), MERGE_PATCH)).status === 422
  })
  for (const forged of [2n ** 63n - 1n, 2n ** 62n, 2n ** 53n, epoch + 1_000_000n]) {
    const annotations = stamp(forged)
    const created = await writer.send('POST', path, { metadata: { name: `c-${forged}`, annotations } })
    const merged = await writer.send('PATCH', held, annotated(forged), MERGE_PATCH)
    const operations = [{ op: 'replace', path: '/metadata/annotations/tenure.dev~1epoch', value: String(forged) }]
    const patched = await writer.send('PATCH', held, operations, JSON_PATCH)
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held', annotations } }
    const applied = await writer.send('PATCH', `${held}?fieldManager=forger&force=true`, body, APPLY_PATCH)
    const updated = await writer.send('PUT', held, body)
    const statuses = [created, merged, patched, applied, updated].map(({ status }) => status)
    expect([forged, statuses]).toEqual([forged, [422, 422, 422, 422, 422]])
  }
  const next = await cluster.admin.expect('PATCH', leases, { spec: { holderIdentity: 'replica-b' } }, MERGE_PATCH)
  const later = (next.metadata as { readonly resourceVersion: string }).resourceVersion
  expect((await writer.send('PATCH', held, annotated(later), MERGE_PATCH)).status).toBe(200)
  expect((await writer.send('PATCH', held, annotated(epoch), MERGE_PATCH)).status).toBe(422)
})

test('a term may write whose epoch continues above that of another store', async () => {
  const { writer, leases, epoch, path, options } = await openNamespace()
  const least = epoch + 5_000_000n
  await cluster.apply(termCheck(options))
  const held = `${path}/held`
  await cluster.admin.expect('POST', path, { metadata: { name: 'held', annotations: stamp(epoch) } })
  const write = async (value: bigint, query = '') =>
    (await writer.send('PATCH', `${held}${query}`, { metadata: { annotations: stamp(value) } }, MERGE_PATCH)).status
  await until('the fence to hold', async () => (await write(least, '?dryRun=All')) === 422)
  const annotations = { 'tenure.dev/least-epoch': String(least) }
  await cluster.admin.expect('PATCH', leases, { metadata: { annotations } }, MERGE_PATCH)
  await until('the fence to know the Lease', async () => (await write(least)) === 200)
  expect([await write(epoch), await write(least + 1_000_000n)]).toEqual([422, 422])
})

test('no writer gets past the holder check by leaving alone the annotation that the holder wrote', async () => {
  const { user, writer, path, options } = await openNamespace()
  await cluster.apply(holderCheck({ ...options, writers: [user], recognizeBy: 'annotation' }))
  const annotations = { 'tenure.dev/holder': 'replica-a#first' }
  await cluster.admin.expect('POST', path, { metadata: { name: 'held', annotations } })
  const held = `${path}/held`
  const data = { forged: 'yes' }
  await until('the fence to hold', async () => {
    return (await writer.send('PATCH', `${held}?dryRun=All`, { data }, MERGE_PATCH)).status === 422
  })
  const statuses = [
    await writer.send('PATCH', held, { data }, MERGE_PATCH),
    await writer.send('PATCH', held, [{ op: 'add', path: '/data', value: data }], JSON_PATCH),
    await writer.send(
      'PATCH',
      `${held}?fieldManager=b&force=true`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held' }, data },
      APPLY_PATCH,
    ),
    await writer.send('PATCH', held, { data, metadata: { annotations } }, MERGE_PATCH),
    await writer.send('PUT', held, { ...(await writer.expect('GET', held)), data }),
  ].map(({ status }) => status)
  expect(statuses).toEqual([422, 422, 422, 422, 422])
  const named = { data, metadata: { annotations: { 'tenure.dev/holder': 'replica-a#second' } } }
  expect((await writer.send('PATCH', held, named, MERGE_PATCH)).status).toBe(200)
})
