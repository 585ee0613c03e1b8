import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Adds up the JSON reports of vitest in a folder, and the steps that failed, to the closing line of CI.
 * Names before it whatever failed, since a log is read from its end.
 */
const [folder = '.', ...failedSteps] = process.argv.slice(2)
const reports = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report)
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0)
const failedTests = reports.flatMap((report) =>
  report.testResults.flatMap((file) => file.assertionResults.filter((test) => test.status === 'failed')),
)
for (const step of failedSteps) console.log(`failed step: ${step}`)
for (const test of failedTests) console.log(`failed test: ${test.fullName}\n${test.failureMessages?.join('\n') ?? ''}`)
// A failing test makes its step fail, too; a step that failed without one counts by itself.
const failed = Math.max(failedTests.length, failedSteps.length)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}
