import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figures, percentile, writeFigures } from '../bench/figures.ts'
import { brokenLinks } from '../test/docs/references.ts'
import { allSamples } from '../test/docs/samples/all-samples.ts'
import { checkSamples } from '../test/docs/samples/check-samples.ts'
import { placeOf } from '../test/docs/samples/sample.ts'
import { countExports } from './house/exports.ts'
import { functionsOf } from './house/functions.ts'
import { findCycles, readImportGraph } from './house/import-graph.ts'
import { findUpwardImports } from './house/layers.ts'

/*
 * Measures the sources and documents and fails over a bound. `--json FILE` writes the figures. `npm run imports` names the cycles and
 * imports, `npx oxlint` the long functions. Samples of documents and docstrings are compiled and parsed here; `npm run test:docs` runs them.
 */
const BOUNDS: Figures = {
  cycles: 0,
  upward_imports: 0,
  exports_total: 178,
  longest_file: 350,
  longest_function: 40,
  max_complexity: 10,
  functions_median: 6,
  functions_p90: 16,
  broken_links: 0,
  docs_samples_failed: 0,
}

const ROOT = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { json: { type: 'string' } } })

const graph = readImportGraph(ROOT)
const sources = [...graph.keys()].map((file) => ({ file, source: readFileSync(join(ROOT, file), 'utf8') }))
const lengths = sources.flatMap(({ file, source }) => functionsOf(file, source).map(({ lines }) => lines))
const samples = allSamples(ROOT)
const unsound = checkSamples(samples)
const documents = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')

const figures: Figures = {
  cycles: findCycles(graph).length,
  upward_imports: findUpwardImports(graph).length,
  exports_total: countExports(ROOT),
  longest_file: Math.max(...sources.map(({ source }) => source.split('\n').length - 1)),
  longest_function: Math.max(...lengths),
  max_complexity: maxComplexity(),
  functions_median: percentile(lengths, 0.5),
  functions_p90: percentile(lengths, 0.9),
  broken_links: documents.flatMap((path) =>
    brokenLinks({ path, markdown: readFileSync(join(ROOT, path), 'utf8') }, ROOT),
  ).length,
  docs_samples: samples.length,
  docs_samples_failed: unsound.size,
}

for (const [sample, problems] of unsound) console.error([placeOf(sample), ...problems].join('\n  '))
await writeFigures(values.json, figures)
for (const [name, value] of Object.entries(figures)) {
  const bound = BOUNDS[name]
  const isOver = bound !== undefined && value > bound
  const limit = bound === undefined ? '' : `  at most ${bound}${isOver ? '  EXCEEDED' : ''}`
  console.log(`${name.padEnd(19)} ${String(value).padStart(5)}${limit}`)
  if (isOver) process.exitCode = 1
}

/** The highest cyclomatic complexity of a function, as the linter counts it. */
function maxComplexity(): number {
  const rule = ['--format', 'json', '--config', 'scripts/house/complexity.json']
  const { stdout } = spawnSync('oxlint', [...rule, ...globSync('packages/*/src', { cwd: ROOT })], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly message: string }[] }
  const found = diagnostics.flatMap(({ message }) => /has a complexity of (\d+)/.exec(message)?.[1] ?? []).map(Number)
  if (found.length === 0) throw new Error('The linter has measured no function')
  return Math.max(...found)
}
