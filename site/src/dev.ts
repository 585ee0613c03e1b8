import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer } from 'vitepress'
import { apiPages } from './reference/api.ts'
import { Declarations } from './reference/declarations.ts'
import { writeSimulator } from '../simulator/write.ts'
import { PUBLIC, ROOT, SIMULATOR, stagedPages, stageTo } from './stage.ts'

/* Serves the site on this machine and shows changes of `docs/` at once. */
const SITE = join(ROOT, 'site')
const api = apiPages(new Declarations())
const stage = async () => stageTo(join(SITE, '.cache/pages'), [...(await stagedPages()), ...api])

await stage()
await writeSimulator(join(SITE, '.cache/pages', PUBLIC, SIMULATOR))
const server = await createServer(SITE, { host: '127.0.0.1' })
await server.listen()
server.printUrls()
const changes = watch(join(ROOT, 'docs'), { recursive: true })[Symbol.asyncIterator]()
while (!(await changes.next()).done) await stage()
