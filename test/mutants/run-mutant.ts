import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process, { env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { ChangedFile } from './changed-file.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The result of a test run. */
export interface TestRun {
  readonly passed: number
  /** The names of the tests that failed. */
  readonly failed: readonly string[]
  /** The error that prevented a test file from running, if any. */
  readonly broken: readonly string[]
  /** Seconds of CPU time of all processes. */
  readonly cpuSeconds: number
  /** Whether the run exceeded its time limit and was ended. It has no tests then. */
  readonly isTimeout: boolean
  /** The exit code of the test runner: not 0 as well for an error outside of a test. Null after a timeout. */
  readonly exitCode: number | null
  /** Milliseconds that each test file took. */
  readonly durations: ReadonlyMap<string, number>
}

/** How test files are run. */
interface RunOptions {
  /** Milliseconds after which the run is ended. @default Infinity */
  readonly limitMs?: number
  /** Whether the run ends at the first failure. @default true */
  readonly bail?: boolean
  /** The configuration of the test runner, from the root of the project. @default that of the mutants */
  readonly config?: string
  /** Further variables of the environment. @default none */
  readonly variables?: NodeJS.ProcessEnv
}

interface VitestReport {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly startTime: number
    readonly endTime: number
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

/** Runs test files, in their order, with or without a change of the sources. No file of the project is written. */
export async function runTests(
  changed: ChangedFile | undefined,
  files: readonly string[],
  options: RunOptions = {},
): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-mutant-'))
  try {
    const report = join(folder, 'report.json')
    const mutant = join(folder, 'mutant.json')
    if (changed !== undefined) await writeFile(mutant, JSON.stringify(changed))
    const ended = await runVitest(changed === undefined ? undefined : mutant, files, report, options)
    if (ended.isTimeout) return { passed: 0, failed: [], broken: [], durations: new Map(), ...ended }
    return { ...readReport(JSON.parse(await readFile(report, 'utf8')) as VitestReport), ...ended }
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 })
  }
}

type Ended = Pick<TestRun, 'cpuSeconds' | 'isTimeout' | 'exitCode'>

function readReport(report: VitestReport): Omit<TestRun, keyof Ended> {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    passed: report.numPassedTests,
    failed: tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    broken: report.testResults
      .filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0)
      .map(({ name, message }) => `${name}: ${message}`),
    durations: new Map(
      report.testResults.map(({ name, startTime, endTime }) => [relative(ROOT, name), endTime - startTime]),
    ),
  }
}

/** Resolves with the CPU time. bash measures it, because Node does not report the CPU time of a child. */
async function runVitest(
  mutant: string | undefined,
  files: readonly string[],
  report: string,
  { limitMs = Infinity, bail = true, config = 'test/mutants/vitest.config.ts', variables = {} }: RunOptions,
): Promise<Ended> {
  const vitest = [execPath, 'node_modules/vitest/vitest.mjs', 'run', '--config', config]
  const args = [...vitest, `--bail=${bail ? 1 : 0}`, '--reporter=json', `--outputFile.json=${report}`, ...files]
  const { TENURE_MUTANT: _, ...rest } = env
  const child = spawn('bash', ['-c', '"$@" >&2; code=$?; times; exit $code', 'bash', ...args], {
    cwd: ROOT,
    env: { ...rest, ...variables, ...(mutant !== undefined && { TENURE_MUTANT: mutant }) },
    stdio: ['ignore', 'pipe', 'ignore'],
    // A process group of its own, so that workers in an endless loop end with it.
    detached: true,
  })
  let text = ''
  let isTimeout = false
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  process.once('exit', kill)
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', (code) => resolve(code))
  const timer = Number.isFinite(limitMs)
    ? setTimeout(() => {
        isTimeout = true
        kill()
      }, limitMs)
    : undefined
  const exitCode = await promise.finally(() => {
    clearTimeout(timer)
    process.off('exit', kill)
  })
  return { cpuSeconds: cpuSecondsOf(text), isTimeout, exitCode }
}

/** The sum of the times that `times` of bash prints. */
function cpuSecondsOf(text: string): number {
  return [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )
}
