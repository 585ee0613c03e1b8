import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The cost of an import in a fresh process. */
export interface ImportCost {
  readonly ms: number
  /** The resident memory of the whole process after the import. */
  readonly bytes: number
}

/** Imports a package, as it was built, in a process of its own; without a package, imports nothing. */
export async function importCost(specifier?: string): Promise<ImportCost> {
  const statement = specifier === undefined ? '' : `await import(${JSON.stringify(specifier)})`
  const program = `const start = performance.now()
${statement}
console.log(JSON.stringify({ ms: performance.now() - start, bytes: process.memoryUsage.rss() }))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
  })
  return JSON.parse(stdout)
}
