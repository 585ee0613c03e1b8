/*
 * What the fences hold, on a real etcd and two kube-apiservers, with real processes that are paused, blocked and cut off.
 *
 * Every experiment is run with its fence and without, and the second has to show what the fence keeps out: otherwise the
 * experiment proves nothing, and the run fails. `--without FENCE` takes a fence out of the first, to see the run fail for it.
 * What is late is a failure as well, unless the run is told to be `--lenient`, as on a machine that is busy with other things.
 */
import { parseArgs } from 'node:util'
import { percentile, writeFigures } from '../../bench/figures.ts'
import { measureAdmission } from './admission.ts'
import { FencedCluster } from './fenced-cluster.ts'
import { NO_FENCES } from './fleet.ts'
import { countForged } from './forged.ts'
import { pauseLeaders } from './pauses.ts'
import type { Fences } from './replica-setup.ts'
import { blockLeaders } from './stalls.ts'
import { recoveryBoundMs, strikeFaults } from './trials.ts'

const EXPERIMENTS = ['forged', 'admission', 'pauses', 'stalls', 'faults'] as const
const FENCES = ['gate', 'stamp', 'termCheck', 'watchdog'] as const

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    long: { type: 'boolean', default: false },
    lenient: { type: 'boolean', default: false },
    lease: { type: 'string', default: '1' },
    trials: { type: 'string' },
    fault: { type: 'string', default: '' },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', multiple: true, default: [...EXPERIMENTS] },
  },
})
refuseUnknown('--without', values.without, FENCES)
refuseUnknown('--only', values.only, EXPERIMENTS)

const leaseMs = 1000 * wholeNumber('--lease', values.lease)
const trials = values.trials === undefined ? undefined : wholeNumber('--trials', values.trials)
const asked = values.long
  ? { pauses: 1000, controlPauses: 200, stalls: 1000, additions: 100_000, fleets: 3, trials: 200, handovers: 1000 }
  : { pauses: 50, controlPauses: 16, stalls: 50, additions: 0, fleets: 3, trials: 5, handovers: 50 }
const SIZE = trials === undefined ? asked : { ...asked, pauses: trials, controlPauses: trials, stalls: trials, trials }

const present = (fences: Partial<Fences>): Fences => ({
  ...NO_FENCES,
  ...fences,
  ...Object.fromEntries(values.without.map((fence) => [fence, false])),
})

const figures: Record<string, number> = {}
const failures: string[] = []
const begun = performance.now()

await using cluster = await FencedCluster.start(2)
console.log(`two API servers are ready after ${seconds()} s`)
if (values.only.includes('forged')) await forged()
if (values.only.includes('admission')) await admission()
if (values.only.includes('pauses')) await pauses()
if (values.only.includes('stalls')) await stalls()
if (values.only.includes('faults')) await faults()
await writeFigures(values.json, figures)
console.log(figures)
for (const failure of failures) console.error(`FAILED: ${failure}`)
console.log(`${failures.length === 0 ? 'all held' : `${failures.length} failed`} after ${seconds()} s`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Old epochs by every verb through both servers. */
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

/** For how long a server still goes by the former holder of the lease. */
async function admission(): Promise<void> {
  const { windowsMs, waitsMs, writes, denied } = await measureAdmission(cluster, SIZE.handovers)
  figures['admission_window_p50_ms'] = percentile(windowsMs, 0.5)
  figures['admission_window_p99_ms'] = percentile(windowsMs, 0.99)
  figures['admission_wait_p99_ms'] = percentile(waitsMs, 0.99)
  figures['false_denials_percent'] = (100 * denied) / writes
}

/** The server alone keeps stale writes out: the client of these replicas does not even look at the clock. */
async function pauses(): Promise<void> {
  const { additions, fleets } = SIZE
  const [fenced, control] = await Promise.all([
    pauseLeaders(cluster, {
      fences: present({ stamp: true, termCheck: true }),
      pauses: SIZE.pauses,
      additions,
      fleets,
      leaseMs,
    }),
    pauseLeaders(cluster, { fences: NO_FENCES, pauses: SIZE.controlPauses, fleets: 1, leaseMs }),
  ])
  figures['pauses'] = fenced.pauses
  figures['stale_writes_with_fence'] = fenced.stale
  figures['stale_writes_without'] = control.stale
  figures['leaking_pauses_without_percent'] = (100 * control.leaking) / control.pauses
  figures['adds'] = fenced.added
  figures['lost_adds'] = fenced.lost
  figures['lost_adds_without_percent'] = (100 * control.lost) / control.added
  expect(fenced.stale === 0, `after ${fenced.pauses} pauses ${fenced.stale} stale writes were accepted`)
  expect(fenced.lost === 0, `of ${fenced.added} additions ${fenced.lost} were lost`)
  expect(
    control.leaking / control.pauses >= 0.2,
    `without fences only ${control.leaking} of ${control.pauses} pauses leaked`,
  )
  expect(
    control.lost / control.added > 0.01,
    `without fences only ${control.lost} of ${control.added} additions were lost`,
  )
}

async function stalls(): Promise<void> {
  const { fleets } = SIZE
  const fences = present({ gate: true, watchdog: true })
  const result = await blockLeaders(cluster, { fences, stalls: SIZE.stalls, fleets, leaseMs })
  const control = await blockLeaders(cluster, { fences: NO_FENCES, stalls: 2, fleets: 1, leaseMs })
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

/** What goes wrong around replicas that run: the fences in the client alone have to keep terms apart. */
async function faults(): Promise<void> {
  const fences = present({ gate: true, watchdog: true })
  const trials = await strikeFaults(cluster, {
    fences,
    trials: SIZE.trials,
    fleets: Math.min(SIZE.trials, 5),
    leaseMs,
    only: values.fault,
  })
  const bound = recoveryBoundMs(leaseMs)
  const late = trials.filter(({ recoveryMs }) => recoveryMs > bound)
  figures['fault_types'] = new Set(trials.map(({ fault }) => fault)).size
  figures['fault_trials'] = trials.length
  figures['overlaps'] = sumOf(trials.map(({ overlaps }) => overlaps))
  figures['fault_stale_writes'] = sumOf(trials.map(({ stale }) => stale))
  figures['late_leaders'] = late.length
  figures['recovery_max_ms'] = Math.max(...trials.map(({ recoveryMs }) => recoveryMs))
  for (const { fault, overlaps, stale, recoveryMs } of trials) {
    if (overlaps + stale > 0) failures.push(`${fault}: ${overlaps} overlaps, ${stale} writes after the end of the term`)
    expectInTime(recoveryMs <= bound, `${fault}: no leader for ${recoveryMs} ms, more than ${bound} ms`)
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

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new Error(`Expected \`${flag}\` to be a whole number of at least 1, got \`${text}\``)
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
