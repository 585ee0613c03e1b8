/*
 * Tests the fences on a real etcd and two kube-apiservers, with real processes that are paused, blocked and cut off.
 *
 * Every experiment runs with its fence and without it. The run without the fence must show the failure that the fence prevents. Otherwise
 * the experiment proves nothing, and the run fails. `--without FENCE` removes a fence from the first run, which must then fail. A late
 * recovery is also a failure, unless `--lenient` is given, for a busy machine. So is a trace that is no behaviour of the specification.
 *
 * Some experiments run in parallel on their own leases, because their processes mostly wait. Faults of the whole cluster come last and
 * alone. `--long` runs all experiments one after another with more fleets. `--only EXPERIMENT` runs a part. The increments run only with
 * `--long` or by name. `--stalls`, `--trials` and `--additions` say how many there are.
 */
import { parseArgs } from 'node:util'
import { percentile, writeFigures } from '../../bench/figures.ts'
import { wholeNumber } from '../../bench/whole-number.ts'
import { measureAdmission } from './admission.ts'
import { allOf } from './all-of.ts'
import { Arena } from './arena.ts'
import { CLOCK_BEYOND, CLOCK_WITHIN, type Fault, FAULTS } from './catalogue.ts'
import { type Fleet, NO_FENCES } from './fleet.ts'
import { countForged } from './forged.ts'
import { pauseLeaders, type PauseResult } from './pauses.ts'
import type { Fences } from './replica-setup.ts'
import { blockLeaders } from './stalls.ts'
import { recoveryBoundMs, startFleets, strikeCluster, strikeFaults, type Trial } from './trials.ts'

const EXPERIMENTS = ['forged', 'admission', 'pauses', 'stalls', 'increments', 'faults', 'clocks'] as const
const FENCES = ['gate', 'stamp', 'termCheck', 'watchdog'] as const

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    long: { type: 'boolean', default: false },
    lenient: { type: 'boolean', default: false },
    lease: { type: 'string', default: '1' },
    stalls: { type: 'string' },
    trials: { type: 'string' },
    additions: { type: 'string' },
    fault: { type: 'string', default: '' },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', multiple: true },
  },
})
refuseUnknown('--without', values.without, FENCES)
const only: readonly string[] = values.only ?? EXPERIMENTS.filter((name) => name !== 'increments' || values.long)
refuseUnknown('--only', only, EXPERIMENTS)

const leaseMs = 1000 * wholeNumber('--lease', values.lease, 1)
const asked = values.long
  ? {
      pauses: 1000,
      controlPauses: 200,
      stalls: 1000,
      additions: 100_000,
      controlAdditions: 5000,
      trials: 200,
      handovers: 1000,
    }
  : { pauses: 50, controlPauses: 16, stalls: 20, ...additionsOf(2000), trials: 1, handovers: 25 }
const SIZE = {
  ...asked,
  ...(values.stalls !== undefined && { stalls: wholeNumber('--stalls', values.stalls, 1) }),
  ...(values.trials !== undefined && { trials: wholeNumber('--trials', values.trials, 1) }),
  ...(values.additions !== undefined && additionsOf(wholeNumber('--additions', values.additions, 500))),
}

/** The share of pauses without fences that must leak. With less, the pauses with fences prove nothing. */
const LEAKING_SHARE = 0.2

/** The number of concurrent fleets of each experiment. */
const FLEETS = values.long
  ? { pauses: 8, stalls: 4, increments: 6, toxiproxy: 4, http: 2, clocks: 2 }
  : { pauses: 6, stalls: 3, increments: 6, toxiproxy: 4, http: 2, clocks: 1 }

/** The number of trials without the term check after which at least one overlap is expected. */
const MOST_CLOCK_CONTROLS = 10

const present = (fences: Partial<Fences>): Fences => ({
  ...NO_FENCES,
  ...fences,
  ...Object.fromEntries(values.without.map((fence) => [fence, false])),
})

const figures: Record<string, number> = {}
const judged: Trial[] = []
const failures: string[] = []
const begun = performance.now()

await using arena = await Arena.start()
const { cluster } = arena
console.log(`two API servers are ready after ${seconds()} s`)
const first = run('forged', forged)
  .then(() => run('admission', admission))
  .then(() => run('stalls', stalls))
if (values.long) await first
await run('pauses', pauses)
await run('increments', increments)
const others = Promise.all([first, run('clocks', clocks)])
if (values.long) await others
await Promise.all([others, run('faults', () => faults(others))])
await writeFigures(values.json, figures)
console.log(figures)
for (const failure of failures) console.error(`FAILED: ${failure}`)
console.log(`${failures.length === 0 ? 'all held' : `${failures.length} failed`} after ${seconds()} s`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Runs a selected experiment and prints its duration. */
async function run(name: (typeof EXPERIMENTS)[number], experiment: () => Promise<void>): Promise<void> {
  if (!only.includes(name)) return
  const from = seconds()
  try {
    await experiment()
  } catch (error) {
    console.error(error)
    failures.push(`${name} broke off: ${String(error)}`)
  }
  console.log(`${name}: from ${from} s to ${seconds()} s`)
}

/** Sends old epochs with every verb through both servers. */
async function forged(): Promise<void> {
  const result = await countForged(cluster, present({ termCheck: true }).termCheck)
  const control = await countForged(cluster, false)
  figures['forged'] = result.sent
  figures['forged_accepted'] = result.accepted
  expect(result.accepted === 0, `of ${result.sent} forged writes ${result.accepted} were accepted`)
  expect(
    control.accepted === control.sent,
    `without the term check ${control.accepted} of ${control.sent} were accepted`,
  )
}

/** Measures how long a server still admits the former holder of the lease. */
async function admission(): Promise<void> {
  const { windowsMs, waitsMs, writes, denied } = await measureAdmission(cluster, SIZE.handovers)
  figures['admission_window_p50_ms'] = percentile(windowsMs, 0.5)
  figures['admission_window_p99_ms'] = percentile(windowsMs, 0.99)
  figures['admission_wait_p99_ms'] = percentile(waitsMs, 0.99)
  figures['false_denials_percent'] = (100 * denied) / writes
  expectInTime(denied / writes <= 0.005, `of ${writes} writes of new leaders ${denied} were denied at first`)
}

/**
 * Only the server refuses stale writes: the clients of these replicas do not check the clock. A write is stale if it replaces a write of
 * a newer term. Writes before the first write of a newer term count separately: no check of the object can know that term, and that term
 * reads them first.
 */
async function pauses(): Promise<void> {
  const options = { workMs: 40, restMs: 20, leaseMs }
  const [fenced, control] = await Promise.all([
    pauseLeaders(arena, {
      fences: present({ stamp: true, termCheck: true }),
      pauses: SIZE.pauses,
      fleets: FLEETS.pauses,
      ...options,
    }),
    // Nearly always at work, so that most pauses can leak.
    pauseLeaders(arena, {
      fences: NO_FENCES,
      pauses: SIZE.controlPauses,
      leakingShare: LEAKING_SHARE,
      fleets: 2,
      workMs: 80,
      leaseMs,
    }),
  ])
  figures['pauses'] = fenced.pauses
  figures['stale_writes_with_fence'] = fenced.overlaps
  figures['early_writes_with_fence'] = fenced.early
  figures['pauses_without'] = control.pauses
  figures['stale_writes_without'] = control.overlaps
  figures['leaking_pauses_without_percent'] = (100 * control.leaking) / control.pauses
  expect(fenced.overlaps === 0, `after ${fenced.pauses} pauses ${fenced.overlaps} stale writes were accepted`)
  expect(
    control.leaking / control.pauses >= LEAKING_SHARE,
    `without fences only ${control.leaking} of ${control.pauses} pauses leaked`,
  )
  countLost(fenced, control)
}

/** Without the fences fewer are enough to see that some are lost. */
function additionsOf(additions: number): { readonly additions: number; readonly controlAdditions: number } {
  return { additions, controlAdditions: Math.ceil(0.3 * additions) }
}

/** Adds as fast as possible under pauses, kills and partitions. Every acknowledged addition must be in the sum. */
async function increments(): Promise<void> {
  const options = { pauses: 0, leaseMs }
  const [fenced, control] = await Promise.all([
    pauseLeaders(arena, {
      ...options,
      workMs: 0,
      calm: 4,
      fences: present({ stamp: true, termCheck: true }),
      additions: SIZE.additions,
      fleets: FLEETS.increments,
    }),
    // Slower and with more disturbances, so that enough additions are lost.
    pauseLeaders(arena, {
      ...options,
      workMs: 20,
      calm: 1,
      fences: NO_FENCES,
      additions: SIZE.controlAdditions,
      fleets: 2,
    }),
  ])
  figures['increments_pauses'] = fenced.pauses
  figures['increments_kills'] = fenced.kills
  figures['increments_partitions'] = fenced.partitions
  expect(fenced.overlaps === 0, `among ${fenced.added} additions ${fenced.overlaps} were stale`)
  countLost(fenced, control)
}

/** Adds to the previous counts, because pauses also lose additions. */
function countLost(fenced: PauseResult, control: PauseResult): void {
  figures['adds'] = (figures['adds'] ?? 0) + fenced.added
  figures['lost_adds'] = (figures['lost_adds'] ?? 0) + fenced.lost
  figures['adds_without'] = (figures['adds_without'] ?? 0) + control.added
  figures['lost_adds_without'] = (figures['lost_adds_without'] ?? 0) + control.lost
  figures['lost_adds_without_percent'] = (100 * figures['lost_adds_without']) / figures['adds_without']
  expect(fenced.lost === 0, `of ${fenced.added} additions ${fenced.lost} were lost`)
  expect(
    control.lost / control.added > 0.01,
    `without fences only ${control.lost} of ${control.added} additions were lost`,
  )
}

async function stalls(): Promise<void> {
  const fences = present({ gate: true, watchdog: true })
  const [result, control] = await Promise.all([
    blockLeaders(arena, { fences, stalls: SIZE.stalls, fleets: FLEETS.stalls, leaseMs }),
    blockLeaders(arena, { fences: NO_FENCES, stalls: 2, fleets: 1, leaseMs }),
  ])
  figures['stalls'] = result.deathsMs.length + result.survivors
  figures['stall_survivors'] = result.survivors
  figures['stall_death_p50_ms'] = percentile(result.deathsMs, 0.5)
  figures['stall_death_p99_ms'] = percentile(result.deathsMs, 0.99)
  figures['stall_exit_p99_ms'] = percentile(result.exitsMs, 0.99)
  figures['stall_stale_writes'] = result.stale
  expect(result.survivors === 0, `${result.survivors} processes outlived their deadline by a second`)
  expectInTime(
    percentile(result.deathsMs, 0.99) <= 10,
    `deaths came ${percentile(result.deathsMs, 0.99)} ms late at p99`,
  )
  expect(result.stale === 0, `${result.stale} writes of blocked processes were accepted after their time`)
  expect(control.survivors > 0, `without a watchdog all of ${control.deathsMs.length} blocked processes died`)
}

/** Faults around running replicas. The fences in the client alone must prevent overlaps. */
async function faults(others: Promise<unknown>): Promise<void> {
  const fences = present({ gate: true, watchdog: true })
  const known = FAULTS.filter(({ name }) => name.includes(values.fault))
  const fleets = await fleetsOf(fences, FLEETS)
  try {
    const struck = await strikeFaults(arena, fleets, { faults: known, times: SIZE.trials })
    await others
    const shaken = await strikeCluster(arena, fleets, { times: SIZE.trials, only: values.fault })
    countTrials([...struck, ...shaken])
  } finally {
    await disposeAll(fleets)
  }
}

/** Clocks within the tolerance are harmless. Beyond it, only the server prevents overlaps, and without its check terms must overlap. */
async function clocks(): Promise<void> {
  const untraced = { http: FLEETS.clocks, isTraced: false }
  const gateOnly = await fleetsOf(present({ gate: true }), untraced)
  const checked = await fleetsOf(present({ gate: true, stamp: true, termCheck: true }), untraced)
  try {
    const strike = (fleets: readonly Fleet[], fault: Fault, times: number) =>
      strikeFaults(arena, fleets, { faults: [fault], times })
    const [within, beyond] = await Promise.all([
      strike(gateOnly, CLOCK_WITHIN, SIZE.trials),
      strike(checked, CLOCK_BEYOND, SIZE.trials),
    ])
    const control: Trial[] = []
    // If the next leader is late, as on a busy machine, the previous term has ended in spite of its clock.
    while (control.every(({ overlaps }) => overlaps === 0) && control.length < MOST_CLOCK_CONTROLS) {
      control.push(...(await strike(gateOnly, CLOCK_BEYOND, Math.ceil(SIZE.trials / 5))))
    }
    // The server compares with the stored object, so it accepts stale writes until the new term has written.
    countTrials([...within, ...beyond.map((trial) => ({ ...trial, stale: 0 }))])
    figures['clock_trials_without'] = control.length
    figures['clock_overlaps_without'] = sumOf(control.map(({ overlaps }) => overlaps))
    expect(figures['clock_overlaps_without'] > 0, 'without the term check a slow clock made no terms overlap')
  } finally {
    await disposeAll([...gateOnly, ...checked])
  }
}

/** Starts fleets for each kind of network path. */
async function fleetsOf(
  fences: Fences,
  { isTraced = true, ...counts }: { readonly toxiproxy?: number; readonly http?: number; readonly isTraced?: boolean },
): Promise<readonly Fleet[]> {
  const started = (['toxiproxy', 'http'] as const).map((way) =>
    startFleets(arena, { count: counts[way] ?? 0, way, fences, leaseMs, isTraced }),
  )
  return (await allOf(started)).flat()
}

async function disposeAll(fleets: readonly Fleet[]): Promise<void> {
  await Promise.all(fleets.map((fleet) => fleet[Symbol.asyncDispose]()))
}

function countTrials(trials: readonly Trial[]): void {
  judged.push(...trials)
  const bound = recoveryBoundMs(leaseMs)
  figures['fault_types'] = new Set(judged.map(({ fault }) => fault)).size
  figures['fault_trials'] = judged.length
  figures['overlaps'] = sumOf(judged.map(({ overlaps }) => overlaps))
  figures['fault_stale_writes'] = sumOf(judged.map(({ stale }) => stale))
  figures['late_leaders'] = judged.filter(({ recoveryMs }) => recoveryMs > bound).length
  figures['recovery_p50_ms'] = percentile(
    judged.map(({ recoveryMs }) => recoveryMs),
    0.5,
  )
  figures['recovery_max_ms'] = Math.max(...judged.map(({ recoveryMs }) => recoveryMs))
  for (const { fault, overlaps, stale, recoveryMs, events } of trials) {
    const isWrong = overlaps + stale > 0
    if (isWrong) failures.push(`${fault}: ${overlaps} overlaps, ${stale} writes after the end of the term`)
    expectInTime(recoveryMs <= bound, `${fault}: no leader for ${recoveryMs.toFixed(0)} ms, more than ${bound} ms`)
    if (isWrong || recoveryMs > bound) console.log([`after ${fault}, by milliseconds:`, ...events].join('\n'))
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function expect(isSo: boolean, otherwise: string): void {
  if (!isSo) failures.push(otherwise)
}

function expectInTime(isSo: boolean, otherwise: string): void {
  if (!isSo && values.lenient) console.log(`LATE: ${otherwise}`)
  else expect(isSo, otherwise)
}

function seconds(): string {
  return ((performance.now() - begun) / 1000).toFixed(1)
}

function refuseUnknown(flag: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name))
  if (unknown === undefined) return
  console.error(`Expected \`${flag}\` to be one of ${known.join(', ')}, got \`${unknown}\``)
  process.exit(2)
}
