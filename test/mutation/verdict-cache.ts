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
    if (this.#folder === undefined) return await find()
    const path = join(this.#folder, `${createHash('sha256').update(inputs.join('\0')).digest('hex')}.json`)
    const kept = readKept(path)
    if (kept !== undefined) return (JSON.parse(kept) as { readonly result: Result }).result
    const result = await find()
    writeFileSync(path, JSON.stringify({ result }))
    return result
  }
}

function readKept(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
