import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Adds up the JSON reports of vitest in a folder, and the steps that failed, to the closing line of CI. */
const [folder = '.', failedSteps = '0'] = process.argv.slice(2)
const reports = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report)
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0)
const failedTests = reports.reduce((sum, report) => sum + report.numFailedTests, 0)
// A failing test makes its step fail, too; a step that failed without one counts by itself.
const failed = Math.max(failedTests, Number(failedSteps))
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
}
