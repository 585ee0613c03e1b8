import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { LeadershipEndedError } from '@tenure/core'
import { FENCE_REFUSAL_CHANNEL } from '@tenure/core/internal'
import { expect, onTestFinished, test } from 'vitest'
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
