import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
import { percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { createFloor } from './handover/floor.ts'
import { handOverPeers } from './handover/peer-fleet.ts'
import { killLeader, replaceLeaders, terminateLeader } from './handover/process-fleet.ts'
import { RawLeaseClient } from './handover/raw-lease.ts'
import { createReplicaPair, type Handover } from './handover/replica-pair.ts'
import { plotDurations } from './plot.ts'

/*
 * The duration of handovers on a real API server with etcd on disk. One run interleaves:
 *
 * - the floor: release PUT → watch event → acquire PUT → answer, over bare HTTPS connections
 * - Tenure between two replicas that have followed before
 * - Tenure with an answered transfer after work that writes until its end
 * - client-go and controller-runtime with the timing of Kubernetes components
 * - processes: SIGTERM and SIGKILL to a leader whose successor has led before, and a step-down to a process that has just begun to follow
 *
 * Exits with 1 if a figure misses its bound, unless `--lenient` is given, for a busy machine.
 */
const NAMESPACE = 'default'
const USER = { name: 'bench', groups: ['system:masters'] }
const WARM_UP = 30
/** Several times the duration of an offer and its answer, also with a slow disk. */
const DRAIN_MS = 250

/** The shortest safe lease, so that many leases expire in a short time. */
const BRIEF = {
  leaseDurationMs: 2000,
  renewDeadlineMs: 1400,
  retryPeriodMs: 400,
  requestTimeoutMs: 350,
  abortGraceMs: 450,
} as const

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    json: { type: 'string' },
    svg: { type: 'string' },
    lenient: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}

const controlPlane = await startControlPlane({ durable: true })
const folder = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
try {
  await run()
} finally {
  await controlPlane.stop()
  await rm(folder, { recursive: true, maxRetries: 5 })
}

async function run(): Promise<void> {
  const inProcess = await measureInterleaved()
  const processes = await measureProcesses()
  await report({ ...inProcess, ...processes })
}

async function measureInterleaved() {
  const floor = await createFloor(controlPlane.access(USER), NAMESPACE)
  const work = await createWork()
  const pairOf = (lease: string, finish?: () => Promise<void>) =>
    createReplicaPair(controlPlane, { namespace: NAMESPACE, lease, ...(finish && { finish }) })
  const pair = await pairOf('pair')
  const transferring = await pairOf('transfer', () => work.finish())
  const silent = await pairOf('silent', () => sleep(DRAIN_MS))
  const enough = new AbortController()
  const peers = startPeers(enough.signal)
  const samples = {
    floor: [] as number[],
    handovers: [] as Handover[],
    transfers: [] as Handover[],
    silentTransfers: [] as Handover[],
  }
  for (let round = -WARM_UP; round < rounds; round++) {
    const floorMs = await floor.round()
    const handover = await pair.round()
    // A transfer takes as long as its drain, so a few are enough.
    const transfer = round % 5 === 0 ? await transferring.round() : undefined
    const silentTransfer = round % 20 === 0 ? await silent.round() : undefined
    if (round < 0) continue
    samples.floor.push(floorMs)
    samples.handovers.push(handover)
    if (transfer !== undefined) samples.transfers.push(transfer)
    if (silentTransfer !== undefined) samples.silentTransfers.push(silentTransfer)
  }
  enough.abort()
  const [clientGo, controllerRuntime] = await Promise.all(peers)
  await Promise.all([pair, transferring, silent].map((replicas) => replicas.close()))
  work.close()
  floor.close()
  return { ...samples, clientGo: clientGo ?? [], controllerRuntime: controllerRuntime ?? [] }
}

/**
 * Work that writes one object after another until it has finished, like a controller. After a drain without requests to the API server
 * the next write takes 1 to 2 ms longer, for every client.
 */
async function createWork() {
  const client = new RawLeaseClient(controlPlane.access(USER), NAMESPACE)
  let written = await client.create('work')
  return {
    async finish() {
      const end = performance.now() + DRAIN_MS
      while (performance.now() < end) written = await client.put(written, 'work')
    },
    close: () => client.close(),
  }
}

/** Runs several fleets of each kind in parallel, because a fleet mostly waits. */
function startPeers(signal: AbortSignal): readonly Promise<readonly number[]>[] {
  return (['client-go-elector', 'controller-runtime-manager'] as const).map(async (program) => {
    const fleets = [1, 2, 3].map((fleet) =>
      handOverPeers(controlPlane, { program, namespace: NAMESPACE, lease: `${program}-${fleet}` }, signal),
    )
    return (await Promise.all(fleets)).flat()
  })
}

async function measureProcesses() {
  const kubeConfigPath = join(folder, 'kubeconfig')
  await writeFile(kubeConfigPath, controlPlane.adminKubeConfig(), { mode: 0o600 })
  const fleet = (name: string, count: number, timing: object) => ({
    rounds: count,
    lease: { name, namespace: NAMESPACE, ...timing },
    kubeConfigPath,
  })
  const few = Math.max(4, Math.round(rounds / 20))
  const terminated = await replaceLeaders(fleet('terminated', few, {}), terminateLeader)
  const killed = await Promise.all(
    [1, 2, 3, 4].map((index) => replaceLeaders(fleet(`killed-${index}`, Math.ceil(few / 4), BRIEF), killLeader)),
  )
  return {
    terminated: terminated.samples,
    killed: killed.flatMap(({ samples }) => samples),
    fresh: terminated.fresh,
  }
}

type Samples = Awaited<ReturnType<typeof measureInterleaved>> & Awaited<ReturnType<typeof measureProcesses>>

async function report(samples: Samples): Promise<void> {
  const handovers = samples.handovers.map(({ fromDecisionMs }) => fromDecisionMs)
  const transfers = samples.transfers.map(({ fromLastTaskMs }) => fromLastTaskMs)
  const silentTransfers = samples.silentTransfers.map(({ fromLastTaskMs }) => fromLastTaskMs)
  const series = [
    { name: 'floor: PUT, watch event, PUT', samples: samples.floor },
    { name: 'Tenure: step-down → runs', samples: handovers },
    { name: 'Tenure: last task → runs, answered', samples: transfers },
    { name: 'Tenure: the same, silent drain', samples: silentTransfers },
    { name: 'Tenure: SIGTERM → first write', samples: samples.terminated },
    { name: 'Tenure: expiry → term, SIGKILL', samples: samples.killed },
    { name: 'Tenure: to a fresh process', samples: samples.fresh },
    { name: 'client-go: SIGTERM → leads', samples: samples.clientGo },
    { name: 'controller-runtime: SIGTERM → runs', samples: samples.controllerRuntime },
  ]
  console.log(SUMMARY_HEAD)
  for (const { name, samples: values } of series) console.log(summary(name, values))
  const floorMs = (p: number) => percentile(samples.floor, p)
  const fastestPeer = Math.min(percentile(samples.clientGo, 0.5), percentile(samples.controllerRuntime, 0.5))
  const figures = {
    'floor.p50_ms': floorMs(0.5),
    'floor.p99_ms': floorMs(0.99),
    'P1.p50_ratio': percentile(handovers, 0.5) / floorMs(0.5),
    'P1.p99_ratio': percentile(handovers, 0.99) / floorMs(0.99),
    'P1.max_ms': percentile(handovers, 1),
    'P2.p50_ratio': fastestPeer / percentile(handovers, 0.5),
    'P3.p50_ratio': percentile(transfers, 0.5) / floorMs(0.5),
    'P3.writes': Math.max(...samples.transfers.map(({ writes }) => writes)),
    'P3.unanswered': samples.transfers.filter(({ isTransfer }) => !isTransfer).length,
    'P4.p99_ms': percentile(samples.terminated, 0.99),
    'P5.p99_ms': percentile(samples.killed, 0.99),
    'P5.min_ms': Math.min(...samples.killed),
  }
  await writeFigures(values.json, figures)
  if (values.svg !== undefined) await writeFile(values.svg, plotDurations('Handovers', series))
  judge(figures)
}

/** The bound of each figure. */
function judge(figures: Readonly<Record<string, number>>): void {
  const bounds: readonly (readonly [string, 'at most' | 'at least', number])[] = [
    ['P1.p50_ratio', 'at most', 1.5],
    ['P1.p99_ratio', 'at most', 2],
    ['P1.max_ms', 'at most', 250],
    ['P2.p50_ratio', 'at least', 100],
    ['P3.p50_ratio', 'at most', 0.75],
    ['P3.writes', 'at most', 1],
    ['P3.unanswered', 'at most', 0],
    ['P4.p99_ms', 'at most', 150],
    ['P5.p99_ms', 'at most', 100],
    ['P5.min_ms', 'at least', 0],
  ]
  for (const [id, relation, bound] of bounds) {
    const value = figures[id] ?? Number.NaN
    const isMet = relation === 'at most' ? value <= bound : value >= bound
    console.log(`${id.padEnd(14)} ${value.toFixed(2).padStart(9)}   ${relation} ${bound}${isMet ? '' : '   MISSED'}`)
    if (!isMet && !values.lenient) process.exitCode = 1
  }
}
