import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import type { Project, Runtime } from './project.ts'

/** The runtimes beside Node that `docs/how-to/bundle.md` names, as npm installs them. */
export const RUNTIMES: Readonly<Record<string, string>> = { bun: '1.4.5', deno: '2.9.6' }

/** Leads on a lock in memory, drains and releases, and says at the end what it has seen. */
const PROGRAM = `import { createServer } from 'node:http'
import { Controller, createManager, gatedFetch, MemoryLeaseStore } from 'tenure'

const store = new MemoryLeaseStore()
const seen = []
const server = createServer((request, response) => response.end('written'))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = 'http://127.0.0.1:' + server.address().port

class Janitor extends Controller {
  name = 'janitor'
  async run(term) {
    const write = gatedFetch(term)
    term.defer(() => seen.push('drained'))
    seen.push('held ' + term.isHeld(), await (await write(url, { method: 'POST' })).text())
    await term.sleep(60_000).catch(() => seen.push('aborted'))
    late = () => write(url, { method: 'POST' })
  }
}

let late
const manager = createManager({
  lease: { name: 'runtime' },
  lock: ({ name }) => store.lock(name),
  ops: { host: '127.0.0.1', port: 0 },
  watchdog: true,
})
manager.register(() => new Janitor())
const running = manager.start()
while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
await manager.stop()
await running
await late().catch((error) => seen.push(error.code))
const { record } = await store.lock('runtime').get({ signal: new AbortController().signal })
server.close()
console.log('seen: ' + [...seen, 'holder "' + record.holderIdentity + '"'].join(', '))
`
const SEEN = 'seen: held true, written, aborted, drained, WRITE_GATE_CLOSED, holder ""'

/** What Bun says of a client with a gate: its undici has no dispatchers, where the gate sits. */
const REFUSED = 'Expected `gated()` to run on Node or Deno, got Bun'

/** @throws Error when Bun or Deno does not do what the documentation says of it */
export async function checkRuntimes(project: Project, cluster: Cluster): Promise<void> {
  const bun = [join(project.folder, 'node_modules/.bin/bun')]
  const deno = [join(project.folder, 'node_modules/.bin/deno'), 'run', '-A']
  await writeFile(join(project.folder, 'memory.mjs'), PROGRAM)
  for (const runtime of [bun, deno]) await leadsInMemory(project, runtime)
  await project.lead(deno, cluster)
  await refusesGate(project, bun, cluster)
}

async function leadsInMemory(project: Project, runtime: Runtime): Promise<void> {
  const { code, output } = await project.run(runtime, 'memory.mjs')
  if (code !== 0 || !output.includes(SEEN)) throw new Error(`Expected \`${SEEN}\`, got code ${code}:\n${output}`)
}

/** One clear error, at the first client. */
async function refusesGate(project: Project, runtime: Runtime, cluster: Cluster): Promise<void> {
  const KUBECONFIG = join(project.folder, 'kubeconfig')
  await cluster.server.writeKubeConfig(KUBECONFIG)
  const { code, output } = await project.run(runtime, 'main.ts', { KUBECONFIG, TENURE_OPS_PORT: '0' })
  if (code === 0 || !output.includes(REFUSED))
    throw new Error(`Expected Bun to refuse the gate, got ${code}:\n${output}`)
}
