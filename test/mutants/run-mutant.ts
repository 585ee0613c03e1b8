import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'

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
}

interface VitestReport {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

/** Runs test files with or without a mutant. */
export async function runTests(mutant: string | undefined, files: readonly string[]): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-mutant-'))
  try {
    const report = join(folder, 'report.json')
    const cpuSeconds = await runVitest(mutant, files, report)
    return { ...readReport(JSON.parse(await readFile(report, 'utf8')) as VitestReport), cpuSeconds }
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 })
  }
}

function readReport(report: VitestReport): Omit<TestRun, 'cpuSeconds'> {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    passed: report.numPassedTests,
    failed: tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    broken: report.testResults
      .filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0)
      .map(({ name, message }) => `${name}: ${message}`),
  }
}

/** Resolves with the CPU time. bash measures it, because Node does not report the CPU time of a child. */
async function runVitest(mutant: string | undefined, files: readonly string[], report: string): Promise<number> {
  const vitest = [execPath, 'node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutants/vitest.config.ts']
  const args = [...vitest, '--reporter=json', `--outputFile.json=${report}`, ...files]
  const { TENURE_MUTANT: _, ...rest } = env
  const child = spawn('bash', ['-c', '"$@" >&2; times', 'bash', ...args], {
    cwd: ROOT,
    env: mutant === undefined ? rest : { ...rest, TENURE_MUTANT: mutant },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('error', reject)
  child.once('close', () => resolve())
  await promise
  return [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )
}
