import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join, normalize, relative } from 'node:path'
import { withoutHiddenLines } from '../../test/docs/samples/sample.ts'

/*
 * Lays the pages out as the site shows them. Pages of `docs/` keep their paths. A Markdown file of another folder that a page links to
 * becomes a page below `project/`, and any other file becomes a page below `source/` that shows it. So every link stays in the site.
 */
export const ROOT: string = join(import.meta.dirname, '../..')

/** The folder of files that the site serves as they are. */
export const PUBLIC = 'public'

/** The folder of the simulator in the site. */
export const SIMULATOR = 'simulate'

/** The page of the simulator is no Markdown: the site serves what was made of it. */
const SIMULATOR_PAGE = 'site/simulator/page/index.html'

/** A page of the site: its path below the root of the site, and its Markdown with links between pages. */
export interface StagedPage {
  readonly path: string
  readonly markdown: string
}

/** A file of the repository that becomes a page. */
interface Origin {
  readonly file: string
  readonly path: string
}

/** All pages: the documents, and what they link to, directly or not. */
export async function stagedPages(): Promise<readonly StagedPage[]> {
  const documents = (await markdownOf(join(ROOT, 'docs'))).map((path) => join('docs', path))
  const waiting = [...documents, 'README.md', 'CONTRIBUTING.md'].map(originOf)
  const seen = new Set(waiting.map(({ path }) => path))
  const pages: StagedPage[] = []
  for (let origin = waiting.shift(); origin !== undefined; origin = waiting.shift()) {
    const { page, linked } = await stage(origin)
    pages.push(page)
    const fresh = linked.filter(({ path }) => !seen.has(path))
    for (const { path } of fresh) seen.add(path)
    waiting.push(...fresh)
  }
  return pages
}

/** Makes the folder hold the pages and the pictures, and nothing else. Writes only what has changed. */
export async function stageTo(folder: string, pages: readonly StagedPage[]): Promise<void> {
  const wanted = new Set(pages.map(({ path }) => path))
  for (const path of existsSync(folder) ? await markdownOf(folder) : [])
    if (!wanted.has(path)) await rm(join(folder, path))
  for (const { path, markdown } of pages) {
    const file = join(folder, path)
    if (existsSync(file) && (await readFile(file, 'utf8')) === markdown) continue
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, markdown)
  }
  await cp(join(ROOT, 'docs/pictures'), join(folder, 'pictures'), { recursive: true })
}

async function stage(origin: Origin): Promise<{ page: StagedPage; linked: readonly Origin[] }> {
  const file = join(ROOT, origin.file)
  if ((await stat(file)).isDirectory()) return stageFolder(file, origin)
  const text = await readFile(file, 'utf8')
  if (extname(file) === '.md') return stageMarkdown(text, origin)
  return { page: { path: origin.path, markdown: sourcePage(origin.file, text) }, linked: [] }
}

async function stageFolder(file: string, origin: Origin): Promise<{ page: StagedPage; linked: readonly Origin[] }> {
  const entries = await readdir(file, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => originOf(join(origin.file, name)))
  const list = files.map((entry) => `- [${entry.file}](${linkTo(origin.path, entry.path)})`)
  return { page: { path: origin.path, markdown: `# ${origin.file}\n\n${list.join('\n')}\n` }, linked: files }
}

function stageMarkdown(text: string, origin: Origin): { page: StagedPage; linked: readonly Origin[] } {
  const linked: Origin[] = []
  const markdown = outsideFences(withoutHiddenLines(text), (part) =>
    part.replaceAll(/(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)/g, (whole, image, label, target, anchor = '') => {
      if (/^[a-z]+:/.test(target)) return whole
      const file = normalize(join(dirname(origin.file), target)).replace(/\/$/, '')
      if (file === SIMULATOR_PAGE) return `[${label}](/${SIMULATOR}/index.html){target="_self"}`
      const to = originOf(file)
      if (image === '') linked.push(to)
      return `${image}[${label}](${linkTo(origin.path, to.path)}${anchor})`
    }),
  )
  return { page: { path: origin.path, markdown }, linked }
}

/** Changes the text of a page and leaves its code alone. */
function outsideFences(markdown: string, change: (part: string) => string): string {
  return markdown
    .split(/(^ *```.*?^ *```$)/ms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}

function originOf(file: string): Origin {
  if (existsSync(join(ROOT, file, 'README.md'))) return originOf(join(file, 'README.md'))
  if (file.startsWith('docs/')) return { file, path: relative('docs', file) }
  if (extname(file) === '.md') return { file, path: join('project', file) }
  return { file, path: join('source', `${file}.md`) }
}

function linkTo(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** Languages that the site can highlight. */
const HIGHLIGHTED = ['ts', 'js', 'json', 'sql', 'lua', 'yaml', 'sh']

function sourcePage(name: string, text: string): string {
  const language = HIGHLIGHTED.find((one) => extname(name) === `.${one}`) ?? ''
  return `# ${name}\n\n\`\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\`\n`
}

async function markdownOf(folder: string): Promise<readonly string[]> {
  const paths = await readdir(folder, { recursive: true })
  return paths.filter((path) => extname(path) === '.md').toSorted()
}
