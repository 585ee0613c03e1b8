import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readImportGraph } from '../../scripts/house/import-graph.ts'
import { THOROUGH } from '../../vitest.config.ts'

const TESTS = 'packages/*/test/**/*.test.ts'

/** The tests of each source file, by the graph of imports. */
export class RelatedTests {
  readonly #root: string
  readonly #imports: ReadonlyMap<string, readonly string[]>
  readonly #importers = new Map<string, string[]>()
  readonly #units: ReadonlySet<string>
  readonly #thorough: ReadonlySet<string>
  readonly #texts = new Map<string, string>()
  readonly #importsByTest = new Map<string, readonly string[]>()

  constructor(root: string) {
    this.#root = root
    this.#imports = readImportGraph(root, 'packages/*/{src,test}/**/*.ts')
    this.#units = new Set(globSync(TESTS, { cwd: root, exclude: THOROUGH }))
    this.#thorough = new Set(globSync([...THOROUGH], { cwd: root }))
    for (const [file, targets] of this.#imports) {
      for (const target of targets) this.#importers.set(target, [...(this.#importers.get(target) ?? []), file])
    }
  }

  /** The source files that import a file. */
  importersOf(file: string): readonly string[] {
    return (this.#importers.get(file) ?? []).filter((importer) => importer.includes('/src/'))
  }

  /**
   * The unit tests of the file's own package that import it, directly or not, nearest first. Those of other packages, if its own has
   * none. Thorough tests take longer: only those in the folder of the file count.
   */
  testsOf(file: string): readonly string[] {
    const folder = dirname(file).replace('/src', '/test')
    const isThorough = (found: string): boolean => this.#thorough.has(found) && dirname(found) === folder
    const tests = reached(this.#importers, file).filter((found) => this.#units.has(found) || isThorough(found))
    const own = tests.filter((test) => packageOf(test) === packageOf(file))
    return own.length > 0 ? own : tests
  }

  /** A hash of all that a run of test files depends on. */
  hashOf(tests: readonly string[]): string {
    const files = new Set(tests.flatMap((test) => this.#importsOf(test)))
    const hash = createHash('sha256')
    for (const file of [...files].sort()) hash.update(`${file}\n${this.#textOf(file)}`)
    return hash.digest('hex')
  }

  #textOf(file: string): string {
    const text = this.#texts.get(file) ?? readFileSync(join(this.#root, file), 'utf8')
    this.#texts.set(file, text)
    return text
  }

  #importsOf(test: string): readonly string[] {
    const known = this.#importsByTest.get(test) ?? reached(this.#imports, test)
    this.#importsByTest.set(test, known)
    return known
  }
}

/** The file and all that the edges lead to, nearest first. */
function reached(edges: ReadonlyMap<string, readonly string[]>, file: string): readonly string[] {
  const found = new Set([file])
  // A set visits what is added to it meanwhile.
  for (const one of found) for (const next of edges.get(one) ?? []) found.add(next)
  return [...found]
}

function packageOf(file: string): string | undefined {
  return file.split('/')[1]
}
