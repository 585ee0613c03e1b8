import ts from 'typescript-api'
import type { StagedPage } from '../stage.ts'
import { type Declarations, docOf, type EntryPoint, type Exported, table } from './declarations.ts'

const KINDS: Readonly<Record<Exported['kind'], string>> = {
  class: 'Class',
  interface: 'Interface',
  type: 'Type',
  function: 'Function',
  constant: 'Constant',
}

/** A page that lists the entry points, and one page for each: `tenure` first, then by name. */
export function apiPages(declarations: Declarations): readonly StagedPage[] {
  const entries = declarations.entries
    .filter((entry) => declarations.exportsOf(entry).length > 0)
    .toSorted((a, b) => fileOf(a).localeCompare(fileOf(b)))
  const rows = entries.map((entry) => [
    `[\`${entry.specifier}\`](./${fileOf(entry)}.md)`,
    String(declarations.exportsOf(entry).length),
  ])
  return [
    {
      path: 'reference/api/index.md',
      markdown: `# API\n\nEvery public name, by what you import.\n\n${table(['import', 'names'], rows)}\n`,
    },
    ...entries.map((entry) => apiPage(entry, declarations)),
  ]
}

function fileOf({ specifier }: EntryPoint): string {
  return specifier.replace('@', '').replaceAll('/', '-')
}

function apiPage(entry: EntryPoint, declarations: Declarations): StagedPage {
  const exported = declarations.exportsOf(entry)
  const own = exported.filter((one) => homeOf(one, declarations) === entry)
  const others = exported.filter((one) => !own.includes(one))
  const parts = [
    `# ${entry.specifier}`,
    ...(own.length > 0 ? [own.map((one) => `[\`${one.name}\`](#${anchorOf(one)})`).join(' · ')] : []),
    ...own.map((one) => section(one, declarations)),
    ...(others.length > 0 ? ['## From other packages', reexports(others, declarations)] : []),
  ]
  return { path: `reference/api/${fileOf(entry)}.md`, markdown: `${parts.join('\n\n')}\n` }
}

function anchorOf({ name }: Exported): string {
  return name.toLowerCase().replaceAll('_', '-')
}

/** The entry point that describes a name: of the package that declares it, or the first that exports it. */
function homeOf(one: Exported, declarations: Declarations): EntryPoint | undefined {
  const exporting = declarations.entries.filter((entry) =>
    declarations.exportsOf(entry).some(({ symbol }) => symbol === one.symbol),
  )
  return exporting.find(({ types }) => types.includes(`/packages/${one.home}/`)) ?? exporting[0]
}

/** What a package passes on, with links to where it is described. */
function reexports(exported: readonly Exported[], declarations: Declarations): string {
  const rows = exported.map((one) => {
    const home = homeOf(one, declarations)
    const name = home === undefined ? one.name : `[\`${one.name}\`](./${fileOf(home)}.md#${anchorOf(one)})`
    return [name, KINDS[one.kind], firstSentence(docOf(one.symbol, declarations.checker))]
  })
  return table(['name', 'kind', 'what'], rows)
}

function section({ name, kind, symbol, declarations }: Exported, { checker }: Declarations): string {
  const tags = symbol
    .getJsDocTags()
    .filter(({ name }) => ['throws', 'see', 'default'].includes(name))
    .map((tag) => `**${tag.name}** ${ts.displayPartsToString(tag.text)}`)
  const examples = symbol
    .getJsDocTags()
    .filter(({ name }) => name === 'example')
    .map((tag) => fenced(ts.displayPartsToString(tag.text)))
  const code = fenced(declarations.map(declarationText).join('\n'))
  return [`## ${name}`, `${KINDS[kind]}. ${docOf(symbol, checker)}`, code, ...tags, ...examples].join('\n\n')
}

function fenced(text: string): string {
  return text.includes('```') ? text : `\`\`\`ts\n${text}\n\`\`\``
}

/** The declaration with the comments of its members, without what is private. */
function declarationText(declaration: ts.Declaration): string {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  return node
    .getText()
    .replace(/^export (?:declare )?/, '')
    .replaceAll(/^ *(?:#private;|private .*;)\n/gm, '')
}

function firstSentence(text: string): string {
  return text.split(/(?<=[.:]) (?=[A-Z`])|\n\n/)[0] ?? ''
}
