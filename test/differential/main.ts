import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { locateProgram } from '@tenure/test-control-plane'
import { writeFigures } from '../../bench/figures.ts'
import { wholeNumber } from '../../bench/whole-number.ts'
import { compare } from './compare.ts'
import { DIFFERENCES, type Divergence } from './differences.ts'
import { type Decision, type HistoryStep, randomHistory, toJson } from './history.ts'
import { seededRandom } from './seeded-random.ts'
import { decide } from './tenure-elector.ts'

/*
 * Runs the machine of production and the elector of client-go on the same random histories of a lease. At every step both must decide the
 * same, or the first difference must be an intended one. Any other difference fails the run, and so does an intended difference that never
 * occurs.
 */
const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
})
const histories = wholeNumber('--histories', values.histories, 1)
const random = seededRandom(wholeNumber('--seed', values.seed, 1))
const BATCH = 20_000

const program = await locateProgram('client-go-decisions')
const seen = new Map<string, number>(DIFFERENCES.map(({ name }) => [name, 0]))
const unexplained: string[] = []
let decisions = 0
const started = performance.now()
for (let done = 0; done < histories; done += BATCH) runBatch(Math.min(BATCH, histories - done))
await report()

function runBatch(size: number): void {
  const batch = Array.from({ length: size }, () => randomHistory(random))
  const theirs = askClientGo(batch)
  for (const [index, steps] of batch.entries()) {
    const ours = decide(steps)
    const divergence = compare(steps, ours, theirs[index] ?? [])
    decisions += divergence === undefined ? ours.length : steps.indexOf(divergence.step)
    if (divergence !== undefined) classify(divergence, steps)
  }
}

function askClientGo(batch: readonly (readonly HistoryStep[])[]): readonly (readonly Decision[])[] {
  const { status, stdout, stderr } = spawnSync(program, {
    input: batch.map(toJson).join('\n'),
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  })
  if (status !== 0) throw new Error(`client-go-decisions ended with ${status}: ${stderr}`)
  const lines = stdout.trimEnd().split('\n')
  if (lines.length !== batch.length) throw new Error(`Expected ${batch.length} answers, got ${lines.length}`)
  return lines.map((line) => JSON.parse(line) as readonly Decision[])
}

function classify(divergence: Divergence, steps: readonly HistoryStep[]): void {
  const names = DIFFERENCES.filter(({ explains }) => explains(divergence)).map(({ name }) => name)
  const [name] = names
  if (name !== undefined && names.length === 1) {
    seen.set(name, (seen.get(name) ?? 0) + 1)
    return
  }
  const { ours, theirs, step } = divergence
  const decided = [ours, theirs].map(({ wrote, leads }) => JSON.stringify({ wrote, leads })).join(' and ')
  unexplained.push(`[${names.join(', ')}] at ${step.at} ms Tenure and client-go decide ${decided} in ${toJson(steps)}`)
}

async function report(): Promise<void> {
  const seconds = (performance.now() - started) / 1000
  const differing = [...seen.values()].reduce((sum, count) => sum + count, 0)
  for (const { name, reason } of DIFFERENCES) {
    console.log(`${String(seen.get(name)).padStart(8)}  ${name}: ${reason}`)
  }
  const neverSeen = [...seen].filter(([, count]) => count === 0).map(([name]) => name)
  for (const text of unexplained.slice(0, 10)) console.log(`UNEXPLAINED ${text}`)
  if (neverSeen.length > 0) console.log(`NEVER SEEN ${neverSeen.join('; ')}`)
  console.log(
    `${histories} histories, ${decisions} equal decisions, ${differing} intended differences, ` +
      `${unexplained.length} unexplained; ${seconds.toFixed(1)} s`,
  )
  await writeFigures(values.json, {
    'differential.histories': histories,
    'differential.equal_decisions': decisions,
    'differential.meant': differing,
    'differential.entries': DIFFERENCES.length,
    'differential.never_seen': neverSeen.length,
    'differential.unexplained': unexplained.length,
    'differential.seconds': seconds,
  })
  if (unexplained.length > 0 || neverSeen.length > 0) process.exitCode = 1
}
