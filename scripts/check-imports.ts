import { join } from 'node:path'
import { findCycles, readImportGraph } from './house/import-graph.ts'
import { findUpwardImports } from './house/layers.ts'

/** Checks that the imports of all packages, types included, form no cycle and follow the direction of `house/layers.ts`. */
const graph = readImportGraph(join(import.meta.dirname, '..'))
const faults = [
  ...findCycles(graph).map((files) => `These files import each other: ${files.join(', ')}`),
  ...findUpwardImports(graph).map(
    ({ file, imports }) => `${file} must not import ${imports}: see scripts/house/layers.ts`,
  ),
]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
else console.log(`${graph.size} files: no import cycle, no import against the direction`)
