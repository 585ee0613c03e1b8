import { parseArgs } from 'node:util'
import { textOf } from '@tenure/core/internal'
import { writeFigures } from '../../bench/figures.ts'
import { wholeNumber } from '../../bench/whole-number.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import type { Finding } from '../../packages/cli/src/check-trace/finding.ts'
import { mulberry32 } from '../../packages/core/test/election/fleet.ts'
import { drawnSimulation } from '../simulation/drawn-simulation.ts'
import { fleetOf } from '../simulation/fleets.ts'
import { checkLines } from './check-lines.ts'
import type { Lines } from './corruption.ts'
import { CORRUPTIONS } from './corruptions.ts'
import { checkDay } from './day.ts'
import { drawnFleet } from './drawn-fleet.ts'
import { FLEET_KINDS } from './fleet-kinds.ts'
import { traceFleet } from './fleet-trace.ts'
import { traceSimulation, withRestores } from './simulated-trace.ts'
import { compareWithTlc, UNSEEN } from './tlc/compare.ts'
import { Fit } from './tlc/fit.ts'

/*
 * Traces very many runs of fleets, checks them against the specification, and corrupts some of them: every corruption must be found. Exits
 * with 1 if a sound trace is refused or a corrupted one is not. Most are fleets of pure machines, because they are cheap and rich in faults; the
 * others run the whole replica, `--drawn N` of them with settings in any combination. The suites with processes check the traces of those.
 * `--first-seed N` begins with other fleets of pure machines, and with other settings.
 *
 * The steps a second are those of a second of processor time of the thread. They count everything that the command does with a line
 * after it was read: parsing and judging it. The share of parsing is printed.
 *
 * `--day` checks the files of a simulated day of a fleet of ten instead. `--tlc N` has the model checker judge N of the traces, too, and N
 * corrupted ones, and exits with 1 if it disagrees.
 */
const { values } = parseArgs({
  options: {
    fleets: { type: 'string', default: '850' },
    'first-seed': { type: 'string', default: '1' },
    simulations: { type: 'string', default: '200' },
    drawn: { type: 'string', default: '200' },
    corrupted: { type: 'string', default: '200' },
    day: { type: 'boolean', default: false },
    tlc: { type: 'string', default: '0' },
    json: { type: 'string' },
    // Reports a slow check without failing, for a busy machine.
    lenient: { type: 'boolean', default: false },
  },
})

const fleets = wholeNumber('--fleets', values.fleets, 1)
const firstSeed = wholeNumber('--first-seed', values['first-seed'], 0)
const simulations = wholeNumber('--simulations', values.simulations, 0)
const drawn = wholeNumber('--drawn', values.drawn, 0)
const toCorrupt = wholeNumber('--corrupted', values.corrupted, 0)

/** The least number of steps that are checked in a second. */
const LEAST_PER_SECOND = 500_000

/** One in this many simulations is run once more with a store that is restored now and then. */
const RESTORED_SHARE = 4

/** How long a fleet of pure machines runs with faults, and then without. */
const FLEET_MS = 60_000
const REST_MS = 30_000

if (values.day) {
  await checkDay(values.json)
  process.exit()
}

/** A trace in memory. */
interface Named {
  readonly name: string
  readonly lines: readonly string[]
  /** Whether the store was restored during the run. */
  readonly mayRestore?: boolean
}

/** How many sound traces are kept to be corrupted. */
const KEPT = 60

const kept: Named[] = []
const fit = new Fit<Named>(wholeNumber('--tlc', values.tlc, 0))
const broken: string[] = []
let traces = 0
let restored = 0
let events = 0
let checkedMs = 0
let parsedMs = 0
let waiting: Named[] = []

/**
 * Traces that are checked one after the other: what made them disturbs the check no more than in `tenure check-trace`. They have as many steps
 * as a day of a fleet of ten.
 */
const TOGETHER = 400

function check(trace: Named): void {
  waiting.push(trace)
  if (waiting.length >= TOGETHER) checkWaiting()
}

function checkWaiting(): void {
  const began = cpuMs()
  restored += waiting.filter(({ mayRestore }) => mayRestore).length
  const reports = waiting.map(({ name, lines, mayRestore = false }) => ({
    name,
    report: checkLines(name, lines, { mayRestore }),
  }))
  const checked = cpuMs()
  for (const { lines } of waiting) for (const line of lines) JSON.parse(line)
  parsedMs += cpuMs() - checked
  checkedMs += checked - began
  for (const { name, report } of reports) {
    events += report.events
    broken.push(...report.findings.map(describe(name)))
  }
  for (const trace of waiting) {
    if (trace.mayRestore === true) continue
    if ((traces += 1) % 7 === 0 && kept.length < KEPT) kept.push(trace)
    fit.take(trace)
  }
  waiting = []
}

/** The processor time that this thread has used: the time on a machine that does nothing else. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const describe =
  (name: string) =>
  (finding: Finding): string =>
    `${name}: ${describeFinding(finding)}`

/** Every second fleet has settings that are drawn; the others are of all kinds in turn. */
function traceFleets(first: number, count: number): void {
  const kinds = Object.entries(FLEET_KINDS)
  for (let seed = first; seed < first + count; seed += 1) {
    const [kindName, listed] = kinds[Math.floor(seed / 2) % kinds.length] ?? fail('There is no kind of fleet')
    const isDrawn = seed % 2 === 0
    const name = `${isDrawn ? 'drawn' : kindName} ${seed}`
    const { kind, replicas } = isDrawn ? drawnFleet(seed) : { kind: listed, replicas: 3 }
    const { lines, broken: why } = traceFleet({ seed, replicas, ...kind }, FLEET_MS, REST_MS)
    if (why !== undefined) broken.push(`${name}: ${why.message}`)
    else check({ name, lines })
  }
}

async function traceSimulations(count: number): Promise<void> {
  for (let seed = 0; seed < count; seed += 1) {
    const { name, options } = fleetOf(25_000 + seed)
    check({ name: `${name} ${25_000 + seed}`, lines: await traceSimulation(options, 25_000 + seed) })
  }
}

/** Simulates fleets with settings that are drawn. A run that breaks a rule, or fails, is reported, and the others go on. */
async function traceDrawnSimulations(first: number, count: number): Promise<void> {
  for (let seed = first; seed < first + count; seed += 1) {
    const { options, mayRestore } = drawnSimulation(seed)
    const name = `drawn simulation ${seed}`
    try {
      check({ name, lines: await traceSimulation(options, seed), mayRestore })
    } catch (error) {
      broken.push(`${name}: ${textOf(error)}`)
    }
  }
}

async function traceRestored(count: number): Promise<void> {
  for (let seed = 0; seed < count; seed += 1) {
    const { name, options } = fleetOf(seed)
    const lines = await traceSimulation(withRestores(options), seed)
    check({ name: `${name}, restored ${seed}`, lines, mayRestore: true })
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

/** Has the model checker judge some traces, and prints where it disagrees. */
async function askTlc() {
  const result = await compareWithTlc(fit.sample())
  const { traces: judged, agreed, differences } = result
  for (const [reason, count] of fit.unfit) console.log(`not for the model: ${count} traces with ${reason}`)
  for (const [kind, reason] of Object.entries(UNSEEN)) console.log(`not for the model: corruption ${kind}: ${reason}`)
  for (const difference of differences) console.error(difference)
  console.log(`tlc_traces ${judged}, tlc_agreed ${agreed}, tlc_disagreed ${differences.length}`)
  return result
}

function fail(message: string): never {
  throw new Error(message)
}

traceFleets(firstSeed, fleets)
await traceSimulations(simulations)
await traceDrawnSimulations(firstSeed, drawn)
await traceRestored(Math.ceil(simulations / RESTORED_SHARE))
checkWaiting()
const { corrupted, missed } = corrupt(toCorrupt)
const eventsPerSecond = (events / checkedMs) * 1000
const parsing = Math.round((100 * parsedMs) / checkedMs)
console.log(
  `${traces} traces, ${restored} of restored stores, ${events} steps, ${Math.round(eventsPerSecond)} steps a second, ${parsing} % of it parsing`,
)
for (const line of broken.slice(0, 20)) console.error(line)
console.log(`${broken.length} violations; ${corrupted - missed.length} of ${corrupted} corrupted traces found`)
for (const line of missed) console.error(`not found: ${line}`)
const tlc = fit.wanted > 0 ? await askTlc() : undefined
await writeFigures(values.json, {
  traces: traces + restored,
  events,
  violations: broken.length,
  corrupted,
  corrupted_found: corrupted - missed.length,
  events_per_second: eventsPerSecond,
  ...(tlc && { tlc_traces: tlc.traces, tlc_agreed: tlc.agreed, tlc_disagreed: tlc.differences.length }),
})
const isSlow = eventsPerSecond < LEAST_PER_SECOND
if (isSlow) console.error(`Expected at least ${LEAST_PER_SECOND} steps a second`)
const isWrong = (tlc?.differences.length ?? 0) > 0 || broken.length > 0 || missed.length > 0 || corrupted < toCorrupt
process.exitCode = isWrong || (isSlow && !values.lenient) ? 1 : 0
