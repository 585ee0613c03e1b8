import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import type { Finding } from '../../packages/cli/src/check-trace/finding.ts'
import { mulberry32 } from '../../packages/core/test/election/fleet.ts'
import { fleetOf } from '../simulation/fleets.ts'
import { checkLines } from './check-lines.ts'
import type { Lines } from './corruption.ts'
import { CORRUPTIONS } from './corruptions.ts'
import { FLEET_KINDS } from './fleet-kinds.ts'
import { traceFleet } from './fleet-trace.ts'
import { traceSimulation } from './simulated-trace.ts'

/*
 * Traces very many runs of fleets, checks them against the specification, and corrupts some of them: every corruption must be found. Exits
 * with 1 if a sound trace is refused or a corrupted one is not.
 */
const { values } = parseArgs({
  options: {
    fleets: { type: 'string', default: '840' },
    simulations: { type: 'string', default: '200' },
    corrupted: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
})

/** A trace in memory. */
interface Named {
  readonly name: string
  readonly lines: readonly string[]
}

/** How many sound traces are kept to be corrupted. */
const KEPT = 60

const kept: Named[] = []
const broken: string[] = []
let traces = 0
let events = 0
let checkedMs = 0

function check({ name, lines }: Named): void {
  const began = performance.now()
  const report = checkLines(name, lines)
  checkedMs += performance.now() - began
  traces += 1
  events += report.events
  broken.push(...report.findings.map(describe(name)))
  if (kept.length < KEPT && traces % 7 === 0) kept.push({ name, lines })
}

const describe =
  (name: string) =>
  (finding: Finding): string =>
    `${name}: ${describeFinding(finding)}`

function traceFleets(count: number): void {
  const kinds = Object.entries(FLEET_KINDS)
  for (let seed = 1; seed <= count; seed += 1) {
    const [name, kind] = kinds[seed % kinds.length] ?? fail('There is no kind of fleet')
    const { lines, broken: why } = traceFleet({ seed, replicas: 3, ...kind }, 200_000, 90_000)
    if (why !== undefined) throw why
    check({ name: `${name} ${seed}`, lines })
  }
}

async function traceSimulations(count: number): Promise<void> {
  for (let seed = 0; seed < count; seed += 1) {
    const { name, options } = fleetOf(25_000 + seed)
    check({ name: `${name} ${25_000 + seed}`, lines: await traceSimulation(options, 25_000 + seed) })
  }
}

/** Corrupts traces in every way in turn. Returns how many were corrupted, and those that no rule finds. */
function corrupt(count: number): { readonly corrupted: number; readonly missed: readonly string[] } {
  const missed: string[] = []
  let corrupted = 0
  for (let seed = 0; corrupted < count && seed < 50 * count; seed += 1) {
    const corruption = CORRUPTIONS[seed % CORRUPTIONS.length] ?? fail('There is no corruption')
    const { name, lines } = kept[Math.floor(seed / CORRUPTIONS.length) % kept.length] ?? fail('There is no trace')
    const parsed = lines.map((line) => JSON.parse(line) as Lines[number])
    if (!corruption.apply(parsed, mulberry32(seed))) continue
    corrupted += 1
    const { findings } = checkLines(
      name,
      parsed.map((line) => JSON.stringify(line)),
    )
    if (findings.length === 0) missed.push(`${name}, seed ${seed}: ${corruption.id} (${corruption.why})`)
  }
  return { corrupted, missed }
}

function fail(message: string): never {
  throw new Error(message)
}

traceFleets(Number(values.fleets))
await traceSimulations(Number(values.simulations))
const { corrupted, missed } = corrupt(Number(values.corrupted))
const eventsPerSecond = (events / checkedMs) * 1000
console.log(`${traces} traces, ${events} steps, ${Math.round(eventsPerSecond)} steps a second`)
for (const line of broken.slice(0, 20)) console.error(line)
console.log(`${broken.length} violations; ${corrupted - missed.length} of ${corrupted} corrupted traces found`)
for (const line of missed) console.error(`not found: ${line}`)
await writeFigures(values.json, {
  traces,
  events,
  violations: broken.length,
  corrupted,
  corrupted_found: corrupted - missed.length,
  events_per_second: eventsPerSecond,
})
if (broken.length > 0 || missed.length > 0 || corrupted < Number(values.corrupted)) process.exitCode = 1
