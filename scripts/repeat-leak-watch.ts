import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeFigures } from '../bench/figures.ts'

/*
 * Whether the leak detector ever cries wolf: runs the unit tests that it watches over and over, which leave nothing behind, and counts
 * the ones that fail. `--runs N` says how often, `--packages A,B` of which packages; of all that are watched by default. With
 * `--in-process N`, every process runs each of its tests so many times, its hooks included, which takes half the time.
 */
const WATCHED = ['api-server', 'cli', 'core', 'file-lock', 'kubernetes', 'ops', 'simulator', 'tenure', 'testing']
const ROOT = join(import.meta.dirname, '..')
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    'in-process': { type: 'string', default: '1' },
    packages: { type: 'string', default: WATCHED.join(',') },
    json: { type: 'string' },
  },
})
const runs = positive('runs', values.runs)
const inProcess = positive('in-process', values['in-process'])

const packages = values.packages.split(',')
const unknown = packages.find((name) => !WATCHED.includes(name))
if (unknown !== undefined) {
  console.error(`Expected \`--packages\` to be some of ${WATCHED.join(', ')}, got \`${unknown}\``)
  process.exit(2)
}

let failed = 0
let tests = 0
for (let done = 0; done < runs;) {
  const times = Math.min(inProcess, runs - done)
  const report = await runTimes(times)
  done += times
  tests += times * report.numTotalTests
  failed += report.numFailedTests
  console.log(`${done} runs, ${tests} watched tests: ${failed} failed`)
  for (const message of report.testResults.flatMap(messagesOf)) console.error(message)
}
await writeFigures(values.json, { runs, tests, failed })
process.exitCode = failed === 0 ? 0 : 1

interface Report {
  readonly numTotalTests: number
  readonly numFailedTests: number
  readonly testResults: readonly TestFile[]
}

interface TestFile {
  readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages: readonly string[] }[]
}

async function runTimes(times: number): Promise<Report> {
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
      const env = { ...process.env, TENURE_REPEATS: String(times - 1) }
      const options = { cwd: ROOT, env, maxBuffer: 2 ** 28 }
      execFile(process.execPath, args, options, (_error, _stdout, stderr) => resolve(stderr))
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

function positive(flag: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) {
    console.error(`Expected \`--${flag}\` to be a whole number of at least 1, got \`${text}\``)
    process.exit(2)
  }
  return value
}
