import type { LeaseRecord, PresentLease } from '@tenure/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { formatContainerRef } from '../src/locks/death/container-ref.ts'
import { PodDeathProof } from '../src/locks/death/pod-death-proof.ts'
import { ObjectLock } from '../src/locks/lease/object-lock.ts'
import type { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { lifeCodec } from '../src/locks/life/life-config-map.ts'
import { OwnPod } from '../src/locks/life/own-pod.ts'
import { OwnerWatches } from '../src/locks/life/owner-watches.ts'
import { FakeLeaseClient } from './support/fake-lease-client.ts'
import { record } from './support/lease-record.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { refusal, ScriptedConnection } from './support/scripted-connection.ts'

const OWNER = { name: 'holder-pod', uid: 'u-1' }
const HOLDER = { identity: 'a', acquireTime: record.acquireTime ?? '', processRef: '' }
const CONTAINER = {
  namespace: 'ops',
  pod: OWNER.name,
  podUid: OWNER.uid,
  container: 'janitor',
  containerId: 'containerd://one',
  processStartedAt: Date.parse('2026-01-01T00:00:00Z'),
}

let clock: VirtualClock
beforeEach(() => {
  clock = new VirtualClock()
})

const holderPod = (more: object = {}, metadata: object = {}) => ({
  metadata: { name: OWNER.name, uid: OWNER.uid, ...metadata },
  spec: { nodeName: 'n1' },
  status: { phase: 'Running' },
  ...more,
})
const node = (ready: string) => ({ status: { conditions: [{ type: 'Ready', status: ready }] } })
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 }

/** A watch of the Pod of a holder, on scripted answers. */
function watching({ lasts = true, processRef = '', ownPod = 'own-pod' } = {}) {
  const transport = new ScriptedConnection()
  const fake = new FakeLeaseClient()
  const client = Object.assign(fake, { transport }) as unknown as LeaseClient
  const lines: Line[] = []
  const logger = recordingLogger(lines)
  const codec = lifeCodec(() => OWNER)
  const reference = { ...codec.resource, name: 'janitor', namespace: 'ops' }
  const metadata = { name: 'janitor', namespace: 'ops', uid: 'cm', resourceVersion: '7' }
  const stored = (of: LeaseRecord) => codec.body({ metadata }, { ...metadata, labels: {}, annotations: {} }, of)
  const object = stored(record)
  const held: PresentLease = {
    kind: 'present',
    version: 7n,
    record: lasts ? record : { ...record, leaseDurationSeconds: undefined },
    native: object,
  } as PresentLease
  const server: Record<string, unknown> = {
    'get configmaps': object,
    'get pods': holderPod(),
    'get nodes': node('True'),
  }
  transport.onSend = async ({ target }) => {
    const answer = (await server[`${target.verb} ${target.resource}`]) ?? {}
    if (typeof answer === 'number') throw refusal(target, answer)
    return answer
  }
  const lock = new ObjectLock({
    codec,
    client,
    ownsClient: false,
    name: 'janitor',
    namespace: 'ops',
    labels: {},
    annotations: {},
    silenceMs: 4000,
    deathProof: undefined,
  })
  const pod = new OwnPod({ client, name: ownPod, namespace: 'ops', uid: undefined })
  const watches = new OwnerWatches({
    client,
    reference,
    lock,
    pod,
    proof: new PodDeathProof({ client }),
    clock,
    logger,
  })
  watches.see(held)
  const watch = watches.watch({ ...HOLDER, processRef }, { dead: () => {} })
  const deletions = () => transport.sent.filter(({ method }) => method === 'DELETE')
  return { fake, lines, server, watch, watches, deletions, stored }
}

const ended = (why: string, reason: string) => ({
  level: 'info',
  message: `${why}: configmap ops/janitor is deleted, and its next leader waits before it acts`,
  fields: { event: 'holder-ended', holder: 'a', pod: 'holder-pod', reason },
})

describe('the ConfigMap of a holder', () => {
  test('is deleted, as it was read, when the Pod of the holder has ended', async () => {
    const { fake, lines, deletions, watch } = watching()
    fake.shows('pods', holderPod())
    await clock.advance(0)
    expect([fake.opened, deletions()]).toEqual([['/api/v1/namespaces/ops/pods/holder-pod'], []])
    fake.shows('pods', holderPod({ status: { phase: 'Failed' } }))
    await clock.advance(0)
    expect(deletions()).toEqual([
      {
        method: 'DELETE',
        path: '/api/v1/namespaces/ops/configmaps/janitor',
        body: { preconditions: { uid: 'cm', resourceVersion: '7' } },
        target: { verb: 'delete', group: '', resource: 'configmaps', namespace: 'ops', name: 'janitor' },
        signal: expect.any(AbortSignal),
      },
    ])
    expect(lines).toEqual([ended('The Pod of the holder has ended', 'ended')])
    await watch.close()
    expect([fake.closed, clock.pendingTimers]).toEqual([['pods'], 0])
  })

  test.each([
    ['the ConfigMap of another Pod of that name', holderPod({ status: { phase: 'Failed' } }, { uid: 'u-2' })],
    ['the ConfigMap of a Pod that is gone', undefined],
  ])('is left alone if it is %s', async (_, pod) => {
    const { fake, deletions, watch } = watching()
    fake.shows('pods', pod)
    await clock.advance(60_000)
    expect(deletions()).toEqual([])
    await watch.close()
  })

  test.each<[string, LeaseRecord | undefined]>([
    ['it is gone', undefined],
    ['another holder has it by now', { ...record, holderIdentity: 'b' }],
    ['the holder has acquired it again', { ...record, acquireTime: '2026-01-03T00:00:00.000000Z' }],
  ])('is left alone if %s', async (_, now) => {
    const { fake, server, deletions, stored, watch } = watching()
    server['get configmaps'] = now === undefined ? 404 : stored(now)
    fake.shows('pods', holderPod({ status: { phase: 'Failed' } }))
    await clock.advance(0)
    expect(deletions()).toEqual([])
    await watch.close()
  })

  test('is deleted when the node of the holder is not ready, and that of this process is', async () => {
    const { fake, lines, server, deletions, watch } = watching()
    fake.shows('pods', holderPod())
    await clock.advance(5001)
    expect(deletions()).toEqual([])
    server['get nodes'] = node('Unknown')
    server['get pods'] = { metadata: { uid: 'own' } }
    await clock.advance(5000)
    expect(deletions()).toHaveLength(1)
    expect(lines).toEqual([ended('The node of the holder is not ready', 'node-not-ready')])
    await watch.close()
  })

  test('is deleted when the Pod of the holder ends while this replica learns that it may not read nodes', async () => {
    const { fake, server, deletions, watch } = watching()
    const answer = Promise.withResolvers<number>()
    server['get nodes'] = answer.promise
    fake.shows('pods', holderPod())
    await clock.advance(0)
    fake.shows('pods', holderPod({ status: { phase: 'Failed' } }))
    answer.resolve(403)
    await clock.advance(0)
    expect(deletions()).toHaveLength(1)
    await watch.close()
  })

  test('is kept while this process is on a lost node, too, and looked at every 2 s', async () => {
    const { fake, server, deletions, watch } = watching()
    server['get nodes'] = node('Unknown')
    server['get pods'] = { metadata: { uid: 'own' }, spec: { nodeName: 'n2' } }
    fake.shows('pods', holderPod())
    await clock.advance(20_000)
    expect(deletions()).toEqual([])
    server['get pods'] = { metadata: { uid: 'own' } }
    await clock.advance(2000)
    expect(deletions()).toHaveLength(1)
    await watch.close()
  })

  test('is deleted when a deleted Pod is overdue, counted from when that was seen first', async () => {
    const { fake, lines, deletions, watch } = watching()
    fake.shows('pods', holderPod())
    await clock.advance(10_000)
    fake.shows('pods', holderPod({}, DELETED))
    await clock.advance(10_000)
    fake.shows('pods', holderPod({}, { ...DELETED, labels: {} }))
    await clock.advance(4999)
    expect(deletions()).toEqual([])
    await clock.advance(2)
    expect(deletions()).toHaveLength(1)
    expect(lines).toEqual([
      ended('The Pod of the holder was deleted, and its node has not reported its end in time', 'terminating'),
    ])
    await watch.close()
  })

  test('of a leader that does not stop by itself is deleted only when its Pod has ended', async () => {
    const { fake, server, deletions, watch } = watching({ lasts: false })
    server['get nodes'] = node('Unknown')
    fake.shows('pods', holderPod({}, DELETED))
    await clock.advance(60_000)
    expect(deletions()).toEqual([])
    fake.shows('pods', holderPod({ status: { phase: 'Succeeded' } }))
    await clock.advance(0)
    expect(deletions()).toHaveLength(1)
    await watch.close()
  })

  test('that cannot be deleted is tried again every 2 s, which is logged once', async () => {
    const { fake, lines, server, deletions, watch } = watching()
    server['delete configmaps'] = 500
    fake.shows('pods', holderPod({ status: { phase: 'Failed' } }))
    await clock.advance(4000)
    expect(deletions()).toHaveLength(3)
    const message = 'Could not delete configmaps ops/janitor: the server failed (500)'
    expect(lines.slice(1)).toEqual([
      {
        level: 'warn',
        message,
        fields: { event: 'holder-not-freed', holder: 'a', err: expect.objectContaining({ message }) },
      },
    ])
    server['delete configmaps'] = 404
    await clock.advance(4000)
    expect(deletions()).toHaveLength(4)
    expect(lines).toHaveLength(2)
    await watch.close()
  })

  test('is left to the proof where the container of the holder has terminated', async () => {
    const { fake, deletions, watch } = watching({ processRef: formatContainerRef(CONTAINER) })
    const terminated = { containerID: CONTAINER.containerId, finishedAt: '2026-01-02T00:00:00Z' }
    const status = { phase: 'Failed', containerStatuses: [{ name: 'janitor', state: { terminated } }] }
    fake.shows('pods', holderPod({ status }))
    await clock.advance(60_000)
    expect(deletions()).toEqual([])
    await watch.close()
  })

  test('is deleted when the holder was an earlier process of the Pod of this one', async () => {
    const { fake, server, lines, deletions, watch } = watching({ ownPod: OWNER.name })
    server['get pods'] = holderPod()
    fake.shows('pods', holderPod())
    await clock.advance(0)
    expect(deletions()).toHaveLength(1)
    expect(lines).toEqual([ended('The Pod of the holder has ended', 'ended')])
    await watch.close()
  })

  test('is deleted when a deleted Pod is overdue, though its node cannot be read', async () => {
    const { fake, lines, server, deletions, watch } = watching()
    server['get nodes'] = 500
    fake.shows('pods', holderPod({}, DELETED))
    await clock.advance(14_999)
    expect(deletions()).toEqual([])
    await clock.advance(2000)
    expect(deletions()).toHaveLength(1)
    expect(lines.map(({ fields }) => fields['reason'] ?? fields['event'])).toEqual(['holder-not-freed', 'terminating'])
    await watch.close()
  })
})

describe('a watch of the Pod of a holder', () => {
  test('is closed when its deletion is answered, and says nothing if that fails', async () => {
    const { fake, lines, server, deletions, watch } = watching()
    const answer = Promise.withResolvers<number>()
    server['delete configmaps'] = answer.promise
    fake.shows('pods', holderPod({ status: { phase: 'Failed' } }))
    await clock.advance(0)
    let isClosed = false
    const closing = watch.close().then(() => (isClosed = true))
    await clock.advance(0)
    expect(isClosed).toBe(false)
    answer.resolve(500)
    await closing
    expect([deletions().length, lines.length]).toEqual([1, 1])
  })

  test('does not wait for its next look once it is closed', async () => {
    const { fake, server, watch } = watching()
    const answer = Promise.withResolvers<object>()
    server['get nodes'] = answer.promise
    fake.shows('pods', holderPod())
    await clock.advance(0)
    const closing = watch.close()
    answer.resolve(node('True'))
    await clock.advance(0)
    expect(clock.pendingTimers).toBe(0)
    await closing
  })

  test('is closed with the lock', async () => {
    const { fake, watches } = watching()
    fake.shows('pods', holderPod())
    await clock.advance(0)
    await watches.close()
    expect([fake.closed, clock.pendingTimers]).toEqual([['pods'], 0])
  })
})
