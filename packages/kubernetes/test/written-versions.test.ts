import {
  AppsV1Api,
  CoreV1Api,
  HttpMethod,
  KubeConfig,
  KubernetesObjectApi,
  ResponseContext,
} from '@kubernetes/client-node'
import { LeadershipEndedError } from '@tenure/core'
import { OTHER_COLLECTIONS, WriteGate } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { gated } from '../src/gate/gated.ts'
import { noteUnknownWrite, noteWrite, writtenVersions } from '../src/gate/written-versions.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'

const made = (resourceVersion: string) => ({
  kind: 'ConfigMap',
  metadata: { name: 'x', namespace: 'ops', resourceVersion },
})
const configMap = { namespace: 'ops', body: { metadata: { name: 'x' } } }
const named = { name: 'x', namespace: 'ops' }

/** A term that keeps what was written, and clients behind its gate. */
async function writing(status: number, body: object, contentType?: string, prefix = '') {
  const server = await LoopbackServer.start((_, response) => {
    if (contentType === undefined) answer(response, status, body)
    else response.writeHead(status, { 'content-type': contentType }).end('bytes')
  })
  const noted: string[] = []
  const gate = new AbortController()
  const term = {
    epoch: 1n,
    isHeld: () => true,
    gateSignal: gate.signal,
    noteVersion: (collection: string, version: string) => void noted.push(`${collection}: ${version}`),
  }
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: `${server.url}${prefix}`, skipTLSVerify: true }, { name: 'u' })
  const view = gated(term, kubeConfig)
  return {
    noted,
    view,
    close: () => gate.abort(new LeadershipEndedError('superseded', 1n)),
    core: view.makeApiClient(CoreV1Api),
    [Symbol.asyncDispose]: async () => {
      gate.abort(new LeadershipEndedError('step-down', 1n))
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('A write through the gate', () => {
  test('is noted with the version that it made, and its response is as before', async () => {
    await using written = await writing(201, made('41'))
    const { metadata } = await written.core.createNamespacedConfigMap(configMap)
    expect(metadata?.resourceVersion).toBe('41')
    await written.view.makeApiClient(AppsV1Api).patchNamespacedDeploymentStatus({ ...named, body: {} })
    await written.core.patchNode({ name: 'x', body: {} })
    await written.core.patchNamespace({ name: 'ops', body: {} })
    expect(written.noted).toEqual(['configmaps/ops: 41', 'deployments.apps/ops: 41', 'nodes: 41', 'namespaces: 41'])
  })

  test('of the status or the finalizers of a namespace counts for namespaces', async () => {
    await using written = await writing(200, made('41'))
    await written.core.patchNamespaceStatus({ name: 'ops', body: {} })
    await written.core.replaceNamespaceFinalize({ name: 'ops', body: {} })
    expect(written.noted).toEqual(['namespaces: 41', 'namespaces: 41'])
  })

  test.each(['/k8s/clusters/c-1', '/api/clusters/c-1'])('is noted for a server with the path %s', async (prefix) => {
    await using written = await writing(201, made('41'), undefined, prefix)
    await written.core.createNamespacedConfigMap(configMap)
    expect(written.noted).toEqual(['configmaps/ops: 41'])
  })

  test('in flight is noted without a version before the gate has closed', async () => {
    const arrived = Promise.withResolvers<void>()
    await using server = await LoopbackServer.start(() => arrived.resolve())
    const noted: string[] = []
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: true }, { name: 'u' })
    const gate = new AbortController()
    const noteVersion = (collection: string, version: string) => void noted.push(`${collection}: ${version}`)
    const term = { epoch: 1n, isHeld: () => true, gateSignal: gate.signal, noteVersion }
    const write = gated(term, kubeConfig).makeApiClient(CoreV1Api).createNamespacedConfigMap(configMap)
    const refused = expect(write).rejects.toThrow('write gate')
    await arrived.promise
    gate.abort(new LeadershipEndedError('step-down', 1n))
    const left = [...noted]
    await refused
    expect(left).toEqual(['configmaps/ops: '])
  })

  test('is noted without a version if its response has none', async () => {
    await using written = await writing(200, { kind: 'Status', status: 'Success', metadata: {} })
    await written.core.deleteNamespacedConfigMap(named)
    await written.core.deleteCollectionNamespacedConfigMap({ namespace: 'ops' })
    expect(written.noted).toEqual(['configmaps/ops: ', 'configmaps/ops: '])
  })

  test('that deletes a collection leaves its response, which may be large, to the client', async () => {
    const noted: string[] = []
    const noteVersion = (collection: string, version: string) => void noted.push(`${collection}: ${version}`)
    const gate = new WriteGate({
      epoch: 1n,
      isHeld: () => true,
      gateSignal: new AbortController().signal,
      noteVersion,
    } as ConstructorParameters<typeof WriteGate>[0])
    const read = () => Promise.reject(new Error('the body was read'))
    const body = { text: read, binary: read, stream: () => new ReadableStream<Uint8Array>() }
    const response = new ResponseContext(200, { 'content-type': 'application/json' }, body)
    const deletionAt = (url: string) => ({ getUrl: () => url, getHttpMethod: () => HttpMethod.DELETE })
    const pods = 'https://server.example/api/v1/namespaces/ops/pods'
    expect(await noteWrite(gate, deletionAt(`${pods}?labelSelector=app%3Dweb`), response)).toBe(response)
    expect(noted).toEqual(['pods/ops: '])
    await expect(noteWrite(gate, deletionAt(`${pods}/x`), response)).rejects.toThrow('the body was read')
  })

  test.each([
    ['a list', { kind: 'List', metadata: { resourceVersion: '9' }, items: [] }, undefined],
    ['not JSON', {}, 'application/vnd.kubernetes.protobuf'],
  ])('is noted without a version if its response is %s', async (_, body, contentType) => {
    await using written = await writing(200, body, contentType)
    await written.core.deleteNamespacedConfigMap(named).catch(() => {})
    expect(written.noted).toEqual(['configmaps/ops: '])
  })

  test.each([
    [500, ['configmaps/ops: ']],
    [504, ['configmaps/ops: ']],
    [409, []],
    [403, []],
  ])('that the server answers with %d', async (status, noted) => {
    await using written = await writing(status, { kind: 'Status', code: status })
    await expect(written.core.createNamespacedConfigMap(configMap)).rejects.toThrow()
    expect(written.noted).toEqual(noted)
  })

  test('is noted without a version if its connection breaks', async () => {
    await using server = await LoopbackServer.start((_, response) => void response.destroy())
    const noted: string[] = []
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: true }, { name: 'u' })
    const gateSignal = new AbortController().signal
    const noteVersion = (collection: string, version: string) => void noted.push(`${collection}: ${version}`)
    const term = { epoch: 1n, isHeld: () => true, gateSignal, noteVersion }
    const core = gated(term, kubeConfig).makeApiClient(CoreV1Api)
    await expect(core.createNamespacedConfigMap(configMap)).rejects.toThrow()
    expect(noted).toEqual(['configmaps/ops: '])
  })

  test('of another client is noted without a version: its response is not read', async () => {
    await using written = await writing(200, made('41'))
    const objects = KubernetesObjectApi.makeApiClient(written.view)
    await objects.delete({ apiVersion: 'v1', kind: 'ConfigMap', metadata: named }).catch(() => {})
    expect(written.noted.filter((line) => line !== 'configmaps/ops: ')).toEqual([])
  })

  test('is not noted if it changes nothing: a dry run, a read, a refused write', async () => {
    await using written = await writing(200, made('41'))
    await written.core.createNamespacedConfigMap({ ...configMap, dryRun: 'All' })
    await written.core.readNamespacedConfigMap(named)
    written.close()
    await expect(written.core.createNamespacedConfigMap(configMap)).rejects.toThrow('write gate')
    expect(written.noted).toEqual([])
  })
})

/** The collection that a write to this address is noted for. */
function collectionOf(url: string): string | undefined {
  const noted: string[] = []
  const term = {
    epoch: 1n,
    isHeld: () => true,
    gateSignal: new AbortController().signal,
    noteVersion: (collection: string, version: string) => void noted.push(`${collection}${version}`),
  }
  noteUnknownWrite(new WriteGate(term), url)
  return noted[0]
}

test.each([
  ['https://server.example/api/v1/namespaces/ops/pods/x', 'pods/ops'],
  ['https://server.example/api/v1/nodes', 'nodes'],
  ['https://server.example/apis/apps/v1/namespaces/ops/deployments/x/scale', 'deployments.apps/ops'],
  ['https://server.example/apis/apps.example.com/v1beta1/widgets/x', 'widgets.apps.example.com'],
  ['https://server.example/api/v1/namespaces/ops/status', 'namespaces'],
  ['https://server.example/api/v1/namespaces/ops/finalize', 'namespaces'],
  ['https://server.example/api/v1/namespaces/ops/statuses', 'statuses/ops'],
  ['https://server.example/api/v1/namespaces/ops', 'namespaces'],
  ['/api/v1/pods?fieldManager=me', 'pods'],
  ['https://server.example/api/v1/pods?dryRun=All', undefined],
  ['https://server.example/version', undefined],
  ['https://server.example/api/v1', undefined],
  ['server.example:443', undefined],
  ['http://', undefined],
])('a write to %s counts for %s', (url, collection) => {
  expect(collectionOf(url)).toBe(collection)
})

test('a term that does not keep versions is not told', () => {
  const term = { epoch: 1n, isHeld: () => true, gateSignal: new AbortController().signal }
  expect(() => noteUnknownWrite(new WriteGate(term), '/api/v1/pods')).not.toThrow()
})

describe('What terms have written of a collection', () => {
  const pods = { group: '', resource: 'pods', namespace: '' }
  const inOps = { ...pods, namespace: 'ops' }
  const versions = new Map([
    ['pods/ops', '5'],
    ['pods/web', '6'],
    ['podsets/ops', '7'],
    ['pods.metrics/ops', '8'],
  ])

  test.each([
    ['a namespace is its own', inOps, versions, { 'pods/ops': '5' }],
    ['all namespaces is that of each', pods, versions, { 'pods/ops': '5', 'pods/web': '6' }],
    ['a namespace that nobody wrote is nothing', { ...pods, namespace: 'none' }, versions, {}],
    ['a group is its own', { ...inOps, group: 'metrics' }, versions, { 'pods.metrics/ops': '8' }],
    [
      'a collection that may have been written is not known',
      { ...pods, namespace: 'none' },
      new Map([...versions, [OTHER_COLLECTIONS, '']]),
      { 'pods/none': '' },
    ],
    [
      'a collection that is known stays known beside others that are not',
      inOps,
      new Map([...versions, [OTHER_COLLECTIONS, '']]),
      { 'pods/ops': '5' },
    ],
    ['any collection is not known without versions', inOps, undefined, { 'pods/ops': '' }],
  ])('of %s', (_what, collection, known, written) => {
    expect(Object.fromEntries(writtenVersions(collection, known))).toEqual(written)
  })
})

describe('The response to a write', () => {
  const url = 'https://server.example/api/v1/namespaces/ops/configmaps/x'

  /** What is noted of a response with this status, type and body. */
  async function notedOf(
    status: number,
    type: string | undefined,
    text: string,
    method: HttpMethod = HttpMethod.PUT,
    to = url,
  ) {
    const noted: string[] = []
    const noteVersion = (collection: string, version: string) => void noted.push(`${collection}: ${version}`)
    const term = { epoch: 1n, isHeld: () => true, gateSignal: new AbortController().signal, noteVersion }
    const body = {
      text: async () => text,
      binary: async () => Buffer.from(text),
      stream: () => new ReadableStream<Uint8Array>(),
    }
    const response = new ResponseContext(status, type === undefined ? {} : { 'content-type': type }, body)
    const answered = await noteWrite(new WriteGate(term), { getUrl: () => to, getHttpMethod: () => method }, response)
    expect(await answered.body.text()).toBe(text)
    return noted
  }

  const object = JSON.stringify(made('41'))

  test.each([
    [200, 'application/json', object, '41'],
    [299, 'application/json; charset=utf-8', object, '41'],
    [200, undefined, object, ''],
    [200, 'text/plain', object, ''],
    [500, 'application/json', object, ''],
    [200, 'application/json', '{', ''],
    [200, 'application/json', '[]', ''],
    [200, 'application/json', '{"metadata":{"resourceVersion":7}}', ''],
    [200, 'application/json', '{"metadata":{"resourceVersion":"9"},"items":[]}', ''],
    [200, 'application/json', '{"metadata":{"resourceVersion":"9"},"items":7}', '9'],
  ])('with status %d and type %s is noted with the version of %s: "%s"', async (status, type, text, version) => {
    expect(await notedOf(status, type, text)).toEqual([`configmaps/ops: ${version}`])
  })

  test.each([300, 404, 499])('with status %d is not noted', async (status) => {
    expect(await notedOf(status, 'application/json', object)).toEqual([])
  })

  test('that creates an object in a collection is noted with its version, any other of a collection without one', async () => {
    const collection = url.replace('/x', '')
    expect(await notedOf(201, 'application/json', object, HttpMethod.POST, collection)).toEqual(['configmaps/ops: 41'])
    expect(await notedOf(200, 'application/json', object, HttpMethod.DELETE, collection)).toEqual(['configmaps/ops: '])
  })
})
