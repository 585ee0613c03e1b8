import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { writeFigures } from '../../bench/figures.ts'

/*
 * Replays every attack that once broke Tenure, each against the real component that it broke. An attack is one test in
 * `test/attacks/*.test.ts`; it holds when the test passes. `--shard 1/3` replays those of a third of the files.
 */
const { values } = parseArgs({
  options: { json: { type: 'string' }, report: { type: 'string' }, shard: { type: 'string' } },
})

const vitest = await startVitest('test', [], {
  project: 'attacks',
  run: true,
  watch: false,
  ...(values.shard !== undefined && { shard: values.shard }),
  reporters: values.report === undefined ? ['default'] : ['default', ['json', { outputFile: values.report }]],
})
const attacks = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()])
const held = attacks.filter((attack) => attack.ok() && attack.result().state === 'passed')
await vitest.close()
console.log(`${attacks.length} attacks, ${held.length} held`)
await writeFigures(values.json, { attacks: attacks.length, held: held.length })
if (attacks.length === 0 || held.length < attacks.length) process.exitCode = 1
