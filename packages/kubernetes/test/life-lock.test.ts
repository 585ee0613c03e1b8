import type { ServerResponse } from 'node:http'
import type { LeaseRecord, Lock, LockSnapshot, Logger, PresentLease } from '@tenure/core'
import { silentLogger, systemClock } from '@tenure/core/internal'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type HeldBy, isOnLostNode, podEnd } from '../src/locks/life/ended-pod.ts'
import { type LifeLockOptions, resolveLifeLockOptions } from '../src/locks/life/life-lock-options.ts'
import { lifeLock } from '../src/locks/life/life-lock.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { grantLife, postPod } from './support/life-cluster.ts'
import { record } from './support/lease-record.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

const unaborted = { signal: new AbortController().signal }
const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'
const PODS = '/api/v1/namespaces/ops/pods'
const until = <T>(assert: () => T | Promise<T>): Promise<T> => vi.waitFor(assert, { timeout: 20_000, interval: 5 })

interface ConfigMap {
  readonly metadata: {
    readonly ownerReferences?: readonly object[]
    readonly resourceVersion: string
  }
}

let cluster: EmbeddedCluster
let serial = 0
const locks: Lock[] = []

beforeAll(async () => {
  cluster = await EmbeddedCluster.start()
})

afterEach(async () => void (await Promise.all(locks.splice(0).map((lock) => lock.close()))))
afterAll(() => cluster.stop())

/** A lock of one replica in a Pod of its own. */
async function replica(
  options: {
    readonly name?: string
    readonly pod?: string
    readonly isGranted?: boolean
    readonly logger?: Logger
  } = {},
) {
  const { name = `janitor-${++serial}`, isGranted = true, logger = silentLogger } = options
  const { pod = `${name}-a` } = options
  const user = pod
  if (isGranted) await grantLife(cluster, { name, user })
  const uid = await postPod(cluster, pod)
  const lock = lifeLock({
    kubeConfig: cluster.kubeConfig(user),
    name,
    namespace: 'ops',
    pod,
    container: 'janitor',
    logger,
  })
  locks.push(lock)
  const stored = async () => (await cluster.asAdmin('GET', `${CONFIG_MAPS}/${name}`)) as ConfigMap
  return { name, pod, uid, user, lock, stored, owner: { apiVersion: 'v1', kind: 'Pod', name: pod, uid } }
}

/**
 * A store with a ConfigMap that is deleted once a watch follows it. Shows a creation to the watch before it answers. Ends the watch then, and has
 * forgotten the version of the deletion.
 */
async function forgetfulStore() {
  const created = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const deleted = Promise.withResolvers<void>()
  const seen: LockSnapshot[] = []
  let following: ServerResponse | undefined
  let creating: ServerResponse | undefined
  const metadata = { name: 'janitor', namespace: 'ops', uid: 'cm' }
  const configMap = (resourceVersion: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...metadata,
      resourceVersion,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1' }],
    },
  })
  const show = (response: ServerResponse | undefined, type: string, object: object) =>
    response?.write(`${JSON.stringify({ type, object })}\n`)
  const server = await LoopbackServer.start(({ method, url }, response) => {
    const { pathname, searchParams } = new URL(url ?? '', 'http://127.0.0.1')
    const from = searchParams.get('resourceVersion')
    if (pathname.startsWith(PODS)) return answer(response, 200, { metadata: { name: 'p', uid: 'u-1' } })
    if (method === 'POST') {
      creating = response
      created.resolve()
      show(following, 'ADDED', configMap('9'))
      following?.end()
      return
    }
    if (!searchParams.has('watch'))
      return answer(response, 200, { metadata: { resourceVersion: '7' }, items: [configMap('7')] })
    if (from === '8') return answer(response, 410, { reason: 'Expired' })
    response.writeHead(200, { 'content-type': 'application/json' })
    if (from === '9') return resumed.resolve()
    following = response
    show(response, 'DELETED', configMap('8'))
  })
  const lock = lifeLock({ kubeConfig: server.kubeConfig(), name: 'janitor', namespace: 'ops', pod: 'p' })
  return {
    lock,
    seen,
    changed: (snapshot: LockSnapshot) => {
      seen.push(snapshot)
      if (snapshot.kind === 'absent') deleted.resolve()
    },
    untilDeleted: deleted.promise,
    untilCreated: created.promise,
    untilResumed: resumed.promise,
    answerCreation: () => creating && answer(creating, 201, configMap('9')),
    [Symbol.asyncDispose]: async () => {
      await lock.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A ConfigMap as operator-lib, or somebody else, makes it. */
async function put(name: string, ownerReferences: readonly object[]): Promise<void> {
  const metadata = { name, namespace: 'ops', ownerReferences }
  await cluster.asAdmin('POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
}

function acquiredBy(holderIdentity: string, previous: LeaseRecord): LeaseRecord {
  const time = '2026-01-02T04:00:00.000000Z'
  return { ...previous, holderIdentity, acquireTime: time, renewTime: time }
}

async function read(lock: Lock): Promise<PresentLease> {
  const lease = await lock.get(unaborted)
  if (lease.kind === 'absent') throw new Error('Expected the ConfigMap to exist')
  return lease
}

describe('a lock for life', () => {
  test('makes the Pod of its holder the owner, through acquisitions by others', async () => {
    const alpha = await replica()
    expect(alpha.lock.heldForLife).toBe(true)
    const beta = await replica({ name: alpha.name, pod: `${alpha.name}-b` })
    await alpha.lock.create(record, unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([alpha.owner])
    // A follower joins the list of standbys.
    const announced = { ...record, annotations: { 'tenure.dev/standby': '{}' } }
    await beta.lock.update(await read(beta.lock), announced, unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([alpha.owner])
    const released = { ...record, holderIdentity: '', renewTime: '2026-01-02T03:10:00.000000Z' }
    await alpha.lock.update(await read(alpha.lock), released, unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([alpha.owner])
    await beta.lock.update(await read(beta.lock), acquiredBy('b', record), unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([beta.owner])
  })

  test('keeps the old owner at a transfer, until the first renewal of the new holder', async () => {
    const alpha = await replica()
    const beta = await replica({ name: alpha.name, pod: `${alpha.name}-b` })
    await alpha.lock.create(record, unaborted)
    const transfer = { ...acquiredBy('b', record), annotations: { 'tenure.dev/transfer': '{}' } }
    const transferred = await alpha.lock.update(await read(alpha.lock), transfer, unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([alpha.owner])
    const renewed = { ...transfer, annotations: {}, renewTime: '2026-01-02T04:00:01.000000Z' }
    await beta.lock.update(transferred, renewed, unaborted)
    expect((await alpha.stored()).metadata.ownerReferences).toEqual([beta.owner])
    expect((await read(alpha.lock)).record.holderIdentity).toBe('b')
  })

  test('reads in place of a write that changes nothing', async () => {
    const { lock, user, stored } = await replica()
    const lease = await lock.create(record, unaborted)
    const { resourceVersion } = (await stored()).metadata
    await lock.update(lease, lease.record, unaborted)
    expect((await stored()).metadata.resourceVersion).toBe(resourceVersion)
    // The Pod is read for an acquisition.
    await lock.update(lease, { ...record, annotations: { 'tenure.dev/standbys': '{}' } }, unaborted)
    const verbs = cluster.server.requests.find({ user }).map(({ verb, resource }) => `${verb} ${resource}`)
    expect(verbs).toEqual(['get pods', 'create configmaps', 'get configmaps', 'update configmaps'])
  })

  test('tells which record was deleted directly before a creation, unless there was another ConfigMap in between', async () => {
    const alpha = await replica()
    const beta = await replica({ name: alpha.name, pod: `${alpha.name}-b` })
    const path = `${CONFIG_MAPS}/${alpha.name}`
    const seen: LockSnapshot[] = []
    const watch = beta.lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => {}, down: () => {} })
    const { record: held } = await alpha.lock.create(record, unaborted)
    await until(() => expect(seen.at(-1)).toMatchObject({ kind: 'present' }))
    await cluster.asAdmin('DELETE', path)
    await until(() => expect(seen.at(-1)).toMatchObject({ kind: 'absent', deleted: held }))
    // The answer comes before the news, which say less.
    const told = seen.length
    const created = await beta.lock.create(acquiredBy('b', record), unaborted)
    expect([created.replaced, seen.length]).toEqual([held, told])
    await until(() => expect(seen.at(-1)).toMatchObject({ kind: 'present', version: created.version }))

    await cluster.asAdmin('DELETE', path)
    await until(() => expect(seen.at(-1)).toMatchObject({ kind: 'absent', deleted: { holderIdentity: 'b' } }))
    await watch.close()
    await put(alpha.name, [alpha.owner])
    await cluster.asAdmin('DELETE', path)
    expect((await beta.lock.create(acquiredBy('b', record), unaborted)).replaced).toBeUndefined()
  })

  test('has nothing to tell of a deletion before a creation where the store has forgotten that version', async () => {
    await using store = await forgetfulStore()
    const { lock, untilDeleted } = store
    lock.watch({ changed: store.changed, up: () => {}, down: () => {} })
    await untilDeleted
    const creating = lock.create(record, unaborted)
    await store.untilCreated
    store.answerCreation()
    expect((await creating).replaced).toBeUndefined()
  })

  test('tells a watch that was closed during a creation nothing of it', async () => {
    await using store = await forgetfulStore()
    const { lock, untilDeleted } = store
    const watch = lock.watch({ changed: store.changed, up: () => {}, down: () => {} })
    await untilDeleted
    const told = store.seen.length
    const creating = lock.create(record, unaborted)
    await store.untilCreated
    // The news of the creation have come: the watch goes on from them.
    await store.untilResumed
    await watch.close()
    store.answerCreation()
    await creating
    await new Promise(setImmediate)
    expect(store.seen.length).toBe(told)
  })

  test('does not answer for a later term of the same holder', async () => {
    const { lock } = await replica()
    const lease = await lock.create(record, unaborted)
    await lock.update(lease, acquiredBy(record.holderIdentity, record), unaborted)
    await expect(lock.update(lease, record, unaborted)).rejects.toMatchObject({ failure: 'conflict' })
  })

  test('finds its container with its first watch, and says so once', async () => {
    const lines: Line[] = []
    const { lock, pod } = await replica({ logger: recordingLogger(lines) })
    const observer = { changed: () => {}, up: () => {}, down: () => {} }
    lock.watch(observer)
    lock.watch(observer)
    const startedAt = new Date(performance.timeOrigin).toISOString().replace(/\.\d+/, '')
    const status = { name: 'janitor', containerID: 'containerd://one', state: { running: { startedAt } } }
    await cluster.asAdmin('PATCH', `${PODS}/${pod}/status`, { status: { containerStatuses: [status] } })
    await until(() => expect(lock.processRef).toBeDefined())
    expect(lines.map(({ fields }) => fields['event'])).toEqual(['container-known'])
  })

  test('leaves no connection', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 404, { reason: 'NotFound' }))
    const lock = lifeLock({ kubeConfig: server.kubeConfig(), name: 'janitor', namespace: 'ops', pod: 'p' })
    await lock.get(unaborted)
    await lock.close()
    await server.untilDeserted()
  })

  test('does not answer for a ConfigMap that is gone, or of another holder', async () => {
    const { lock, name } = await replica()
    const lease = await lock.create(record, unaborted)
    const ofOther = await lock.update(lease, acquiredBy('b', record), unaborted)
    const why = `Could not keep configmap ops/${name}`
    await expect(lock.update(lease, record, unaborted)).rejects.toMatchObject({
      failure: 'conflict',
      message: `${why}: b holds it now`,
    })
    await lock.update(ofOther, { ...record, holderIdentity: '' }, unaborted)
    await expect(lock.update(lease, record, unaborted)).rejects.toMatchObject({
      failure: 'conflict',
      message: `${why}: nobody holds it now`,
    })
    await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/${name}`)
    await expect(lock.update(lease, record, unaborted)).rejects.toMatchObject({
      failure: 'not-found',
      message: `${why}: it was deleted`,
    })
  })

  test('takes the Pod that owns a ConfigMap of operator-lib for its holder', async () => {
    const { lock, name } = await replica()
    await put(name, [{ apiVersion: 'v1', kind: 'Pod', name: 'go-7d9f', uid: 'u-1' }])
    const { record: seen } = await read(lock)
    expect(seen).toMatchObject({ holderIdentity: 'go-7d9f', leaseDurationSeconds: undefined })
    expect(seen.acquireTime).toBeDefined()
    await expect(lock.create(record, unaborted)).rejects.toMatchObject({ failure: 'conflict' })
  })

  test('does not take a record for one of an owner that somebody has set', async () => {
    const { lock, name } = await replica()
    const lease = await lock.create(record, unaborted)
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'other', uid: 'u-2' }]
    await cluster.asAdmin('PATCH', `${CONFIG_MAPS}/${name}`, { metadata: { ownerReferences } })
    expect((await read(lock)).record.holderIdentity).toBe('other')
    await expect(lock.update(lease, lease.record, unaborted)).rejects.toMatchObject({ failure: 'conflict' })
  })

  test.each([
    ['no owner', [], 'got none'],
    ['two owners', ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: name })), 'got Pod a, Pod b'],
    ['another kind', [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'd' }], 'got Deployment d'],
    [
      'a Pod of another API group',
      [{ apiVersion: 'example.com/v1', kind: 'Pod', name: 'p', uid: 'p' }],
      'got example.com/v1 Pod p',
    ],
  ])('refuses a ConfigMap with %s, and says what to do', async (_what, owners, got) => {
    const { lock, name } = await replica()
    await put(name, owners)
    const reading = lock.get(unaborted)
    await expect(reading).rejects.toMatchObject({ failure: 'rejected' })
    await expect(reading).rejects.toThrow(
      `Expected the configmap ops/${name} to have one ownerReference, to a Pod, ${got}`,
    )
    await expect(reading).rejects.toThrow('Delete it, or choose another name')
  })

  test('acquires nothing without its Pod, nor once its Pod was deleted by force', async () => {
    const { lock, name, pod, user } = await replica()
    const lost = lifeLock({ kubeConfig: cluster.kubeConfig(user), name, namespace: 'ops', pod: 'missing' })
    locks.push(lost)
    const creating = lost.create(record, unaborted)
    await expect(creating).rejects.toMatchObject({ failure: 'rejected', cause: { failure: 'not-found' } })
    await expect(creating).rejects.toThrow('Could not find Pod ops/missing')
    await lock.create(record, unaborted)
    await cluster.asAdmin('DELETE', `${PODS}/${pod}?gracePeriodSeconds=0`)
    await postPod(cluster, pod)
    const acquiring = lock.update(await read(lock), acquiredBy('again', record), unaborted)
    await expect(acquiring).rejects.toThrow(`Could not find Pod ops/${pod}`)
  })

  test('acquires nothing while its Pod terminates', async () => {
    const { lock, pod } = await replica()
    await cluster.asAdmin('PATCH', `${PODS}/${pod}`, { metadata: { finalizers: ['example.com/keep'] } })
    await cluster.asAdmin('DELETE', `${PODS}/${pod}?gracePeriodSeconds=0`)
    const creating = lock.create(record, unaborted)
    await expect(creating).rejects.toMatchObject({ failure: 'rejected' })
    await expect(creating).rejects.toThrow(`Pod ops/${pod}, in which this process runs, is being deleted`)
  })

  test('acquires nothing in a process of an earlier Pod of the same name, which POD_UID tells', async () => {
    const { name, pod, user } = await replica()
    vi.stubEnv('POD_NAME', pod)
    vi.stubEnv('POD_UID', 'that of the Pod before')
    const outlived = lifeLock({ kubeConfig: cluster.kubeConfig(user), name, namespace: 'ops' })
    vi.unstubAllEnvs()
    locks.push(outlived)
    await expect(outlived.create(record, unaborted)).rejects.toThrow(`Could not find Pod ops/${pod}`)
  })

  test('names the right that is missing', async () => {
    const { lock } = await replica({ isGranted: false })
    await expect(lock.create(record, unaborted)).rejects.toThrow(/must grant the verb "get" on the resource "pods"/)
  })
})

describe('the options of a lock for life', () => {
  const env = { POD_NAME: 'janitor-0', POD_NAMESPACE: 'ops', CONTAINER_NAME: 'main' }

  test('come from the downward API', () => {
    expect(resolveLifeLockOptions({ name: 'janitor' }, env)).toEqual({
      name: 'janitor',
      namespace: 'ops',
      pod: 'janitor-0',
      podUid: undefined,
      container: 'main',
      silenceMs: 4000,
      client: { kubeConfig: expect.any(Function) },
    })
    const inEnvironment = { ...env, KUBECONFIG: '/nonexistent/kubeconfig' }
    const { kubeConfig } = resolveLifeLockOptions({ name: 'janitor' }, inEnvironment).client
    expect(kubeConfig).toThrow('/nonexistent/kubeconfig')
    const bare = resolveLifeLockOptions({ name: 'janitor' }, { ...env, CONTAINER_NAME: '' })
    expect(bare.container).toBeUndefined()
  })

  test('are taken as they are given, if they fit the Pod', () => {
    const kubeConfig = cluster.kubeConfig()
    const given = { name: 'a.b', namespace: 'ops', pod: 'other.0', container: 'side', silenceMs: 1 }
    const client = { kubeConfig, userAgent: 'shop', clock: systemClock, random: () => 0, logger: silentLogger }
    expect(resolveLifeLockOptions({ ...given, ...client }, env)).toEqual({ ...given, podUid: undefined, client })
    expect(resolveLifeLockOptions({ ...given, kubeConfig }, {}).namespace).toBe('ops')
  })

  test.each([
    'name',
    'namespace',
    'pod',
    'container',
    'silenceMs',
    'kubeConfig',
    'userAgent',
    'clock',
    'random',
    'logger',
  ])('have the option %s', (option) => {
    expect(() => resolveLifeLockOptions({ name: 'janitor', [`${option}Q`]: 1 }, env)).toThrow(
      `Unknown option \`${option}Q\` in \`lifeLock()\`; did you mean \`${option}\`?`,
    )
  })

  test('take POD_UID for that of the Pod that POD_NAME names, and of no other', () => {
    const variables = { ...env, POD_UID: 'u-1' }
    expect(resolveLifeLockOptions({ name: 'janitor' }, variables).podUid).toBe('u-1')
    expect(resolveLifeLockOptions({ name: 'janitor', pod: 'other' }, variables).podUid).toBeUndefined()
  })

  const NO_POD =
    'Expected the name of a Pod in `pod` or POD_NAME, got none: a leader for life is a Pod. Set POD_NAME by the downward API ' +
    '(`fieldRef: { fieldPath: metadata.name }`). Outside of Pods, use a Lease'

  test.each<[LifeLockOptions, NodeJS.ProcessEnv, string]>([
    [{ name: 'janitor' }, {}, NO_POD],
    [{ name: 'janitor', pod: '' }, env, NO_POD],
    [
      { name: 'janitor' },
      { POD_NAME: 'a' },
      'Expected the namespace of the Pod in `namespace` or POD_NAMESPACE, got none',
    ],
    [
      { name: 'janitor', namespace: 'prod' },
      env,
      'Expected `namespace` to be `ops`, the namespace of the Pod, because an ownerReference stays within a namespace, got `prod`',
    ],
    [{ name: 'janitor', namespace: 'No' }, env, '`namespace` to be an RFC 1123 label'],
    [{ name: 'janitor', pod: 'No' }, env, '`pod` to be an RFC 1123 subdomain'],
    [{ name: 'No' }, env, '`name` to be an RFC 1123 subdomain'],
    ...[0, -1, Infinity, NaN].map((silenceMs): [LifeLockOptions, NodeJS.ProcessEnv, string] => [
      { name: 'janitor', silenceMs },
      env,
      'Expected `silenceMs` to be a positive number of milliseconds, got `',
    ]),
  ])('%j are refused', (options, variables, message) => {
    expect(() => resolveLifeLockOptions(options, variables)).toThrow(message)
  })
})

describe('the Pod of a holder', () => {
  const running = { metadata: { uid: 'u' }, status: { phase: 'Running' } }
  const failed = { metadata: { uid: 'u' }, status: { phase: 'Failed', reason: 'Preempting' } }
  const ref = { namespace: 'ops', pod: 'p', podUid: 'u', container: 'c', containerId: 'x://1', processStartedAt: 0 }
  const held: HeldBy = {
    ref: undefined,
    acquireTime: '2026-01-01T00:00:00Z',
    self: { podUid: 'other', ref: undefined, startedAt: Date.UTC(2026, 0, 2) },
  }
  const inSamePod = { ...held.self, podUid: 'u' }
  const ended = { kind: 'ended' }

  test.each<readonly [string, object, HeldBy, object | undefined]>([
    ['has ended when it has failed', failed, held, ended],
    ['has ended when it has succeeded', { ...failed, status: { phase: 'Succeeded' } }, held, ended],
    ['has not ended while it runs', running, held, undefined],
    ['has ended when the holder was in this Pod before this process', running, { ...held, self: inSamePod }, ended],
    [
      'has not ended when the holder began after this process',
      running,
      { ...held, self: { ...inSamePod, startedAt: 0 } },
      undefined,
    ],
    [
      'has not ended when the holder is in a container of this Pod that is not known',
      running,
      { ...held, ref, self: inSamePod },
      undefined,
    ],
    [
      'has ended when the holder was an earlier start of this container',
      running,
      { ...held, ref, self: { ...inSamePod, ref: { ...ref, containerId: 'x://2' } } },
      ended,
    ],
    [
      'has not ended when the holder is in another container of this Pod',
      running,
      { ...held, ref, self: { ...inSamePod, ref: { ...ref, container: 'd', containerId: 'x://2' } } },
      undefined,
    ],
    [
      'is overdue ten seconds after the grace period of its deletion',
      { ...running, metadata: { uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 } },
      held,
      { kind: 'terminating', dueMs: 15_000 },
    ],
    [
      'that states no grace period has one of 30 s',
      { ...running, metadata: { uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      held,
      { kind: 'terminating', dueMs: 40_000 },
    ],
    ['without a uid is not this one', { ...running, metadata: {} }, { ...held, self: inSamePod }, undefined],
    [
      'has not ended when the holder began with this process',
      running,
      { ...held, self: { ...inSamePod, startedAt: Date.parse(held.acquireTime) } },
      undefined,
    ],
    [
      'has not ended when the holder is this very start of the container',
      running,
      { ...held, ref, self: { ...inSamePod, ref } },
      undefined,
    ],
    ['has not ended when the holder says no time', running, { ...held, acquireTime: '', self: inSamePod }, undefined],
  ])('%s', (_when, pod, holder, expected) => {
    expect(podEnd(pod as Record<string, unknown>, holder)).toEqual(expected)
  })

  const marked = (ready: string, containersReady: string) => ({
    status: {
      conditions: [
        { type: 'ContainersReady', status: containersReady },
        { type: 'Ready', status: ready },
      ],
    },
  })

  test.each<readonly [string, object, boolean]>([
    ['is on a lost node when it is not ready, but its containers are', marked('False', 'True'), true],
    ['is on no lost node when its containers are not ready', marked('False', 'False'), false],
    ['is on no lost node while it is ready', marked('True', 'True'), false],
    ['is on no lost node without conditions', { status: { conditions: 'x' } }, false],
    [
      'is on no lost node with conditions that are none',
      { status: { conditions: [null, 'x', { type: 'Ready' }] } },
      false,
    ],
    ['is on a lost node without gates', { ...marked('False', 'True'), spec: { readinessGates: [] } }, true],
    ['is on a lost node with gates that are none', { ...marked('False', 'True'), spec: { readinessGates: 'x' } }, true],
    [
      'is on no lost node when it may wait for a readiness gate',
      { ...marked('False', 'True'), spec: { readinessGates: [{ conditionType: 'example.com/up' }] } },
      false,
    ],
  ])('%s', (_when, pod, expected) => {
    expect(isOnLostNode(pod as Record<string, unknown>)).toBe(expected)
  })
})
