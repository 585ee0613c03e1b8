import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatContainerRef, parseContainerRef, type ContainerRef } from '../src/death/container-ref.ts'
import { containerOf, hasTerminated } from '../src/death/container-status.ts'

const ref: ContainerRef = {
  namespace: 'ops',
  pod: 'janitor-0',
  podUid: 'u-1',
  container: 'janitor',
  containerId: 'containerd://one',
}

const STARTED = '2026-01-02T03:04:05Z'
const startedAt = Date.parse(STARTED)

function pod(...containerStatuses: object[]) {
  return { metadata: { name: 'janitor-0', namespace: 'ops', uid: 'u-1' }, status: { containerStatuses } }
}

const terminated = { containerID: 'containerd://one', exitCode: 137, reason: 'Error' }
const running = { name: 'janitor', containerID: 'containerd://one', state: { running: { startedAt: STARTED } } }

describe('a container is proved to have terminated', () => {
  test('when its state says so', () => {
    expect(hasTerminated(pod({ name: 'janitor', state: { terminated } }), ref)).toBe(true)
  })

  test('when it was started again since, and its last state says so', () => {
    const status = {
      name: 'janitor',
      containerID: 'containerd://two',
      state: { running: {} },
      lastState: { terminated },
    }
    expect(hasTerminated(pod(status), ref)).toBe(true)
  })

  test('also when it is a sidecar', () => {
    const { metadata } = pod()
    const status = { initContainerStatuses: [{ name: 'janitor', state: { terminated } }] }
    expect(hasTerminated({ metadata, status }, ref)).toBe(true)
  })
})

describe('a container is not proved to have terminated', () => {
  test.each<[string, object]>([
    ['while it runs', pod(running)],
    ['by a Pod without a status', { metadata: pod().metadata }],
    [
      'by a Pod of the same name that is another',
      { ...pod({ name: 'janitor', state: { terminated } }), metadata: { uid: 'u-2' } },
    ],
    ['by another container of the Pod', pod({ name: 'sidecar', state: { terminated } })],
    [
      'by an earlier start of it',
      pod({ name: 'janitor', state: { terminated: { ...terminated, containerID: 'containerd://zero' } } }),
    ],
    ['by a status that does not say which start', pod({ name: 'janitor', state: { terminated: { exitCode: 137 } } })],
    [
      'by a kubelet that has lost sight of it',
      pod({ name: 'janitor', state: { terminated: { ...terminated, reason: 'ContainerStatusUnknown' } } }),
    ],
    ['by the phase of the Pod', { ...pod(running), status: { phase: 'Failed', containerStatuses: [running] } }],
    [
      'by a Pod that is being deleted',
      { ...pod(running), metadata: { ...pod().metadata, deletionTimestamp: STARTED } },
    ],
    ['by fields of the wrong type', pod({ name: 'janitor', state: { terminated: 'containerd://one' } })],
  ])('%s', (_, object) => {
    expect(hasTerminated({ ...object }, ref)).toBe(false)
  })

  test('by anything at all that does not hold its ID', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 5 }), (object) => {
        expect(hasTerminated(object, ref)).toBe(false)
      }),
    )
  })
})

describe('a process knows its container', () => {
  test.each([0, 900, 5500])('when that started %d ms before it', (ms) => {
    expect(containerOf(pod(running), { container: undefined, startedAt: startedAt + ms })).toEqual(ref)
  })

  test('by its name, when there are several', () => {
    const sidecar = { ...running, name: 'sidecar', containerID: 'containerd://side' }
    expect(containerOf(pod(sidecar, running), { container: 'janitor', startedAt })).toEqual(ref)
  })

  test.each<[string, object, string | undefined, number]>([
    ['when there are several and none was named', pod(running, { ...running, name: 'b' }), undefined, startedAt],
    ['when it is not in the status yet', pod(), 'janitor', startedAt],
    ['when it is waiting', pod({ ...running, state: { waiting: {} } }), 'janitor', startedAt],
    ['when that is of a start long before', pod(running), 'janitor', startedAt + 6500],
    ['when the Pod has no identity', { status: pod(running).status }, 'janitor', startedAt],
  ])('not %s', (_, object, container, at) => {
    expect(containerOf({ ...object }, { container, startedAt: at })).toBeUndefined()
  })
})

describe('the reference to a container', () => {
  test('survives being written and read', () => {
    expect(parseContainerRef(formatContainerRef(ref))).toEqual(ref)
  })

  test.each([
    '',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...ref, pod: '../../secrets/x' }),
    JSON.stringify({ ...ref, namespace: 'kube system' }),
    JSON.stringify({ ...ref, containerId: '' }),
    JSON.stringify({ ...ref, podUid: 7 }),
  ])('is none when somebody wrote %j', (text) => {
    expect(parseContainerRef(text)).toBeUndefined()
  })

  test('never throws, whatever somebody wrote', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseContainerRef(text)))
  })
})
