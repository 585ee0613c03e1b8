import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { formatContainerRef, parseContainerRef, type ContainerRef } from '../src/locks/death/container-ref.ts'
import { containerOf, hasTerminated, isRefuted } from '../src/locks/death/container-status.ts'
import { kernelContainerId, readKernelContainerId } from '../src/locks/death/kernel-container-id.ts'

vi.mock('node:fs', { spy: true })

const STARTED = '2026-01-02T03:04:05Z'
const startedAt = Date.parse(STARTED)

const ref: ContainerRef = {
  namespace: 'ops',
  pod: 'janitor-0',
  podUid: 'u-1',
  container: 'janitor',
  containerId: 'containerd://one',
  processStartedAt: startedAt,
}

function pod(...containerStatuses: object[]) {
  return { metadata: { name: 'janitor-0', namespace: 'ops', uid: 'u-1' }, status: { containerStatuses } }
}

const terminated = {
  containerID: 'containerd://one',
  exitCode: 137,
  reason: 'Error',
  finishedAt: '2026-01-02T03:04:06Z',
}
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

  test('when it ended at the moment at which the process started', () => {
    const status = { name: 'janitor', state: { terminated: { ...terminated, finishedAt: STARTED } } }
    expect(hasTerminated(pod(status), ref)).toBe(true)
  })

  test('also beside something that is no status', () => {
    const statuses = [null, 'janitor', { name: 'janitor', state: { terminated } }] as object[]
    expect(hasTerminated(pod(...statuses), ref)).toBe(true)
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
    [
      'by a container that ended before the process started',
      pod({ name: 'janitor', state: { terminated: { ...terminated, finishedAt: '2026-01-02T03:04:04Z' } } }),
    ],
    [
      'by a status that does not say when it ended',
      pod({ name: 'janitor', state: { terminated: { ...terminated, finishedAt: null } } }),
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
  test.each([-6000, 0, 900, 6000])('when that started %d ms before it', (ms) => {
    const found = containerOf(pod(running), { container: undefined, kernelId: undefined, startedAt: startedAt + ms })
    expect(found).toEqual({ ...ref, processStartedAt: startedAt + ms })
  })

  test('by its name, when there are several', () => {
    const sidecar = { ...running, name: 'sidecar', containerID: 'containerd://side' }
    expect(containerOf(pod(sidecar, running), { container: 'janitor', kernelId: undefined, startedAt })).toEqual(ref)
  })

  test('by the ID that the kernel tells, however long before it the container started', () => {
    const query = { container: undefined, kernelId: 'one', startedAt: startedAt + 60_000 }
    expect(containerOf(pod(running), query)).toMatchObject({ containerId: 'containerd://one' })
  })

  test.each([
    ['a status without an ID', { ...running, containerID: undefined }],
    ['an ID that only ends in the same way', { ...running, containerID: 'containerd://twone' }],
    ['a container that waits', { ...running, state: { waiting: {} } }],
  ])('not when the kernel tells its ID, from %s', (_, status) => {
    expect(containerOf(pod(status), { container: undefined, kernelId: 'one', startedAt })).toBeUndefined()
  })

  test('not when the kernel tells another ID: the status is still that of the predecessor', () => {
    const query = { container: undefined, kernelId: 'two', startedAt }
    expect(containerOf(pod(running), query)).toBeUndefined()
  })

  test.each<[string, object, string | undefined, number]>([
    ['when there are several and none was named', pod(running, { ...running, name: 'b' }), undefined, startedAt],
    ['when it is not in the status yet', pod(), 'janitor', startedAt],
    ['when it is waiting', pod({ ...running, state: { waiting: {} } }), 'janitor', startedAt],
    ['when that is of a start long before', pod(running), 'janitor', startedAt + 6001],
    ['when that is of a start long after', pod(running), 'janitor', startedAt - 6001],
    ['when its status says no time', pod({ ...running, state: { running: {} } }), 'janitor', startedAt],
    ['when its status has no ID', pod({ ...running, containerID: undefined }), 'janitor', startedAt],
    ['when its statuses are none', { ...pod(), status: { containerStatuses: 'x' } }, undefined, startedAt],
    ['when the Pod has no identity', { status: pod(running).status }, 'janitor', startedAt],
  ])('not %s', (_, object, container, at) => {
    expect(containerOf({ ...object }, { container, kernelId: undefined, startedAt: at })).toBeUndefined()
  })
})

describe('a status refutes that a process runs in a container', () => {
  test.each<[string, object]>([
    ['when it names another start of the container', pod({ ...running, containerID: 'containerd://two' })],
    ['when the container has terminated', pod({ ...running, state: { terminated } })],
    ['when the Pod is another one', { ...pod(running), metadata: { uid: 'u-2' } }],
  ])('%s', (_, object) => {
    expect(isRefuted({ ...object }, ref)).toBe(true)
  })

  test('but not when it says nothing about the container, or that it runs', () => {
    expect(isRefuted(pod(), ref)).toBe(false)
    expect(isRefuted(pod(running), ref)).toBe(false)
  })
})

describe('the kernel tells the ID of the container', () => {
  const id = 'ab'.repeat(32)
  test.each([
    ['containerd with systemd', `0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-${id}.scope`, ''],
    ['containerd with cgroupfs', `12:cpu:/kubepods/burstable/pod1/${id}\n0::/`, ''],
    ['CRI-O', `0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/crio-${id}.scope`, ''],
    ['a node in a container', `0::/docker/${'cd'.repeat(32)}/kubelet/kubepods/besteffort/pod1/${id}`, ''],
    [
      'a mount of the first version',
      '0::/',
      `31 24 0:26 /kubepods/pod1/${id} /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu`,
    ],
    ['a cgroup mount', '0::/', `30 24 0:26 /kubepods/pod1/${id} /sys/fs/cgroup ro - cgroup2 cgroup rw`],
  ])('with %s', (_, cgroup, mountinfo) => {
    expect(kernelContainerId(cgroup, mountinfo)).toBe(id)
  })

  test.each([
    ['where the namespace hides it', '0::/', `30 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw`],
    ['from a mount of the sandbox', '0::/', `31 24 0:26 /kubepods/${id} /etc/hostname rw - ext4 /dev/sda rw`],
    ['within a cgroup of its own', `0::/kubepods/pod1/${id}/init`, ''],
    ['outside of Kubernetes', `0::/docker/${id}`, ''],
    ['where two differ', `1:a:/kubepods/${id}\n2:b:/kubepods/${'cd'.repeat(32)}`, ''],
  ])('not %s', (_, cgroup, mountinfo) => {
    expect(kernelContainerId(cgroup, mountinfo)).toBeUndefined()
  })

  test.each([
    ['/proc/self/cgroup', `0::/kubepods/pod1/${id}\n`],
    ['/proc/self/mountinfo', `30 24 0:26 /kubepods/pod1/${id} /sys/fs/cgroup ro - cgroup2 cgroup rw\n`],
  ])('in %s, also where nothing else can be read', (path, text) => {
    vi.mocked(readFileSync).mockImplementation((file) => {
      if (file === path) return text
      throw new Error('EACCES')
    })
    onTestFinished(() => vi.mocked(readFileSync).mockRestore())
    expect(readKernelContainerId()).toBe(id)
  })
})

describe('the reference to a container', () => {
  test('survives being written and read', () => {
    expect(parseContainerRef(formatContainerRef(ref))).toEqual(ref)
  })

  test.each(['a', '0', 'a.b-c', 'a'.repeat(253)])('may name the Pod `%s`', (name) => {
    expect(parseContainerRef(formatContainerRef({ ...ref, pod: name }))?.pod).toBe(name)
  })

  test('is written without fields that it does not have', () => {
    expect(formatContainerRef({ ...ref, more: 'x' } as ContainerRef)).toBe(
      '{"namespace":"ops","pod":"janitor-0","podUid":"u-1","container":"janitor","containerId":"containerd://one","processStartedAt":' +
        `${startedAt}}`,
    )
    expect(parseContainerRef(JSON.stringify({ ...ref, more: 'x' }))).toEqual(ref)
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
    JSON.stringify({ ...ref, podUid: '' }),
    JSON.stringify({ ...ref, containerId: 7 }),
    JSON.stringify({ ...ref, container: 7 }),
    JSON.stringify({ ...ref, pod: '' }),
    JSON.stringify({ ...ref, pod: '-a' }),
    JSON.stringify({ ...ref, pod: 'a-' }),
    JSON.stringify({ ...ref, pod: 'a'.repeat(254) }),
    JSON.stringify({ ...ref, processStartedAt: '7' }),
    JSON.stringify({ ...ref, processStartedAt: undefined }),
  ])('is none when somebody wrote %j', (text) => {
    expect(parseContainerRef(text)).toBeUndefined()
  })

  test('never throws, whatever somebody wrote', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseContainerRef(text)))
  })
})
