import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Cluster } from '../src/cluster.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-cluster-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** A kubeconfig with one context. */
async function kubeConfigWith(context: string): Promise<string> {
  const path = join(folder, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'api', cluster: { server: 'http://127.0.0.1:7001' } }],
    users: [{ name: 'user', user: {} }],
    contexts: [{ name: context, context: { cluster: 'api', user: 'user' } }],
    'current-context': context,
  }
  await writeFile(path, JSON.stringify(config))
  return path
}

/** The server of the leases of a replica with this environment, whose home has no running `tenure dev`. */
async function serverOf(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const opsPort = () => undefined
  const options = { kubeConfig: undefined, kubeConfigPath: undefined, identity: 'a', logger: silentLogger, opsPort }
  const cluster = new Cluster({ ...options, env: { HOME: folder, ...env } })
  await cluster.start()
  await cluster.stop()
  return cluster.server
}

describe('A replica with TENURE_DEV=1', () => {
  test('uses the kubeconfig that it was given where that names an embedded API server', async () => {
    const env = { TENURE_DEV: '1', KUBECONFIG: await kubeConfigWith('embedded') }
    expect(await serverOf(env)).toBe('http://127.0.0.1:7001')
  })

  test('joins `tenure dev` where its kubeconfig names another cluster, or there is none', async () => {
    const KUBECONFIG = await kubeConfigWith('production')
    await expect(serverOf({ TENURE_DEV: '1', KUBECONFIG })).rejects.toThrow('found no running `tenure dev`')
    await expect(serverOf({ TENURE_DEV: '1' })).rejects.toThrow('found no running `tenure dev`')
    const missing = { TENURE_DEV: '1', KUBECONFIG: join(folder, 'missing') }
    await expect(serverOf(missing)).rejects.toThrow('found no running `tenure dev`')
    expect(await serverOf({ KUBECONFIG })).toBe('http://127.0.0.1:7001')
  })
})
