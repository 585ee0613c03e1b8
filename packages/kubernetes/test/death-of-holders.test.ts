import { describe, expect, test } from 'vitest'
import { PodDeathProof, type PodDeathProofOptions } from '../src/locks/death/pod-death-proof.ts'
import { formatContainerRef } from '../src/locks/death/container-ref.ts'
import type { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { OwnPod } from '../src/locks/life/own-pod.ts'
import { PodNodes } from '../src/locks/life/pod-nodes.ts'
import { FakeLeaseClient } from './support/fake-lease-client.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { refusal, ScriptedConnection } from './support/scripted-connection.ts'

const STARTED = '2026-01-02T03:04:05Z'
const startedAt = Date.parse(STARTED)
const REF = {
  namespace: 'ops',
  pod: 'janitor-0',
  podUid: 'u-1',
  container: 'janitor',
  containerId: 'containerd://one',
  processStartedAt: startedAt,
}

const podWith = (state: object, containerID = 'containerd://one') => ({
  metadata: { name: 'janitor-0', namespace: 'ops', uid: 'u-1' },
  status: { containerStatuses: [{ name: 'janitor', containerID, state }] },
})
const RUNNING = { running: { startedAt: STARTED } }
const ENDED = { terminated: { containerID: 'containerd://one', finishedAt: '2026-01-02T03:05:00Z' } }

function proving(options: Partial<PodDeathProofOptions> = {}) {
  const client = new FakeLeaseClient()
  const lines: Line[] = []
  const proof = new PodDeathProof({
    client: client as unknown as LeaseClient,
    pod: { name: 'janitor-0', namespace: 'ops' },
    startedAt,
    kernelId: undefined,
    logger: recordingLogger(lines),
    ...options,
  })
  return { client, proof, lines }
}

describe('the container of this process', () => {
  test('is published once it is known, and no longer when a status contradicts it, as the log says', () => {
    const { client, proof, lines } = proving()
    proof.start()
    expect([client.opened, proof.processRef]).toEqual([['/api/v1/namespaces/ops/pods/janitor-0'], undefined])
    client.shows('pods', undefined)
    client.shows('pods', podWith({}))
    client.shows('pods', podWith(RUNNING))
    client.shows('pods', podWith(RUNNING))
    expect(proof.processRef).toBe(formatContainerRef(REF))
    client.shows('pods', podWith(ENDED))
    expect(proof.processRef).toBeUndefined()
    client.shows('pods', podWith(RUNNING, 'containerd://two'))
    const known = (containerId: string) => ({
      level: 'info',
      message: 'Found the container of this process',
      fields: { event: 'container-known', ...REF, containerId },
    })
    expect(lines).toEqual([
      known('containerd://one'),
      {
        level: 'info',
        message: 'Withdrew the container of this process: the status of its Pod contradicts it',
        fields: { event: 'container-withdrawn' },
      },
      known('containerd://two'),
    ])
  })

  test('stays known when a status says nothing about it', () => {
    const { client, proof, lines } = proving()
    proof.start()
    client.shows('pods', podWith(RUNNING))
    client.shows('pods', { metadata: { name: 'janitor-0', namespace: 'ops', uid: 'u-1' } })
    expect(proof.processRef).toBe(formatContainerRef(REF))
    expect(lines).toHaveLength(1)
  })

  test('cannot be seen: the log says why, once for each cause and outage', () => {
    const { client, proof, lines } = proving()
    proof.start()
    const [refused, reset] = [new Error('refused'), new Error('reset')]
    for (const failure of [refused, refused, reset]) client.fails('pods', failure)
    client.up('pods')
    client.fails('pods', reset)
    const line = (err: Error) => ({
      level: 'warn',
      message: `Could not read the Pod of this process: ${err.message}`,
      fields: { event: 'container-unknown', err },
    })
    expect(lines).toEqual([line(refused), line(reset), line(reset)])
  })

  test('is not looked for without a Pod', () => {
    const { client, proof } = proving({ pod: undefined })
    proof.start()
    expect(client.opened).toEqual([])
  })

  test.each(['client', 'pod', 'container', 'startedAt', 'kernelId', 'logger'])(
    'is found with the option %s',
    (option) => {
      expect(() => proving({ [`${option}Q`]: 1 })).toThrow(
        `Unknown option \`${option}Q\` in the options of a PodDeathProof; did you mean \`${option}\`?`,
      )
    },
  )
})

describe('the container of a holder', () => {
  const holder = { identity: 'a', acquireTime: '', processRef: formatContainerRef(REF) }

  test('is proved to have ended once, as the log says', () => {
    const { client, proof, lines } = proving()
    let deaths = 0
    proof.watchHolder(holder, { dead: () => (deaths += 1) })
    expect(client.opened).toEqual(['/api/v1/namespaces/ops/pods/janitor-0'])
    client.shows('pods', podWith(RUNNING))
    expect(deaths).toBe(0)
    client.shows('pods', podWith(ENDED))
    client.shows('pods', podWith(ENDED))
    expect(deaths).toBe(1)
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'The container of the holder has terminated: its lease need not expire',
        fields: { event: 'death-proved', holder: 'a', ...REF },
      },
    ])
  })

  test('cannot be seen: the log says why', () => {
    const { client, proof, lines } = proving()
    proof.watchHolder(holder, { dead: () => {} })
    const err = new Error('reset')
    client.fails('pods', err)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'Could not watch the Pod of the holder: reset',
        fields: { event: 'holder-unseen', holder: 'a', err },
      },
    ])
  })

  test('is watched until that is closed', async () => {
    const { client, proof } = proving()
    const watch = proof.watchHolder(holder, { dead: () => {} })
    proof.watchHolder({ ...holder, processRef: 'x' }, { dead: () => {} })
    expect(client.opened).toHaveLength(1)
    await watch.close()
    expect(client.closed).toEqual(['pods'])
    proof.start()
    await proof.close()
    expect(client.closed).toEqual(['pods', 'pods'])
  })
})

const { signal } = new AbortController()

/** A client whose requests get this answer, or this status. */
function answering(answer: unknown) {
  const transport = new ScriptedConnection()
  transport.onSend = ({ target }) => {
    if (typeof answer === 'number') throw refusal(target, answer)
    return answer
  }
  return { transport, client: { transport } as unknown as LeaseClient }
}

describe('the Pod of this process', () => {
  const MISSING =
    'Could not find Pod ops/p, in which this process ran: a leader for life is a Pod, so this process cannot lead. ' +
    'Set POD_NAME and POD_NAMESPACE by the downward API; if the Pod was deleted by force, end this process'

  const own = (answer: unknown, uid?: string) => {
    const { client, transport } = answering(answer)
    return { pod: new OwnPod({ client, name: 'p', namespace: 'ops', uid }), transport }
  }

  test('is read once, and known by its uid', async () => {
    const { pod, transport } = own({ metadata: { uid: 'u' } })
    expect([pod.name, pod.uid]).toEqual(['p', undefined])
    expect(() => pod.known).toThrow('Expected the Pod p to be read before it becomes an owner')
    await pod.find(signal)
    await pod.find(signal)
    expect([pod.known, pod.uid]).toEqual([{ name: 'p', uid: 'u' }, 'u'])
    expect(transport.sent).toEqual([
      {
        method: 'GET',
        path: '/api/v1/namespaces/ops/pods/p',
        target: { verb: 'get', group: '', resource: 'pods', namespace: 'ops', name: 'p' },
        signal,
      },
    ])
    await pod.confirm(signal)
    expect(transport.sent).toHaveLength(2)
  })

  test.each([
    ['is gone', 404, undefined],
    ['is another one now', { metadata: { uid: 'u' } }, 'v'],
    ['has no uid', { metadata: {} }, undefined],
    ['is no object', 'x', undefined],
  ])('cannot own anything when it %s', async (_, answer, uid) => {
    const reading = own(answer, uid).pod.read(signal)
    await expect(reading).rejects.toMatchObject({ failure: 'rejected', message: MISSING })
  })

  test('cannot own anything while it is being deleted, or cannot be read', async () => {
    const deleted = { metadata: { uid: 'u', deletionTimestamp: STARTED } }
    const terminating = own(deleted, 'u').pod.confirm(signal)
    await expect(terminating).rejects.toMatchObject({
      failure: 'rejected',
      message: 'Pod ops/p, in which this process runs, is being deleted',
    })
    await expect(own(500).pod.find(signal)).rejects.toMatchObject({ statusCode: 500 })
  })
})

describe('the node of a Pod', () => {
  const pod = { spec: { nodeName: 'n1' } }
  const node = (status: string) => ({ status: { conditions: [{ type: 'Ready', status }] } })
  const nodes = (answer: unknown) => {
    const lines: Line[] = []
    const { client, transport } = answering(answer)
    return { nodes: new PodNodes(client, recordingLogger(lines)), lines, transport }
  }

  test.each([
    ['True', node('True'), false],
    ['False', node('False'), true],
    ['Unknown', node('Unknown'), true],
    ['not there', {}, false],
    ['of no object', 'x', false],
  ])('is ready or not by its condition: %s', async (_, answer, isNotReady) => {
    const run = nodes(answer)
    expect(run.nodes.canRead(pod)).toBe(true)
    expect(await run.nodes.isNotReady(pod, signal)).toBe(isNotReady)
    expect(run.transport.sent).toEqual([
      {
        method: 'GET',
        path: '/api/v1/nodes/n1',
        target: { verb: 'get', group: '', resource: 'nodes', namespace: '', name: 'n1' },
        signal,
      },
    ])
  })

  test('is not known if the Pod has none, or if it is gone', async () => {
    const run = nodes(404)
    expect(run.nodes.canRead({})).toBe(false)
    expect(await run.nodes.isNotReady({}, signal)).toBe(false)
    expect(run.transport.sent).toEqual([])
    expect(await run.nodes.isNotReady(pod, signal)).toBe(false)
    expect([run.nodes.canRead(pod), run.lines]).toEqual([true, []])
  })

  test('is not read again without the right to, as the log says', async () => {
    const run = nodes(403)
    expect(await run.nodes.isNotReady(pod, signal)).toBe(false)
    expect(await run.nodes.isNotReady(pod, signal)).toBe(false)
    expect([run.nodes.canRead(pod), run.transport.sent.length]).toEqual([false, 1])
    const message =
      'Could not get nodes n1: the credentials lack a permission (403); a ClusterRole must grant the verb "get" on the resource ' +
      '"nodes" of API group ""'
    expect(run.lines).toEqual([
      {
        level: 'info',
        message: `The node of the holder is not looked at, only its Pod: ${message}`,
        fields: { event: 'nodes-unseen', err: expect.objectContaining({ message }) },
      },
    ])
  })

  test('is read again after another failure', async () => {
    const run = nodes(500)
    await expect(run.nodes.isNotReady(pod, signal)).rejects.toMatchObject({ statusCode: 500 })
    run.transport.onSend = () => {
      throw new Error('odd')
    }
    await expect(run.nodes.isNotReady(pod, signal)).rejects.toThrow('odd')
    expect(run.nodes.canRead(pod)).toBe(true)
  })
})
