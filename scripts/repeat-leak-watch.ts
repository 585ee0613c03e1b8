import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

/*
 * Whether the leak detector ever cries wolf: runs the unit tests that it watches over and over, which leave nothing behind, and counts
 * the ones that fail. `--runs N` says how often, `--packages A,B` of which packages; of all that are watched by default.
 */
const WATCHED = ['cli', 'core', 'kubernetes', 'ops', 'tenure', 'testing']
const ROOT = join(import.meta.dirname, '..')
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5' }, packages: { type: 'string', default: WATCHED.join(',') } },
})
const runs = Number(values.runs)
if (!Number.isInteger(runs) || runs < 1) {
  console.error(`Expected \`--runs\` to be a whole number of at least 1, got \`${values.runs}\``)
  process.exit(2)
}

const packages = values.packages.split(',')
const unknown = packages.find((name) => !WATCHED.includes(name))
if (unknown !== undefined) {
  console.error(`Expected \`--packages\` to be some of ${WATCHED.join(', ')}, got \`${unknown}\``)
  process.exit(2)
}

let failed = 0
let tests = 0
for (let run = 1; run <= runs; run++) {
  const report = await runOnce()
  tests += report.numTotalTests
  if (report.success) continue
  failed++
  console.error(`run ${run}: ${report.numFailedTests} of ${report.numTotalTests} tests failed`)
  for (const message of report.testResults.flatMap(messagesOf)) console.error(message)
}
console.log(`${runs} runs, ${tests} watched tests: ${failed} runs failed`)
process.exitCode = failed === 0 ? 0 : 1

interface Report {
  readonly success: boolean
  readonly numTotalTests: number
  readonly numFailedTests: number
  readonly testResults: readonly TestFile[]
}

interface TestFile {
  readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages: readonly string[] }[]
}

async function runOnce(): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-leak-watch-'))
  try {
    const file = join(folder, 'report.json')
    const args = [
      VITEST,
      'run',
      '--project',
      'unit',
      '--reporter=json',
      `--outputFile=${file}`,
      ...packages.map(testsOf),
    ]
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, { cwd: ROOT, maxBuffer: 2 ** 28 }, (_error, _stdout, stderr) => resolve(stderr))
    })
    const report = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new Error(`The tests did not run: ${output}`, { cause })
    })
    return JSON.parse(report)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function testsOf(name: string): string {
  return `packages/${name}/test`
}

function messagesOf({ assertionResults }: TestFile): readonly string[] {
  return assertionResults.flatMap(({ fullName, failureMessages }) =>
    failureMessages.map((text) => `${fullName}: ${text}`),
  )
}
