import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiRequestError } from '../src/client/api-request-error.ts'
import type { JsonObject } from '../src/json-object.ts'
import { isDraining } from '../src/locks/departure/leaving-objects.ts'
import { PodDeparture } from '../src/locks/departure/pod-departure.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { FakeLeaseClient } from './support/fake-lease-client.ts'
import { ObjectServer } from './support/object-server.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

const pod = (metadata: JsonObject = {}): JsonObject => ({
  metadata: { uid: 'one', ...metadata },
  spec: { nodeName: 'n1' },
})
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function watched(uid?: string) {
  const client = new FakeLeaseClient()
  const lines: Line[] = []
  const departure = new PodDeparture({
    client,
    pod: { name: 'p', namespace: 'ops', uid },
    logger: recordingLogger(lines),
  })
  const changes: unknown[] = []
  departure.watch(() => changes.push(departure.state))
  departure.start()
  return { client, departure, changes, lines }
}

describe('the departure of a Pod', () => {
  test('is unknown until its Pod is seen, and then while it stays', () => {
    const { client, departure, changes } = watched()
    expect(departure.state).toBeUndefined()
    client.shows('pods', pod())
    expect(changes).toEqual([])
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p', '/api/v1/nodes/n1'])
  })

  test('is seen by its deletion timestamp, once', () => {
    const { client, changes, lines } = watched()
    client.shows('pods', pod())
    client.shows('pods', pod(DELETED))
    client.shows('pods', pod({ ...DELETED, labels: {} }))
    expect(changes).toEqual(['stopping'])
    expect(lines.map(({ fields }) => fields['event'])).toEqual(['departure'])
  })

  test.each<[string, JsonObject | undefined]>([
    ['is gone', undefined],
    ['has made way for another one of its name', pod({ uid: 'two' })],
  ])('is certain when it was seen and %s', (_, next) => {
    const { client, departure } = watched()
    client.shows('pods', pod())
    client.shows('pods', next)
    expect(departure.state).toBe('stopping')
  })

  test('is seen at once when another Pod has its name already', () => {
    const { client, departure } = watched('one')
    client.shows('pods', pod({ uid: 'two' }))
    expect(departure.state).toBe('stopping')
  })

  test('is not concluded from a Pod that was never there: its name may be wrong', () => {
    const { client, departure } = watched()
    client.shows('pods', undefined)
    expect(departure.state).toBeUndefined()
  })

  test.each<[string, JsonObject]>([
    ['is cordoned', { spec: { unschedulable: true } }],
    ['is about to be removed', { spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } }],
    ['is being deleted', { metadata: DELETED, spec: {} }],
  ])('is near when its node %s, and not after that has ended', (_, node) => {
    const { client, changes } = watched()
    client.shows('pods', pod())
    client.shows('nodes', node)
    client.shows('nodes', { spec: {} })
    expect(changes).toEqual(['draining', undefined])
  })

  test.each<[string, JsonObject | undefined]>([
    ['is cut off', { spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] } }],
    ['is reserved', { spec: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }, null] } }],
    ['says nonsense', { spec: { taints: 'all', unschedulable: 'yes' } }],
    ['is not there', undefined],
  ])('is not concluded from a node that %s', (_, node) => {
    const { client, departure } = watched()
    client.shows('pods', pod())
    client.shows('nodes', node)
    expect(departure.state).toBeUndefined()
  })

  test('of a Pod that is deleted counts more than that of its node', () => {
    const { client, changes } = watched()
    client.shows('pods', pod())
    client.shows('nodes', { spec: { unschedulable: true } })
    client.shows('pods', pod(DELETED))
    client.shows('nodes', { spec: {} })
    expect(changes).toEqual(['draining', 'stopping'])
  })

  test('goes unseen where the right to see it is missing, which one line says', () => {
    const { client, departure, lines } = watched()
    client.shows('pods', pod())
    client.fails('nodes', forbidden('nodes'))
    expect(client.closed).toEqual(['nodes'])
    expect(lines.map(({ level, fields }) => [level, fields['event']])).toEqual([['info', 'departure-unseen']])
    expect(departure.state).toBeUndefined()
  })

  test.each([
    ['pods', 'This replica does not see when its Pod is being deleted: it cannot list and watch pods'],
    ['nodes', 'This replica does not see when its node is drained: it cannot list and watch nodes'],
  ])('names what goes unseen without the right to watch %s', (resource, message) => {
    const { client, lines } = watched()
    client.shows('pods', pod())
    client.fails(resource, forbidden(resource))
    expect(lines.map((line) => line.message)).toEqual([message])
  })

  test('is still watched after an outage', () => {
    const { client, lines } = watched()
    client.fails('pods', new Error('connection reset'))
    expect(client.closed).toEqual([])
    expect(lines).toEqual([])
  })
})

describe('the watches of a departure', () => {
  test('are patient, and do without what they may not see', async () => {
    const server = new ObjectServer(new VirtualClock())
    const departure = new PodDeparture({ client: server.client, pod: { name: 'p', namespace: 'ops' } })
    departure.start()
    const PODS = { group: '', version: 'v1', resource: 'pods', namespace: 'ops', name: 'p' }
    server.put(PODS, pod())
    server.show(PODS)
    const patience = { silenceMs: 240_000, isOptional: true }
    expect(server.watches).toMatchObject([
      { reference: PODS, ...patience },
      { reference: { group: '', version: 'v1', resource: 'nodes', namespace: '', name: 'n1' }, ...patience },
    ])
    for (const { observer } of server.watches) observer.up()
    // Without a logger, it says nothing.
    server.put(PODS, pod(DELETED))
    server.show(PODS)
    expect(departure.state).toBe('stopping')
    server.watches[1]?.observer.down(forbidden('nodes'))
    expect(server.watches).toHaveLength(1)
    await departure.close()
    expect(server.watches).toEqual([])
  })

  test('are one of the Pod and one of its node, however often the Pod is seen', () => {
    const { client } = watched()
    client.shows('pods', pod())
    client.shows('pods', pod({ labels: {} }))
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p', '/api/v1/nodes/n1'])
  })

  test('leave alone the node of another Pod that has its name, until its own is seen', () => {
    const { client, departure } = watched('one')
    client.shows('pods', pod({ uid: 'two' }))
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p'])
    client.shows('pods', pod())
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p', '/api/v1/nodes/n1'])
    expect(departure.state).toBeUndefined()
  })

  test('know the Pod by the first that was seen', () => {
    const { client, departure } = watched()
    client.shows('pods', pod({ uid: 'two' }))
    expect(departure.state).toBeUndefined()
    client.shows('pods', pod({ uid: 'one' }))
    expect(departure.state).toBe('stopping')
  })

  test('go on after an outage that the API server answers', () => {
    const { client, lines } = watched()
    client.fails('pods', new ApiRequestError('unreachable', 'no'))
    expect([client.closed, lines]).toEqual([[], []])
  })

  test('go on after a failure that only looks like an answer', () => {
    const { client, lines } = watched()
    client.fails('pods', Object.assign(new Error('no'), { failure: 'forbidden' }))
    expect([client.closed, lines]).toEqual([[], []])
  })

  test('are closed once', async () => {
    const { client, departure } = watched()
    client.shows('pods', pod())
    client.fails('nodes', forbidden('nodes'))
    await departure.close()
    expect(client.closed).toEqual(['nodes', 'pods'])
  })

  test('see nothing in an object that is none', () => {
    const { client, departure } = watched()
    client.shows('pods', pod())
    client.shows('pods', 'text' as unknown as JsonObject)
    expect(departure.state).toBeUndefined()
  })
})

describe('the log of a departure', () => {
  test('says what begins and what ends', () => {
    const { client, lines } = watched()
    client.shows('pods', pod())
    client.shows('nodes', { spec: { unschedulable: true } })
    client.shows('nodes', { spec: {} })
    client.shows('pods', pod(DELETED))
    const line = (departure: string, message: string) => ({
      level: 'info',
      message,
      fields: { event: 'departure', departure, pod: 'p' },
    })
    expect(lines).toEqual([
      line('draining', 'The node of this process is being drained: other replicas lead first'),
      line('none', 'The node of this process takes Pods again'),
      line('stopping', 'The Pod of this process is being deleted: other replicas lead first'),
    ])
  })

  test.each(['forbidden', 'not-found'] as const)(
    'says that a watch is %s, which is then not tried again',
    (failure) => {
      const { client, lines } = watched()
      const err = new ApiRequestError(failure, 'no')
      client.fails('pods', err)
      expect(client.closed).toEqual(['pods'])
      expect(lines).toEqual([
        {
          level: 'info',
          message: 'This replica does not see when its Pod is being deleted: it cannot list and watch pods',
          fields: { event: 'departure-unseen', resource: 'pods', err },
        },
      ])
    },
  )
})

describe('the departure of a Pod, once it is closed,', () => {
  test('is not watched any more, and reaches no listener', async () => {
    const { client, departure, changes } = watched()
    client.shows('pods', pod())
    await departure.close()
    expect(client.closed).toEqual(['pods', 'nodes'])
    client.shows('pods', pod(DELETED))
    expect(changes).toEqual([])
    departure.start()
    expect(client.opened).toHaveLength(2)
  })

  test('for one listener still reaches the others', async () => {
    const { client, departure, changes } = watched()
    const heard: unknown[] = []
    const watch = departure.watch(() => heard.push(departure.state))
    client.shows('pods', pod())
    await watch.close()
    client.shows('pods', pod(DELETED))
    expect([heard, changes]).toEqual([[], ['stopping']])
  })

  test('opens no watch of a node that is not known', () => {
    const { client } = watched()
    client.shows('pods', { metadata: { uid: 'one' } })
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/p'])
  })

  test.each(['client', 'pod', 'logger'])('has the option %s', (option) => {
    const options = { client: new FakeLeaseClient(), pod: { name: 'p', namespace: 'ops' }, [`${option}Q`]: 1 }
    expect(() => new PodDeparture(options)).toThrow(
      `Unknown option \`${option}Q\` in the options of a PodDeparture; did you mean \`${option}\`?`,
    )
  })
})

test.each([
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/shutdown',
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
])('a node with the taint %s is being drained', (key) => {
  expect(isDraining({ spec: { taints: [{ key: 'dedicated' }, { key }] } })).toBe(true)
  expect(isDraining({ spec: { taints: [{}, { key: 1 }] } })).toBe(false)
})

function forbidden(resource: string): ApiRequestError {
  return new ApiRequestError('forbidden', `${resource} is forbidden`, { statusCode: 403 })
}

describe('on an API server', () => {
  let cluster: EmbeddedCluster
  beforeAll(async () => {
    cluster = await EmbeddedCluster.start()
  })
  afterAll(() => cluster.stop())

  const PODS = '/api/v1/namespaces/ops/pods'
  const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/ops'

  /** A Pod of a kubelet that has not ended it, and the watch of its process as this user. */
  async function living(name: string) {
    const spec = { containers: [{ name: 'janitor', image: 'janitor:1' }] }
    const metadata = { name, namespace: 'ops', finalizers: ['example.com/kubelet'] }
    await cluster.asAdmin('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
    const lines: Line[] = []
    const logger = recordingLogger(lines)
    const client = new LeaseClient({ kubeConfig: cluster.kubeConfig(name), logger })
    const departure = new PodDeparture({ client, pod: { name, namespace: 'ops' }, logger })
    const changes = new EventEmitter()
    departure.watch(() => changes.emit('change'))
    return {
      departure,
      changes,
      lines,
      [Symbol.asyncDispose]: async () => {
        await departure.close()
        await client.close()
      },
    }
  }

  async function grant(name: string): Promise<void> {
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }]
    const { role, roleBinding } = leaseRole({ name, namespace: 'ops', subjects, watchPod: true })
    await cluster.asAdmin('POST', `${RBAC}/roles`, role)
    await cluster.asAdmin('POST', `${RBAC}/rolebindings`, roleBinding)
  }

  test('a replica with the documented rights sees the deletion of its Pod while its container runs', async () => {
    await grant('seeing')
    await using replica = await living('seeing')
    replica.departure.start()
    const changed = once(replica.changes, 'change')
    await cluster.asAdmin('DELETE', `${PODS}/seeing`)
    await changed
    expect(replica.departure.state).toBe('stopping')
  })

  test('a replica without them asks once, says so at the level info, and not again', async () => {
    await using replica = await living('blind')
    replica.departure.start()
    while (replica.lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await cluster.asAdmin('DELETE', `${PODS}/blind`)
    expect(replica.lines.map(({ level, fields }) => [level, fields['event']])).toEqual([['info', 'departure-unseen']])
    expect(cluster.server.requests.find({ user: 'blind' })).toHaveLength(1)
    expect(replica.departure.state).toBeUndefined()
  })
})
