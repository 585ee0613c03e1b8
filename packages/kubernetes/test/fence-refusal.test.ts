import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { CoreV1Api, HttpMethod, KubeConfig, ResponseContext } from '@kubernetes/client-node'
import { LeadershipEndedError } from '@tenure/core'
import { FENCE_REFUSAL_CHANNEL, type WriteGate } from '@tenure/core/internal'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { noteFenceRefusal } from '../src/gate/fence-refusal.ts'
import { gated } from '../src/gate/gated.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'

const NAME = { name: 'x', namespace: 'ops' }

/** What is published when the server denies a write with a message. */
async function publishedFor(message: string) {
  const published: unknown[] = []
  const onMessage = (refusal: unknown) => void published.push(refusal)
  subscribe(FENCE_REFUSAL_CHANNEL, onMessage)
  onTestFinished(() => void unsubscribe(FENCE_REFUSAL_CHANNEL, onMessage))
  await using server = await LoopbackServer.start((_, response) => answer(response, 422, { kind: 'Status', message }))
  const gate = new AbortController()
  const term = { epoch: 7n, isHeld: () => true, gateSignal: gate.signal }
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: true }, { name: 'u' })
  const core = gated(term, kubeConfig).makeApiClient(CoreV1Api)
  const body = { metadata: NAME }
  await expect(core.replaceNamespacedConfigMap({ ...NAME, body })).rejects.toMatchObject({
    code: 422,
    body: JSON.stringify({ kind: 'Status', message }),
  })
  gate.abort(new LeadershipEndedError('step-down', 7n))
  return { published, term }
}

const denied = (policy: string) =>
  `configmaps "x" is forbidden: ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: no`

test('A write that a fence refuses is published with its term, and rejects with the answer of the server', async () => {
  const { published, term } = await publishedFor(denied('term-check.janitor.ops.tenure.dev'))
  expect(published).toEqual([{ term, method: 'PUT' }])
})

test('A write that another policy refuses is not published', async () => {
  expect((await publishedFor(denied('labels.example.com'))).published).toEqual([])
  expect((await publishedFor('a field is invalid')).published).toEqual([])
})

describe('The response to a write', () => {
  const MESSAGE = denied('term-check.janitor.ops.tenure.dev')

  test.each([
    [400, 'application/json', MESSAGE, 1],
    [499, 'application/json', MESSAGE, 1],
    [399, 'application/json', MESSAGE, 0],
    [500, 'application/json', MESSAGE, 0],
    [422, 'text/plain', MESSAGE, 0],
    [422, 'application/json', MESSAGE.replace(" with binding '", ' with '), 0],
    [422, 'application/json', MESSAGE.replaceAll('.tenure.dev', '_tenure_dev'), 0],
    [422, 'application/json', MESSAGE.replace('denied', 'audited'), 0],
    [422, 'application/json', MESSAGE.replaceAll('term-check.janitor.ops', ''), 0],
  ])('with status %d, of type %s, that says %s counts %d refusals', async (status, type, text, count) => {
    const noteFenceRefusalOfGate = vi.fn<(method: string) => void>()
    const gate = { noteFenceRefusal: noteFenceRefusalOfGate } as unknown as WriteGate
    const body = {
      text: async () => text,
      binary: async () => Buffer.from(text),
      stream: () => new ReadableStream<Uint8Array>(),
    }
    const response = new ResponseContext(status, { 'content-type': type }, body)
    const same = await noteFenceRefusal(gate, { getHttpMethod: () => HttpMethod.PATCH }, response)
    expect(same).toBe(response)
    expect(await same.body.text()).toBe(text)
    expect(noteFenceRefusalOfGate.mock.calls).toEqual(Array.from({ length: count }, () => ['PATCH']))
  })
})
