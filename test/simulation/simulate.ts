import { fork } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeReport } from '@tenure/simulator'
import { endWithParent } from '../../bench/end-with-parent.ts'
import { writeFigures } from '../../bench/figures.ts'
import { Progress } from '../../bench/progress.ts'
import { wholeNumber } from '../../bench/whole-number.ts'
import { hashOfImports } from '../../scripts/house/import-graph.ts'
import { printTally } from './print-tally.ts'
import { interleaved, nameOf, type SeedExtent, type SeedRange, successive } from './seed-ranges.ts'
import { simulatedMs, type Tally } from './tally.ts'
import { TallyFile } from './tally-file.ts'
import { describeEndpoints, runEndpoints } from './endpoints.ts'
import { fleetOf, LONG } from './fleets.ts'
import { tracedSimulation } from '../traces/simulated-trace.ts'

/*
 * Simulates fleets, seed by seed, in several processes. `--seed s4-42` replays one seed, and `--trace FILE` writes its trace. `--endpoints` simulates fleets that keep an
 * EndpointSlice instead. Exits with 1 if a rule is broken.
 *
 * `--long` simulates a hundred cluster-years, prints how far it is, and continues where it was interrupted. The results are in `long.json`, or
 * in the file that `--file` names for any number of seeds. Commit it, so that another machine continues. The file holds
 * results of these seeds and of one state of the sources: delete it to begin again.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    long: { type: 'boolean', default: false },
    'first-seed': { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'string' },
    endpoints: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
    file: { type: 'string' },
    json: { type: 'string' },
  },
})

const ROOT = join(import.meta.dirname, '../..')
const YEAR_MS = 365.25 * 24 * 3_600_000

if (values.seed === undefined) await simulateMany()
else await replay(values.seed)

async function replay(seed: string): Promise<void> {
  const number = Number(/^(?:s\d+-)?(\d+)/.exec(seed)?.[1])
  if (values.endpoints) {
    const run = await runEndpoints(number)
    console.log(describeEndpoints(number, run))
    if (run.violations.length > 0) process.exitCode = 1
    return
  }
  const { report, lines } = await tracedSimulation({ ...fleetOf(number).options, seed })
  if (values.trace !== undefined) await writeFile(values.trace, lines.map((line) => `${line}\n`).join(''))
  console.log(`${fleetOf(number).name}: ${describeReport(report)}`)
  if (report.violations.length > 0) process.exitCode = 1
}

async function simulateMany(): Promise<void> {
  const { endpoints } = values
  const extents = extentsOf(endpoints)
  const seeds = extents.reduce((sum, { first, end }) => sum + end - first, 0)
  const processes = Math.min(wholeNumber('--processes', values.processes, 1), seeds)
  const file =
    values.file ??
    (values.long ? join(import.meta.dirname, endpoints ? 'long-endpoints.json' : 'long.json') : undefined)
  const sources = file === undefined ? '' : hashOfImports(ROOT, 'test/simulation/simulate-range.ts')
  const done = new TallyFile(file, `${sources}, seeds ${nameOf(extents)}`)
  const progress = new Progress('seeds', seeds)
  const report = (): void => progress.report(0, done.tally.seeds, `${done.tally.broken.length} violations`)
  report()
  const ranges = extents.flatMap((extent) => (file === undefined ? interleaved(extent, processes) : successive(extent)))
  const waiting = ranges.filter((range) => !done.has(range))
  const takeRanges = async (): Promise<void> => {
    for (let range = waiting.shift(); range !== undefined; range = waiting.shift()) {
      done.add(range, await inProcess(range))
      report()
    }
  }
  await Promise.all(Array.from({ length: processes }, takeRanges))
  const { tally, elapsedMs } = done
  const figures = {
    seeds: tally.seeds,
    violations: tally.broken.length,
    speedup: simulatedMs(tally) / elapsedMs,
    cluster_years: simulatedMs(tally) / YEAR_MS,
  }
  printTally(tally, elapsedMs, processes)
  await writeFigures(values.json, figures)
  if (tally.broken.length > 0 || tally.seeds < seeds) process.exitCode = 1
}

/** The seeds that run. */
function extentsOf(endpoints: boolean): readonly SeedExtent[] {
  const { long, seeds = long ? '100000' : '5000', 'first-seed': firstSeed } = values
  if (long && !endpoints) {
    for (const option of ['seeds', 'first-seed'] as const) {
      if (values[option] !== undefined)
        throw new Error(
          `Expected no \`--${option}\` beside \`--long\`, which names its seeds, got \`${values[option]}\``,
        )
    }
    return LONG.map((extent) => ({ ...extent, endpoints }))
  }
  const first = wholeNumber('--first-seed', firstSeed ?? '0', 0)
  return [{ first, end: first + wholeNumber('--seeds', seeds, 1), endpoints }]
}

function inProcess(range: SeedRange): Promise<Tally> {
  const child = fork(fileURLToPath(new URL('simulate-range.ts', import.meta.url)), [JSON.stringify(range)])
  endWithParent(child)
  const { promise, resolve, reject } = Promise.withResolvers<Tally>()
  child.once('message', (tally) => resolve(tally as Tally))
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`A process that ran seeds ended with code ${code}`)))
  return promise
}
