import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { writeFigures } from '../../bench/figures.ts'
import { measurePage } from './measure.ts'
import { takeScreenshot } from './screenshot.ts'

/*
 * Tests the page of `tenure ui` and `tenure dev` in a real Chromium, then measures it with 1,000 leases. `--json FILE` writes the figures.
 * Times are figures and fail nothing. `--screenshot FILE` takes the picture of the documents as well.
 */
const { values } = parseArgs({
  options: { json: { type: 'string' }, report: { type: 'string' }, screenshot: { type: 'string' } },
})

const vitest = await startVitest('test', [], {
  project: 'ui',
  run: true,
  watch: false,
  reporters: values.report === undefined ? ['default'] : ['default', ['json', { outputFile: values.report }]],
})
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()])
const failed = tests.filter((each) => each.result().state !== 'passed')
await vitest.close()

const figures = await measurePage()
for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(28)}${value.toFixed(1).padStart(10)}`)
await writeFigures(values.json, figures)
if (values.screenshot !== undefined) await takeScreenshot(values.screenshot)
if (tests.length === 0 || failed.length > 0 || figures['axe_violations'] !== 0) process.exitCode = 1
