import * as loaded from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { clientNode, importClientNode } from '../src/client/client-node-on-demand.ts'

test('client-node on demand is the same module as that of the application', async () => {
  expect(clientNode().KubeConfig).toBe(loaded.KubeConfig)
  expect((await importClientNode()).KubeConfig).toBe(loaded.KubeConfig)
})
