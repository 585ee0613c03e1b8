import { parseArgs } from 'node:util'
import { writeFigures } from './figures.ts'
import { measureStart, startFigures } from './start/measure-start.ts'

/*
 * The cold start: the time and the memory of imports in fresh processes, in turns, and the time from the start of a replica's process to
 * the moment at which it knows the leader and stands for election. The replica is measured with its packages and as one file.
 */
const { values } = parseArgs({ options: { json: { type: 'string' }, rounds: { type: 'string', default: '20' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number above 0, got \`${values.rounds}\``)
  process.exit(2)
}

const figures = startFigures(await measureStart(rounds))
for (const name of ['import_ratio_to_client_node', 'rss_follower_ratio_to_node']) {
  console.log(`${name.padEnd(36)}${figures[name]?.toFixed(2)}`)
}
await writeFigures(values.json, figures)
