import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { readPackages } from './import-graph.ts'

/** Counts the exported names of all packages, types included: each once for a package. Entries named `internal` are left out. */
export function countExports(root: string): number {
  const entries = [...readPackages(root)].filter(([specifier]) => !specifier.endsWith('/internal'))
  const names = entries.flatMap(([, path]) =>
    exportedNames(path, readFileSync(join(root, path), 'utf8')).map((name) => `${path.split('/')[1]} ${name}`),
  )
  return new Set(names).size
}

function exportedNames(path: string, source: string): readonly string[] {
  return parseSync(path, source).module.staticExports.flatMap(({ entries }) =>
    entries.map(({ exportName }) => {
      if (exportName.name === null) throw new Error(`Expected ${path} to list its exports by name`)
      return exportName.name
    }),
  )
}
