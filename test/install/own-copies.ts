import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from './project.ts'

/** Versions of prom-client and fastify that a project has for itself, beside those that Tenure asks for. */
export const OWN_COPIES: readonly Readonly<Record<string, string>>[] = [
  { 'prom-client': '14.2.0', fastify: '4.29.1' },
  { 'prom-client': '15.0.0', fastify: '5.0.0' },
  { 'prom-client': '^15.0.0', fastify: '^5.0.0' },
]

/** Metrics and a registry of the project's prom-client, in the hands of Tenure; a page of Tenure's, served by the project's fastify. */
const PROGRAM = `import { fastify } from 'fastify'
import { Counter, Registry } from 'prom-client'
import { Controller, createManager, MemoryLeaseStore, metrics, type Term } from 'tenure'

const own = new Registry()
new Counter({ name: 'own_total', help: 'Of the process.', registers: [own] }).inc()
const { promise: counted, resolve } = Promise.withResolvers<void>()

class Janitor extends Controller {
  readonly name = 'janitor'

  async run(term: Term): Promise<void> {
    new Counter({ name: 'swept_total', help: 'Of the term.', registers: [metrics(term)] }).inc(3)
    resolve()
    await term.sleep(60_000)
  }
}

const store = new MemoryLeaseStore()
const manager = createManager({
  lease: { name: 'janitor' },
  lock: ({ name }) => store.lock(name),
  ops: { port: false, registries: [own] },
})
const app = fastify()
app.get('/metrics', async (_request, reply) => {
  const { contentType, body } = await manager.ops.metrics()
  return reply.type(contentType).send(body)
})
manager.register(() => new Janitor())
const running = manager.start()
await counted
const page = await (await fetch(\`\${await app.listen({ host: '127.0.0.1', port: 0 })}/metrics\`)).text()
await app.close()
await manager.stop()
await running
const names = ['own_total 1', 'swept_total 3', 'leader_election_master_status', 'process_cpu_seconds_total'].filter((name) => page.includes(name))
console.log('served: ' + names.join(' '))
`
const SERVED = 'served: own_total 1 swept_total 3 leader_election_master_status process_cpu_seconds_total'

/** @throws Error when a copy of the project's own does not compile or work beside Tenure's */
export async function checkOwnCopies(project: Project): Promise<void> {
  await writeFile(join(project.folder, 'own-copies.ts'), PROGRAM)
  await project.checkTypes()
  const { code, output } = await project.run(process.execPath, 'own-copies.ts')
  if (code !== 0 || !output.includes(SERVED)) throw new Error(`Expected \`${SERVED}\`, got code ${code}:\n${output}`)
}
