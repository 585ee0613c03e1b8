import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { apiReports, type Entry } from './api/reports.ts'
import { readPackages } from './house/import-graph.ts'

/*
 * Compares the API of every entry point with its report, `packages/NAME/api/ENTRY.api.md`, and fails when they differ. `--write` writes
 * the reports. Needs `npm run build`.
 */
const ROOT = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })

const entries = [...readPackages(ROOT)].map(([specifier, source]): Entry => {
  const [, folder = ''] = source.split('/')
  const types = source.replace('/src/', '/dist/').replace(/\.ts$/, '.d.ts')
  return { specifier, folder: join(ROOT, 'packages', folder), types: join(ROOT, types) }
})
const reports = new Map([...apiReports(entries)].map(([entry, report]) => [pathOf(entry), report]))
const stale = globSync('packages/*/api/*.api.md', { cwd: ROOT }).filter((path) => !reports.has(path))

if (values.write) write()
else compare()

/** The report of an entry point, relative to the root. */
function pathOf({ specifier, folder }: Entry): string {
  const entry = specifier.split('/').slice(specifier.startsWith('@') ? 2 : 1)
  return join('packages', basename(folder), 'api', `${entry.join('-') || 'index'}.api.md`)
}

function write(): void {
  for (const path of stale) rmSync(join(ROOT, path))
  for (const [path, report] of reports) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true })
    writeFileSync(join(ROOT, path), report)
  }
}

function compare(): void {
  const changed = [...reports].filter(([path, report]) => readReport(path) !== report)
  for (const [path, report] of changed) showDifference(path, report)
  for (const path of stale) console.error(`${path} reports an entry point that does not exist`)
  if (changed.length + stale.length === 0) {
    console.log(`${reports.size} entry points: the API is what the reports say`)
    return
  }
  console.error(
    '\nThe API has changed. If you mean it, run `npm run api -- --write`, commit the reports and add a changeset.',
  )
  process.exitCode = 1
}

function readReport(path: string): string {
  return existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : ''
}

function showDifference(path: string, report: string): void {
  console.error(`\n${path} differs from the API:`)
  const from = existsSync(join(ROOT, path)) ? path : '/dev/null'
  const { stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', from, '-'], {
    cwd: ROOT,
    input: report,
    encoding: 'utf8',
  })
  console.error(stdout.replace(/^[^@]*/, ''))
}
