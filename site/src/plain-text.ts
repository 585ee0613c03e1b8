import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sidebarPages } from './sidebar.ts'
import type { StagedPage } from './stage.ts'

/** Writes every page as Markdown, and `llms-full.txt`. */
export async function writePlainText(dist: string, pages: readonly StagedPage[]): Promise<void> {
  for (const { path, markdown } of pages) {
    await mkdir(dirname(join(dist, path)), { recursive: true })
    await writeFile(join(dist, path), markdown)
  }
  await writeFile(join(dist, 'llms-full.txt'), fullText(pages))
}

/**
 * The pages of the sidebar in its order as one text, each under its path.
 * @throws when the sidebar names a page that does not exist
 */
function fullText(pages: readonly StagedPage[]): string {
  const byPath = new Map(pages.map(({ path, markdown }) => [path, markdown]))
  const parts = sidebarPages().map((page) => {
    const path = `${page}.md`
    const markdown = byPath.get(path)
    if (markdown === undefined) throw new Error(`The sidebar names \`${path}\`, which is no page`)
    return `<!-- ${path} -->\n\n${markdown.trimEnd()}\n`
  })
  return parts.join('\n')
}
