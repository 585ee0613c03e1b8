import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'

/** What a page of the built site refers to. */
interface Reference {
  readonly page: string
  readonly target: string
}

/** Checks every link, script, style and picture of the built site, down to the headings. */
export async function brokenLinks(dist: string): Promise<{ checked: number; broken: readonly string[] }> {
  const paths = await readdir(dist, { recursive: true })
  const names = paths.filter((path) => extname(path) === '.html')
  const pages = new Map<string, string>()
  for (const name of names) pages.set(name, await readFile(join(dist, name), 'utf8'))
  const references = [...pages].flatMap(([page, html]) => referencesOf(page, html))
  const broken = references.filter((reference) => !leadsSomewhere(reference, dist, pages))
  return {
    checked: references.length,
    broken: [...broken.map(({ page, target }) => `${page}: ${target} leads nowhere`), ...remoteParts(pages)],
  }
}

function referencesOf(page: string, html: string): readonly Reference[] {
  return [...html.matchAll(/ (?:href|src)="([^"]+)"/g)]
    .map(([, target = '']) => ({ page, target: target.replaceAll('&amp;', '&') }))
    .filter(({ target }) => !/^[a-z]+:/.test(target))
}

function leadsSomewhere({ page, target }: Reference, dist: string, pages: ReadonlyMap<string, string>): boolean {
  const { pathname, hash } = new URL(target, new URL(page, 'site://site/'))
  const path = decodeURIComponent(pathname.slice(1))
  const file = [path, `${path}.html`, join(path, 'index.html')].find((name) => isFile(dist, name, pages))
  if (file === undefined) return false
  const html = pages.get(file)
  if (hash === '' || html === undefined) return true
  return html.includes(` id="${decodeURIComponent(hash.slice(1))}"`)
}

function isFile(dist: string, name: string, pages: ReadonlyMap<string, string>): boolean {
  return pages.has(name) || (extname(name) !== '' && dirname(name) !== name && existsSync(join(dist, name)))
}

/** Scripts, styles, fonts and pictures that a page would load from another host. */
function remoteParts(pages: ReadonlyMap<string, string>): readonly string[] {
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/<(?:script|img|iframe)[^>]* src="(https?:[^"]+)"|<link[^>]* href="(https?:[^"]+)"/g)].map(
      ([, source, sheet]) => `${page}: loads ${source ?? sheet} from the network`,
    ),
  )
}
