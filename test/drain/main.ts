import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startApiServer } from '@tenure/api-server'
import { writeFigures } from '../../bench/figures.ts'
import { drainOnce } from '../../packages/core/test/drain/virtual-drain.ts'
import { assertTraces } from '../traces/assert-traces.ts'
import { drainProcess } from './process-drain.ts'

/*
 * Step-downs of replicas whose tasks ignore the abort, throw, spawn late, fail in their cleanups, or never end: on virtual time, and as
 * real processes, whose traces are checked. No write may release or transfer the lease while a task runs.
 */
const AT_A_TIME = 4

const { values } = parseArgs({
  options: {
    virtual: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
})
const virtual = countOf('virtual')
const processes = countOf('processes')
const seed = countOf('seed')

interface Tally {
  readonly ends: Record<string, number>
  readonly violations: string[]
}

const onVirtualTime = newTally()
for (let index = 0; index < virtual; index++) add(onVirtualTime, await drainOnce(seed + index))
const asProcesses = newTally()
if (processes > 0) await drainProcesses()
print('on virtual time', onVirtualTime)
print('as processes', asProcesses)
await writeFigures(values.json, {
  virtual,
  'virtual.violations': onVirtualTime.violations.length,
  'virtual.wedged': onVirtualTime.ends['wedged'] ?? 0,
  processes,
  'processes.violations': asProcesses.violations.length,
  'processes.wedged': asProcesses.ends['wedged'] ?? 0,
})
const isProper = [onVirtualTime, asProcesses].every(({ violations }) => violations.length === 0)
process.exit(isProper ? 0 : 1) // Replicas that never end are left on the virtual clock.

async function drainProcesses(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-drain-'))
  try {
    await using server = await startApiServer()
    const kubeConfigPath = join(folder, 'kubeconfig')
    const traceFolder = join(folder, 'traces')
    await mkdir(traceFolder)
    await server.writeKubeConfig(kubeConfigPath)
    let next = 0
    const drainOneByOne = async () => {
      while (next < processes) {
        const index = next++
        const setup = { lease: `drain-${index}`, seed: seed + index, kubeConfigPath, traceFolder }
        add(asProcesses, await drainProcess(server, setup))
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, drainOneByOne))
    await assertTraces(traceFolder, { atLeast: processes })
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function countOf(name: 'virtual' | 'processes' | 'seed'): number {
  const count = Number(values[name])
  if (Number.isInteger(count) && count >= 0) return count
  console.error(`Expected \`--${name}\` to be a whole number of at least 0, got \`${values[name]}\``)
  return process.exit(2)
}

function newTally(): Tally {
  return { ends: {}, violations: [] }
}

function add(
  { ends, violations }: Tally,
  report: { readonly end: string; readonly violations: readonly string[] },
): void {
  ends[report.end] = (ends[report.end] ?? 0) + 1
  violations.push(...report.violations)
}

function print(title: string, { ends, violations }: Tally): void {
  const counts = Object.entries(ends).map(([end, count]) => `${count} ${end}`)
  console.log(`${title}: ${counts.join(', ') || 'none'}; ${violations.length} writes while a task was running`)
  for (const violation of violations.slice(0, 10)) console.log(violation)
}
