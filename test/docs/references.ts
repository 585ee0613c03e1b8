import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/*
 * What a document refers to: tests by file and name, written `path/to/file.test.ts` "name of the test"; npm scripts, written
 * `npm run name`; files, by links and by paths in backticks that begin with a folder of the project.
 */

/** A test that a document names. */
interface NamedTest {
  readonly file: string
  readonly name: string
}

function namedTests(markdown: string): readonly NamedTest[] {
  return [...markdown.matchAll(/`([^`\s]+\.ts)`\s+"([^"]+)"/g)].map(([, file = '', name = '']) => ({ file, name }))
}

/** What is wrong with the references of a document; nothing when they all lead somewhere. */
export function brokenReferences(
  document: { readonly path: string; readonly markdown: string },
  root: string,
): string[] {
  return [
    ...namedTests(document.markdown).flatMap((test) => brokenTest(test, root)),
    ...brokenScripts(document.markdown, root),
    ...brokenLinks(document, root),
  ]
}

function brokenTest({ file, name }: NamedTest, root: string): string[] {
  const path = join(root, file)
  if (!existsSync(path)) return [`There is no file \`${file}\`, of which "${name}" is said to be a test`]
  return isTitleIn(readFileSync(path, 'utf8'), name) ? [] : [`There is no test "${name}" in \`${file}\``]
}

/** Whether the source gives a test this title, in whichever quotes; a title of several tests is named with its placeholders. */
function isTitleIn(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => {
    const quoted = escaped(`${quote}${title.replaceAll(quote, `\\${quote}`)}${quote}`)
    return new RegExp(`[([\\n]\\s*${quoted}\\s*,`).test(source)
  })
}

function brokenScripts(markdown: string, root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...markdown.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name)
  return named.filter((name) => !(name in scripts)).map((name) => `There is no script \`npm run ${name}\``)
}

export function brokenLinks(
  { path, markdown }: { readonly path: string; readonly markdown: string },
  root: string,
): string[] {
  const targets = [...markdown.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, target = '']) => target)
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !leadsSomewhere(target, { path, markdown }, root))
    .map((target) => `The link to \`${target}\` leads nowhere`)
}

function leadsSomewhere(
  link: string,
  { path, markdown }: { readonly path: string; readonly markdown: string },
  root: string,
): boolean {
  const [file = '', anchor] = link.split('#')
  const target = join(root, normalize(join(dirname(path), file)))
  if (file !== '' && !existsSync(target)) return false
  if (anchor === undefined || !(file === '' || file.endsWith('.md'))) return true
  return anchorsOf(file === '' ? markdown : readFileSync(target, 'utf8')).has(anchor)
}

/** The anchors that GitHub and the site give the headings of a page. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...markdown.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)]
  return new Set(headings.map(([, heading = '']) => anchorOf(heading)))
}

/** The anchor of a heading: in lower case, words joined by hyphens, without punctuation. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
