import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'

/** The files that each source file of a package imports, types included. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>

/** Source files of all packages, relative to the root. */
const SOURCES = 'packages/*/src/**/*.ts'

/** Reads the imports of the files of a pattern, by default of all source files. Modules of Node and of other projects are left out. */
export function readImportGraph(root: string, files: string = SOURCES): ImportGraph {
  const packages = readPackages(root)
  const graph = new Map<string, readonly string[]>()
  for (const file of globSync(files, { cwd: root }).sort()) {
    graph.set(file, importsOf(file, readFileSync(join(root, file), 'utf8'), packages))
  }
  return graph
}

/** A hash of a module, and of all modules of the project that it imports, directly or not. `module`: relative to the root. */
export function hashOfImports(root: string, module: string): string {
  const packages = readPackages(root)
  const texts = new Map<string, string>()
  const found = new Set([module])
  // A set visits what is added to it meanwhile.
  for (const file of found) {
    const text = readFileSync(join(root, file), 'utf8')
    texts.set(file, text)
    for (const target of importsOf(file, text, packages)) found.add(target)
  }
  const hash = createHash('sha256')
  for (const [file, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`${file}\0${text}\0`)
  return hash.digest('hex')
}

function importsOf(file: string, source: string, packages: ReadonlyMap<string, string>): readonly string[] {
  const targets = specifiersOf(file, source).flatMap((specifier) => {
    if (specifier.startsWith('.')) return [normalize(join(dirname(file), specifier))]
    const entry = packages.get(specifier)
    return entry === undefined ? [] : [entry]
  })
  return [...new Set(targets)]
}

/** The modules that a file imports, exports from, or loads with `import()`. */
function specifiersOf(file: string, source: string): readonly string[] {
  const { module, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`Could not parse ${file}: ${errors[0]?.message}`)
  const dynamic = module.dynamicImports.map(({ moduleRequest }) =>
    source.slice(moduleRequest.start + 1, moduleRequest.end - 1),
  )
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
  )
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...exported, ...dynamic]
}

/** The source file behind each entry of each package, by what an import of it is written as. */
export function readPackages(root: string): ReadonlyMap<string, string> {
  return new Map(
    globSync('packages/*/package.json', { cwd: root }).flatMap((path) => {
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest
      return Object.entries(exports).flatMap(([entry, target]) =>
        typeof target === 'string'
          ? []
          : [[join(name, entry), normalize(join(dirname(path), target['@tenure/source']))] as const],
      )
    }),
  )
}

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | { readonly '@tenure/source': string }>>
}

/** The cycles of a graph: each group of files of which every one imports every other, directly or not. */
export function findCycles(graph: ImportGraph): readonly (readonly string[])[] {
  const search = new CycleSearch(graph)
  for (const file of graph.keys()) search.visit(file)
  return search.cycles
}

/** The algorithm of Tarjan for strongly connected components. */
class CycleSearch {
  readonly cycles: string[][] = []
  readonly #graph: ImportGraph
  readonly #order = new Map<string, number>()
  readonly #open: string[] = []

  constructor(graph: ImportGraph) {
    this.#graph = graph
  }

  /** Returns the lowest number of an open file that this one leads to. */
  visit(file: string): number {
    const known = this.#order.get(file)
    if (known !== undefined) return known
    const own = this.#order.size
    this.#order.set(file, own)
    this.#open.push(file)
    const lowest = Math.min(own, ...(this.#graph.get(file) ?? []).map((target) => this.visit(target)))
    if (lowest === own) this.#close(file)
    return lowest
  }

  #close(file: string): void {
    const group = this.#open.splice(this.#open.indexOf(file))
    for (const member of group) this.#order.set(member, Infinity)
    if (group.length > 1) this.cycles.push(group)
  }
}
