import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sidebarPages } from './sidebar.ts'
import type { StagedPage } from './stage.ts'

/** Writes every page as Markdown, and `llms-full.txt` with the pages of the sidebar in its order. */
export async function writePlainText(dist: string, pages: readonly StagedPage[]): Promise<void> {
  for (const { path, markdown } of pages) {
    await mkdir(dirname(join(dist, path)), { recursive: true })
    await writeFile(join(dist, path), markdown)
  }
  await writeFile(join(dist, 'llms-full.txt'), fullText(pages))
}

/** All pages of the sidebar as one text, each under its path. @throws when the sidebar names a page that does not exist */
function fullText(pages: readonly StagedPage[]): string {
  const byPath = new Map(pages.map(({ path, markdown }) => [path, markdown]))
  const parts = sidebarPages().map((page) => {
    const markdown = byPath.get(`${page}.md`)
    if (markdown === undefined) throw new Error(`The sidebar names \`${page}\`, which is no page`)
    return `<!-- ${page}.md -->\n\n${markdown.trimEnd()}\n`
  })
  return parts.join('\n')
}
