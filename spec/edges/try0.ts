import { existsSync } from 'node:fs'
import { locateTlc, runTlc } from '../tlc.ts'
import { graphConfigOf } from '../models.ts'
import { readGraph } from './graph.ts'
import { walk } from './walk.ts'
const model = { name: 'base', versions: Number(process.argv[2] ?? 3), features: ['transfer' as const] }
const t0 = Date.now()
const cache = `/tmp/e/c-${model.versions}.dot`
if (!existsSync(cache)) await runTlc(await locateTlc(), { module: 'Tenure', config: graphConfigOf(model), workers: 1, memoryMb: 3000, graph: cache })
const graph = await readGraph(cache)
const all = [...graph.edges.values()].flat()
console.log('graph', graph.states.size, all.length, (Date.now() - t0) / 1000)
const t1 = Date.now()
const result = await walk({ model, graph, ways: Number(process.argv[3] ?? 2), most: 400, until: Date.now() + 22_000, variants: [
  { name: 'release', releaseOnExit: true, random: 1e-9 }, { name: 'keep', releaseOnExit: false, random: 1e-9 }] })
console.log('tests', result.tests, 'beyond', result.beyond, 'reached', result.reached, 'covered', result.covered.size, (Date.now() - t1) / 1000)
for (const d of result.differences.slice(0,5)) console.log(d.variant, d.commands.join(' → '), '\n ', d.message)
const missing = new Map<string, number>()
for (const e of all) if (!result.covered.has(e)) missing.set(e.action, (missing.get(e.action) ?? 0) + 1)
console.log(missing)
const ex = all.filter((e) => !result.covered.has(e))
const seen = new Set()
for (const e of ex) if ((result as any).covered.size && !seen.has(e.action)) { seen.add(e.action); console.log(e.action, '\n', e.from, '\n', e.to) }
