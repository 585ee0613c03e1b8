import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Keeps results in a folder, by all that they depend on. Keeps nothing without a folder. */
export class VerdictCache {
  readonly #folder: string | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
  }

  /** The result that is kept for these inputs, or that of `find()`, which is kept then. */
  async resolve<Result>(inputs: readonly string[], find: () => Promise<Result>): Promise<Result> {
    const kept = this.get(inputs)
    if (kept !== undefined) return kept as Result
    const result = await find()
    this.keep(inputs, result)
    return result
  }

  /** The result that is kept for these inputs. Undefined if there is none. */
  get(inputs: readonly string[]): unknown {
    if (this.#folder === undefined) return undefined
    try {
      return JSON.parse(readFileSync(pathOf(this.#folder, inputs), 'utf8')) as unknown
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Keeps the result for these inputs. */
  keep(inputs: readonly string[], result: unknown): void {
    if (this.#folder !== undefined) writeFileSync(pathOf(this.#folder, inputs), JSON.stringify(result))
  }
}

function pathOf(folder: string, inputs: readonly string[]): string {
  return join(folder, `${createHash('sha256').update(inputs.join('\0')).digest('hex')}.json`)
}
