import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript-api'
import { ROOT } from '../stage.ts'

/** One way to import a package. */
export interface EntryPoint {
  readonly specifier: string
  readonly types: string
}

/** A name that an entry point exports, as its declaration file has it. */
export interface Exported {
  readonly name: string
  readonly kind: 'class' | 'interface' | 'type' | 'function' | 'constant'
  /** The folder of the package that declares it. */
  readonly home: string
  readonly symbol: ts.Symbol
  readonly declarations: readonly ts.Declaration[]
}

/** The declarations of all packages, as users see them. Needs `npm run build`. */
export class Declarations {
  /** The entry points that promise something. */
  readonly entries: readonly EntryPoint[]
  readonly checker: ts.TypeChecker
  /** Those, and the internal ones: users meet their errors and options as well. */
  readonly all: readonly EntryPoint[]
  readonly #program: ts.Program
  readonly #exports = new Map<EntryPoint, readonly Exported[]>()

  constructor() {
    this.all = readdirSync(join(ROOT, 'packages')).flatMap(entriesOf)
    this.entries = this.all.filter(({ specifier }) => !specifier.endsWith('/internal'))
    this.#program = ts.createProgram(
      this.all.map(({ types }) => types),
      { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, skipLibCheck: true, types: ['node'] },
    )
    this.checker = this.#program.getTypeChecker()
  }

  /** What an entry point exports, by name. */
  exportsOf(entry: EntryPoint): readonly Exported[] {
    const known = this.#exports.get(entry) ?? this.#readExports(entry)
    this.#exports.set(entry, known)
    return known
  }

  #readExports(entry: EntryPoint): readonly Exported[] {
    const file = this.#program.getSourceFile(entry.types)
    const module = file && this.checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${entry.types} does not exist: run \`npm run build\` first`)
    const exported = this.checker.getExportsOfModule(module).map((symbol) => this.#exported(symbol))
    return exported.toSorted((a, b) => a.name.localeCompare(b.name))
  }

  /** The class or interface of this name, wherever it is exported, internals included. */
  find(name: string): Exported {
    for (const entry of this.all) {
      const found = this.exportsOf(entry).find((exported) => exported.name === name)
      if (found !== undefined) return found
    }
    throw new Error(`No package exports \`${name}\``)
  }

  #exported(symbol: ts.Symbol): Exported {
    const target = symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol
    const declarations = target.declarations ?? []
    const path = relative(join(ROOT, 'packages'), declarations[0]?.getSourceFile().fileName ?? '')
    return {
      name: symbol.name,
      kind: kindOf(declarations[0]),
      home: path.split('/')[0] ?? '',
      symbol: target,
      declarations,
    }
  }
}

function kindOf(declaration: ts.Declaration | undefined): Exported['kind'] {
  if (declaration === undefined) return 'constant'
  if (ts.isClassDeclaration(declaration)) return 'class'
  if (ts.isInterfaceDeclaration(declaration)) return 'interface'
  if (ts.isTypeAliasDeclaration(declaration)) return 'type'
  return ts.isFunctionDeclaration(declaration) ? 'function' : 'constant'
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly types?: string } | string>>
}

function entriesOf(folder: string): readonly EntryPoint[] {
  const path = join(ROOT, 'packages', folder)
  const { name, exports }: Manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([subpath, conditions]) => {
    if (typeof conditions === 'string' || conditions.types === undefined) return []
    return [{ specifier: name + subpath.slice(1), types: join(path, conditions.types) }]
  })
}

/** The doc comment of a symbol in Markdown, without tags. */
export function docOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  return plain(ts.displayPartsToString(symbol.getDocumentationComment(checker)))
}

/** The text of a tag of a doc comment; undefined without that tag. */
export function tagOf(symbol: ts.Symbol, name: string): string | undefined {
  const tag = symbol.getJsDocTags().find((one) => one.name === name)
  return tag && plain(ts.displayPartsToString(tag.text))
}

function plain(text: string): string {
  return text.replaceAll(/\{@link\s+([^}|\s]+)\s*\|?[^}]*\}/g, '`$1`').trim()
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', String.raw`\|`)
}
