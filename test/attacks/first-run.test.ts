import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePorts } from '../control-plane/free-ports.ts'
import { openRealApiServer } from '../scenarios/api-server.ts'

const ROOT = join(import.meta.dirname, '../..')
const DEV = join(ROOT, 'packages/cli/src/main.ts')

/** The README's example, with a controller that says that it leads. */
const EXAMPLE = `
import { Controller, createManager, informer, loadKubeConfig } from 'tenure'
class Janitor extends Controller {
  name = 'janitor'
  async run(term) {
    console.log('leads')
    if (process.env.INFORMER_PATH) informer(term, { kubeConfig: loadKubeConfig(), path: process.env.INFORMER_PATH })
    await term.sleep(1e8)
  }
}
const manager = createManager({ lease: { name: process.env.LEASE_NAME ?? 'janitor', namespace: 'ops' } })
manager.register(() => new Janitor())
await manager.start()
`

let folder = ''
const children = new Set<ChildProcess>()

beforeAll(async () => void (folder = await mkdtemp(join(ROOT, 'test/attacks/.first-run-'))))
afterAll(async () => {
  for (const child of children) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Starts a program; `until` resolves with the first line of its output that fits. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, ['--conditions=@tenure/source', ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    for (const wake of waiting) wake()
  })
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = lines.find((line) => pattern.test(line))
      if (found !== undefined) return found
      if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}:\n${lines.join('\n')}`)
      const next = Promise.withResolvers<void>()
      waiting.add(next.resolve)
      await next.promise
      waiting.delete(next.resolve)
    }
  }
  return { lines, until }
}

async function startExample(kubeConfig: string, env: Readonly<Record<string, string>> = {}) {
  const program = join(folder, 'example.mjs')
  await writeFile(program, EXAMPLE)
  const [port] = await freePorts(1)
  const replica = start([program], { KUBECONFIG: kubeConfig, TENURE_OPS_PORT: String(port), ...env })
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  return { ...replica, ask }
}

describe('Against `tenure dev`', () => {
  test('the example of the README leads, though nobody has made its namespace', async () => {
    const dev = start([DEV, 'dev', '--kubeconfig', 'dev.yaml'])
    await dev.until(/Ctrl-C/)
    const replica = await startExample(join(folder, 'dev.yaml'))
    await replica.until(/^leads$/)
    expect((await replica.ask('/readyz')).status).toBe(200)
  })
})

describe('In a cluster', () => {
  let server: Awaited<ReturnType<typeof openRealApiServer>>
  let kubeConfig = ''

  beforeAll(async () => {
    server = await openRealApiServer()
    kubeConfig = join(folder, 'real.yaml')
    await writeFile(kubeConfig, server.controlPlane.adminKubeConfig(), { mode: 0o600 })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('a replica whose namespace is missing says so and is not ready, and leads once the namespace is made', async () => {
    const replica = await startExample(kubeConfig)
    const remedy = 'namespace "ops" does not exist (404); create it: kubectl create namespace ops'
    expect(await replica.until(/"event":"request-failed"/)).toContain(JSON.stringify(remedy).slice(1, -1))
    const readiness = await replica.ask('/readyz?verbose')
    expect(readiness.status).toBe(500)
    expect(await readiness.text()).toContain(remedy)
    await server.admin.request('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'ops' } } })
    await replica.until(/^leads$/)
    expect((await replica.ask('/readyz')).status).toBe(200)
  })

  test('an informer on a path that is not served fails a health check and says why in the log', async () => {
    // The namespace may be there from the test before.
    await server.admin.request('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'ops' } } })
    const path = '/apis/example.com/v1/namespaces/ops/widgets'
    const replica = await startExample(kubeConfig, { INFORMER_PATH: path, LEASE_NAME: 'informing' })
    const why = `does not serve the resource \\"widgets\\" of API group \\"example.com\\"`
    const line = await replica.until(/"event":"informer-down"/)
    expect(line).toContain(why)
    expect(JSON.parse(line)).toMatchObject({ lease: 'informing', controller: 'janitor', path })
    const liveness = await replica.ask('/livez?verbose')
    expect(liveness.status).toBe(500)
    expect(await liveness.text()).toContain('[-]janitor.informer-widgets.example.com-ops failed')
    expect(replica.lines.filter((each) => each.includes('"event":"informer-down"'))).toHaveLength(1)
  })
})
