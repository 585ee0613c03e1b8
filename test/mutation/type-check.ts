import { join } from 'node:path'
import { API, type Diagnostic } from 'typescript/unstable/sync'

/** Checks the types of a changed source file with the compiler of the project. It keeps all other files in memory. */
export class TypeCheck implements Disposable {
  readonly #root: string
  readonly #config: string
  readonly #api: API
  readonly #changed = new Map<string, string>()

  constructor(root: string) {
    this.#root = root
    this.#config = join(root, 'tsconfig.json')
    this.#api = new API({ cwd: root, fs: { readFile: (path) => this.#changed.get(path) } })
    this.#api.updateSnapshot({ openProjects: [this.#config] })
  }

  /** The first error in the file, or in one of the files that import it, when the file has this text. Undefined if there is none. */
  errorOf(file: string, code: string, importers: readonly string[]): string | undefined {
    const path = join(this.#root, file)
    this.#changed.set(path, code)
    try {
      return this.#firstError([path], [path, ...importers.map((importer) => join(this.#root, importer))])
    } finally {
      this.#changed.delete(path)
      this.#api.updateSnapshot({ fileChanges: { changed: [path] } }).dispose()
    }
  }

  #firstError(changed: readonly string[], files: readonly string[]): string | undefined {
    using snapshot = this.#api.updateSnapshot({ fileChanges: { changed: [...changed] } })
    const program = snapshot.getProject(this.#config)?.program
    if (program === undefined) throw new Error(`Expected the compiler to have opened ${this.#config}`)
    for (const file of files) {
      const [error] = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
      if (error !== undefined) return textOf(error)
    }
    return undefined
  }

  [Symbol.dispose](): void {
    this.#api.close()
  }
}

function textOf({ code, text }: Diagnostic): string {
  return `TS${code} ${text}`
}
