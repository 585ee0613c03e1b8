import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { type Figures, percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { followerHeap } from './load/follower-heap.ts'
import { type Herd, herd } from './load/herd.ts'
import { manyLeases } from './load/many-leases.ts'
import { steadyState } from './load/steady-state.ts'

/*
 * The cost of an election for the API server and for the process, on a real API server with etcd on disk:
 *   P6   requests of a leader and of a follower, by the audit log
 *   P7   writes of fifty followers after one release
 *   P8   heap of a follower, minus that of a bare client with one watch
 *   P12  processor time of a process with a thousand candidacies, a tenth of which changes hands every minute
 */
const BOUNDS: Readonly<Record<string, number>> = {
  'P6.follower_rps': 0.04,
  'P6.leader_puts_per_renewal': 1,
  'P6.leader_gets': 0,
  'P7.acquire_writes_max': 3,
  'P7.conflicts_max': 2,
  'P8.heap_kb': 64,
  'P12.cpu_percent': 25,
  'P12.handover_p99_ratio': 4,
}

const PARTS = ['P6', 'P7', 'P8', 'P12'] as const

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    /** How long P6 looks on, and P12, which takes five minutes at least. */
    minutes: { type: 'string', default: '0.5' },
    /** The number of releases of P7. */
    rounds: { type: 'string', default: '5' },
    /** The number of candidacies of P12. */
    leases: { type: 'string', default: '1000' },
    /** The parts to run, for example `P6,P8`. */
    only: { type: 'string', default: PARTS.join(',') },
  },
})
const seconds = 60 * positive('minutes', values.minutes)
const rounds = positive('rounds', values.rounds)
const leases = positive('leases', values.leases)
const parts = values.only.split(',')
/** A percentile needs enough handovers, and there are a hundred per minute. */
const P12_SECONDS = Math.max(seconds, 300)
if (!parts.every((part) => PARTS.some((known) => known === part))) {
  console.error(`Expected \`--only\` to name some of ${PARTS.join(', ')}, got \`${values.only}\``)
  process.exit(2)
}

const folder = await mkdtemp(join(tmpdir(), 'tenure-load-'))
const figures: Record<string, number> = {}
try {
  if (parts.some((part) => part !== 'P12')) await few()
  if (parts.includes('P12')) await many()
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
await writeFigures(values.json, figures)
process.exitCode = missed().length === 0 ? 0 : 1

/** The parts that use the audit log, or cost the API server little. */
async function few(): Promise<void> {
  await using controlPlane = await startControlPlane({ durable: true, auditLevel: 'RequestResponse' })
  if (parts.includes('P6')) add(await steadyState(controlPlane, { seconds }))
  if (parts.includes('P7')) add(await herds(controlPlane))
  if (parts.includes('P8')) add(await followerHeap(controlPlane, { folder }))
}

/** All followers in one process, which share an event loop, and spread over five processes. */
async function herds(controlPlane: ControlPlane): Promise<Figures> {
  const fleets: Herd[] = []
  for (const processes of [1, 5]) fleets.push(await herd(controlPlane, { followers: 50, processes, rounds }))
  const max = (key: keyof Herd) => Math.max(...fleets.map((fleet) => fleet[key]))
  return {
    'P7.acquire_writes_max': max('acquires'),
    'P7.conflicts_max': max('conflicts'),
    'P7.other_writes_max': max('others'),
    'P7.rounds': rounds * fleets.length,
  }
}

/**
 * The same two kinds of processes hand over the single lease and then the many leases. Five hundred renewals per second use a full core
 * of the API server, which shares this machine. It therefore collects garbage less often, as the Go runtime allows with enough memory.
 */
async function many(): Promise<void> {
  process.env['GOGC'] ??= '1000'
  await using controlPlane = await startControlPlane({ durable: true, auditLevel: 'None' })
  const one = await manyLeases(controlPlane, { folder, count: 1, seconds: 60 })
  const all = await manyLeases(controlPlane, { folder, count: leases, seconds: P12_SECONDS })
  console.log(SUMMARY_HEAD)
  console.log(summary('handover of a single lease', one.handoversMs))
  console.log(summary(`handover of one of ${leases}`, all.handoversMs))
  console.log(`${all.leading} leases led, ${all.renewalsPerSecond.toFixed(0)} renewals per second`)
  add({
    'P12.cpu_percent': all.cpuPercent,
    'P12.follower_cpu_percent': all.followerCpuPercent,
    'P12.renewals_per_second': all.renewalsPerSecond,
    'P12.handovers': all.handoversMs.length,
    'P12.handover_p99_ms': percentile(all.handoversMs, 0.99),
    'P12.single_p99_ms': percentile(one.handoversMs, 0.99),
    'P12.handover_p99_ratio': percentile(all.handoversMs, 0.99) / percentile(one.handoversMs, 0.99),
  })
}

function add(measured: Figures): void {
  for (const [id, value] of Object.entries(measured)) {
    figures[id] = value
    const bound = BOUNDS[id]
    const verdict = bound === undefined ? '' : value <= bound ? `  (at most ${bound})` : `  MISSED: at most ${bound}`
    console.log(`${id.padEnd(30)}${value.toFixed(3).padStart(12)}${verdict}`)
  }
}

function missed(): string[] {
  return Object.entries(BOUNDS).flatMap(([id, bound]) => {
    const value = figures[id]
    if (value === undefined) return parts.includes(id.split('.')[0] ?? '') ? [id] : []
    return value <= bound ? [] : [id]
  })
}

function positive(flag: string, text: string): number {
  const value = Number(text)
  if (!(value > 0 && Number.isFinite(value))) {
    console.error(`Expected \`--${flag}\` to be a positive number, got \`${text}\``)
    process.exit(2)
  }
  return value
}
