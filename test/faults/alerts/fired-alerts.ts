import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { locateProgram } from '@tenure/test-control-plane'

const run = promisify(execFile)

/** A time series as promtool reads it: `up{job="a"}`, and one value for each interval, such as `1 0 _ stale` or `1x10`. */
export interface InputSeries {
  readonly series: string
  readonly values: string
}

/** What an engine of Prometheus is given. */
export interface Scrapes {
  /** The file of rules. */
  readonly rules: string
  readonly series: readonly InputSeries[]
  /** The time between two values, and between two evaluations, in milliseconds. */
  readonly intervalMs: number
  /** The number of intervals. */
  readonly length: number
}

/**
 * Names every alert that fires at any time, in order of the alphabet. The rule engine of Prometheus decides, in `promtool test rules`: it
 * gets an expectation that no alert fires, and reports those that do.
 */
export async function firedAlerts({ rules, series, intervalMs, length }: Scrapes): Promise<readonly string[]> {
  const duration = `${length * intervalMs}ms`
  const expr = `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${duration}]))`
  const test = {
    rule_files: [rules],
    evaluation_interval: `${intervalMs}ms`,
    tests: [
      {
        interval: `${intervalMs}ms`,
        input_series: series,
        promql_expr_test: [{ expr, eval_time: duration, exp_samples: [] }],
      },
    ],
  }
  const folder = await mkdtemp(join(tmpdir(), 'tenure-alerts-'))
  try {
    const file = join(folder, 'test.json')
    await writeFile(file, JSON.stringify(test))
    return firedIn(await outputOf(['test', 'rules', file]))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** @throws Error with the problems that promtool finds in the rules. */
export async function checkRules(file: string): Promise<void> {
  await run(await locateProgram('promtool'), ['check', 'rules', '--lint=all', '--lint-fatal', file])
}

interface Output {
  readonly code: number
  readonly text: string
}

async function outputOf(args: readonly string[]): Promise<Output> {
  try {
    const { stdout, stderr } = await run(await locateProgram('promtool'), [...args], { maxBuffer: 2 ** 26 })
    return { code: 0, text: stdout + stderr }
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string }
    if (code === 1) return { code: 1, text: stdout + stderr }
    throw error
  }
}

function firedIn({ code, text }: Output): readonly string[] {
  if (code === 0) return []
  const got = /\n\s*exp:\s*nil\s*\n\s*got:(.*)/.exec(text)?.[1]
  if (got === undefined) throw new Error(`promtool failed:\n${text}`)
  return [...got.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name).toSorted()
}
