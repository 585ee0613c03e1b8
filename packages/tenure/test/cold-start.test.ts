import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startApiServer } from '@tenure/api-server'
import { expect, onTestFinished, test } from 'vitest'

/** Half of the time and the memory of a start, or more, and not needed to stand for election. */
const HEAVY = /node_modules\/(@kubernetes\/client-node|fastify|undici)\//

const REPORT = `import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.once('exit', () => console.log(JSON.stringify(loaded)))
`

/** A replica that stands for election until it leads. */
const REPLICA = `const { createManager } = await import('tenure')
const { KUBECONFIG } = process.env
const lease = { name: 'cold', namespace: 'ops' }
const manager = createManager({ lease, env: { KUBECONFIG }, argv: [], ops: false, signals: false, logLevel: 'silent' })
manager.register(() => ({ name: 'idle', run: async () => process.exit() }))
await manager.start()`

/** The heavy modules that a program loads in a process of its own, with \`import\` or with \`require()\`. */
async function heavyModulesOf(program: string, env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const flags = ['--conditions=@tenure/source', '--input-type=module', '--eval', REPORT + program]
  const options = { cwd: import.meta.dirname, env }
  const { stdout } = await promisify(execFile)(process.execPath, flags, options)
  const urls: readonly string[] = JSON.parse(stdout)
  return [...new Set(urls.flatMap((url) => HEAVY.exec(url)?.[1] ?? []))]
}

test('The import of tenure loads neither client-node nor fastify', async () => {
  expect(await heavyModulesOf(`await import('tenure')`)).toEqual([])
})

test('A test of what is loaded sees a planted import and a planted require()', async () => {
  expect(await heavyModulesOf(`await import('@kubernetes/client-node')`)).toContain('@kubernetes/client-node')
  const user = JSON.stringify(join(import.meta.dirname, '../../ops/package.json'))
  const required = `const { createRequire } = await import('node:module'); createRequire(${user})('fastify')`
  expect(await heavyModulesOf(required)).toEqual(['fastify'])
})

test('A replica with plain credentials stands for election and leads without client-node', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-cold-start-'))
  onTestFinished(() => rm(folder, { recursive: true, maxRetries: 5 }))
  await using server = await startApiServer({ autoProvisionNamespaces: true })
  const KUBECONFIG = join(folder, 'kubeconfig')
  await server.writeKubeConfig(KUBECONFIG)
  expect(await heavyModulesOf(REPLICA, { KUBECONFIG })).toEqual([])
})
