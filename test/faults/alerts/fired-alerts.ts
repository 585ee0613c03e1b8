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
export async function firedAlerts(scrapes: Scrapes): Promise<readonly string[]> {
  const expr = `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${durationOf(scrapes)}]))`
  return firedIn(await expectNothingOf([expr], scrapes))
}

/**
 * Returns the expressions that have a value at any time. In them, `NaN` is none. The engine of Prometheus decides, as for alerts: it reports
 * the expectation of each that has one.
 */
export async function expressionsWithData(exprs: readonly string[], scrapes: Scrapes): Promise<readonly string[]> {
  const everOf = (expr: string) => `count_over_time(((${expr}) >= 0)[${durationOf(scrapes)}:${scrapes.intervalMs}ms])`
  const output = await expectNothingOf(exprs.map(everOf), scrapes)
  const found = reportedIn(output)
  return exprs.filter((expr) => found.has(everOf(expr)))
}

function durationOf({ length, intervalMs }: Scrapes): string {
  return `${length * intervalMs}ms`
}

/** What promtool says if it expects no value of any of the expressions at the end. */
async function expectNothingOf(exprs: readonly string[], scrapes: Scrapes): Promise<Output> {
  const { rules, series, intervalMs } = scrapes
  const interval = `${intervalMs}ms`
  const tests = exprs.map((expr) => ({ expr, eval_time: durationOf(scrapes), exp_samples: [] }))
  const test = {
    rule_files: [rules],
    evaluation_interval: interval,
    tests: [{ interval, input_series: series, promql_expr_test: tests }],
  }
  const folder = await mkdtemp(join(tmpdir(), 'tenure-alerts-'))
  try {
    const file = join(folder, 'test.json')
    await writeFile(file, JSON.stringify(test))
    return await outputOf(['test', 'rules', file])
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The expressions whose expectation was not met. */
function reportedIn({ code, text }: Output): ReadonlySet<string> {
  const reported = [...text.matchAll(/^\s*expr: ("(?:[^"\\]|\\.)*"), time: /gm)].map(([, quoted = '""']) =>
    JSON.parse(quoted),
  )
  if (code !== 0 && reported.length === 0) throw new Error(`promtool failed:\n${text}`)
  return new Set(reported)
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
