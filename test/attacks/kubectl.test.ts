import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startApiServer } from '@tenure/api-server'
import { kindShapes } from '../../packages/api-server/src/resources/kind-shapes.ts'
import { locateProgram, startControlPlane } from '@tenure/test-control-plane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conversation } from './kubectl/conversation.ts'
import { Kubectl, normalised, type Outcome } from './kubectl/kubectl.ts'

/** Lease candidates are among the kinds that kubectl lists. */
const COORDINATION = {
  featureGates: { CoordinatedLeaderElection: true },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
} as const

const running = new AsyncDisposableStack()
let embedded: Kubectl
let real: Kubectl

beforeAll(async () => {
  const server = running.use(await startApiServer(COORDINATION))
  const controlPlane = await startControlPlane(COORDINATION)
  running.defer(() => controlPlane.stop())
  embedded = running.use(await Kubectl.open(server.kubeConfig()))
  real = running.use(
    await Kubectl.open(controlPlane.kubeConfig({ name: 'kubernetes-admin', groups: ['system:masters'] })),
  )
})

afterAll(() => running.disposeAsync())

test('The shapes of the built-in kinds are those of the Kubernetes that kube-apiserver is built from', async () => {
  const { stdout } = await promisify(execFile)(await locateProgram('kind-shapes'))
  expect(kindShapes.trim()).toBe(stdout.trim())
})

describe('The embedded API server answers kubectl as kube-apiserver does', () => {
  // Later commands depend on earlier ones.
  for (const [index, { line, stdin, byDesign }] of conversation.entries()) {
    test(`${index + 1}. kubectl ${line}`, async () => {
      const [here, there] = (await Promise.all([embedded.run(line, stdin), real.run(line, stdin)])).map(normalised)
      if (here === undefined || there === undefined) throw new Error('kubectl did not run')
      const same = byDesign?.same ?? ((outcome: Outcome) => outcome)
      expect(same(here)).toEqual(same(there))
    })
  }
})
