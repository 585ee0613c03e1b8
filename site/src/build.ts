import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import { writeFigures } from '../../bench/figures.ts'
import { brokenLinks } from './check-links.ts'
import { writePlainText } from './plain-text.ts'
import { apiPages } from './reference/api.ts'
import { Declarations } from './reference/declarations.ts'
import { writeSimulator } from '../simulator/write.ts'
import { PUBLIC, ROOT, SIMULATOR, stagedPages, stageTo } from './stage.ts'

/*
 * Builds the site into `site/dist`: HTML with a local search, every page as Markdown beside it, `llms-full.txt`, and the simulator. Fails
 * when a link leads nowhere, a page would load something from the network, or the simulator would import something of Node.
 * `--json FILE` takes the figures.
 */
const SITE = join(ROOT, 'site')
const { values } = parseArgs({ options: { json: { type: 'string' } } })

const pages = [...(await stagedPages()), ...apiPages(new Declarations())]
await stageTo(join(SITE, '.cache/pages'), pages)
await writeSimulator(join(SITE, '.cache/pages', PUBLIC, SIMULATOR))
await build(SITE)
const dist = join(SITE, 'dist')
await writePlainText(dist, pages)
const { checked, broken } = await brokenLinks(dist)
for (const line of broken) console.error(line)
console.log(`${pages.length} pages, ${checked} links, ${broken.length} broken`)
await writeFigures(values.json, { docs_pages: pages.length, docs_links: checked, broken_links: broken.length })
process.exitCode = broken.length === 0 ? 0 : 1
