import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Controller, Manager, MemoryLeaseStore, type Term } from '@tenure/core'
import { type Figures, percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'

/*
 * The cost of tracking tasks:
 *
 * - `term.spawn()` of a real term, against a bare call of the same async function, interleaved in one run
 * - the time from the decision to step down to the end of the term, with 1,000 tasks that listen to their signal
 * - the cost of a task in a term with 100,000 live tasks, against a term with 1,000
 *
 * Exits with 1 if a figure misses its bound. When 100,000 tasks begin and end together, garbage collection takes most of the time. The
 * bench therefore also prints the same figure with only a promise and a handler per task.
 */
const BOUNDS: Figures = { ns_per_task: 300, abort_1000_p99_ms: 10, flatness: 1.5 }
const FEW = 1000
const MANY = 100_000
const ABORTS = 200

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    rounds: { type: 'string', default: '30' },
    // Reports a missed bound without failing, for a busy machine.
    lenient: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`Expected \`--rounds\` to be a whole number of at least 1, got \`${values.rounds}\``)
  process.exit(2)
}

/** Starts one task. The promise settles with its work. */
type Spawn = (work: () => Promise<void>) => Promise<void>

const bare: Spawn = async (work) => work()

/** The minimum cost of observing that a promise settles. */
const watched: Spawn = (work) => {
  const promise = work()
  promise.then(
    () => {},
    () => {},
  )
  return promise
}

await using office = await takeOffice()
const tracked: Spawn = (work) => office.term.spawn('task', work)
const aborts = await abortThousands()
const costs = await compareCosts()
const missed = await report()
process.exitCode = values.lenient ? 0 : missed

async function report(): Promise<number> {
  const cost = (name: keyof typeof costs) => percentile(costs[name], 0.5)
  const figures: Figures = {
    ns_per_task: cost('tracked') - cost('bare'),
    'floor.ns_per_task': cost('bare'),
    ns_per_task_ratio: cost('tracked') / cost('bare'),
    abort_1000_p50_ms: percentile(aborts, 0.5),
    abort_1000_p99_ms: percentile(aborts, 0.99),
    flatness: cost('besideMany') / cost('besideFew'),
    'together_100000.ns_per_task': cost('together'),
    'together_100000.floor_ns_per_task': cost('togetherWatched'),
  }
  console.log(`ns per task, median of ${rounds} rounds`)
  line('bare promise (floor), 1,000 at a time', cost('bare'))
  line('term.spawn(), 1,000 at a time', cost('tracked'))
  line('  beside 1,000 that are alive', cost('besideFew'))
  line('  beside 100,000 that are alive', cost('besideMany'))
  line('bare promise and handler, 100,000 together', cost('togetherWatched'))
  line('term.spawn(), 100,000 together', cost('together'))
  console.log(`over the floor: ${figures['ns_per_task']?.toFixed(0)} ns; flatness ${figures['flatness']?.toFixed(2)}`)
  console.log(SUMMARY_HEAD)
  console.log(summary('step-down of 1,000 tasks → term over', aborts))
  const missed = Object.entries(BOUNDS).filter(([id, bound]) => !((figures[id] ?? Number.NaN) <= bound))
  for (const [id, bound] of missed) console.error(`Expected \`${id}\` to be at most ${bound}, got ${figures[id]}`)
  await writeFigures(values.json, figures)
  return missed.length === 0 ? 0 : 1
}

function line(name: string, ns: number): void {
  console.log(name.padEnd(48) + ns.toFixed(0).padStart(8))
}

/** Takes one sample of each in every round, so that other load on the machine affects all of them. */
async function compareCosts() {
  const samples = {
    bare: [] as number[],
    tracked: [] as number[],
    besideFew: [] as number[],
    besideMany: [] as number[],
    togetherWatched: [] as number[],
    together: [] as number[],
  }
  for (let round = -5; round < rounds; round++) {
    // Timers do not run between promises. Without a pause the lease would expire.
    await setTimeout(1)
    const sample = {
      bare: await nsInBatches(bare),
      tracked: await nsInBatches(tracked),
      besideFew: await nsBeside(FEW),
      besideMany: await nsBeside(MANY),
      togetherWatched: await nsPerTask(watched, MANY),
      together: await nsPerTask(tracked, MANY),
    }
    if (round < 0) continue
    for (const [name, ns] of Object.entries(sample)) samples[name as keyof typeof samples].push(ns)
  }
  return samples
}

/** The cost of a task while `alive` other tasks of the same term run. */
async function nsBeside(alive: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const others = Array.from({ length: alive }, () => tracked(() => promise))
  collectGarbage() // What was just made would otherwise be copied while the clock runs.
  const ns = await nsInBatches(tracked)
  resolve()
  await Promise.all(others)
  return ns
}

/** The same total number of tasks as in the large batch, 1,000 at a time. */
async function nsInBatches(spawn: Spawn): Promise<number> {
  let total = 0
  for (let batch = 0; batch < MANY / FEW; batch++) total += await nsPerTask(spawn, FEW)
  return total / (MANY / FEW)
}

/** The time from the first call until the last of `count` concurrent tasks has settled. */
async function nsPerTask(spawn: Spawn, count: number): Promise<number> {
  const gate = Promise.withResolvers<void>()
  const work = () => gate.promise
  const start = process.hrtime.bigint()
  let last: Promise<void> | undefined
  for (let task = 0; task < count; task++) last = spawn(work)
  gate.resolve()
  await last
  await Promise.resolve() // A task settles for its term one step after it does for its caller.
  return Number(process.hrtime.bigint() - start) / count
}

/** The time from the decision to step down to the end of the term, with 1,000 tasks that end when their signal aborts. */
async function abortThousands(): Promise<readonly number[]> {
  const samples: number[] = []
  for (let round = -20; round < ABORTS; round++) {
    const { term } = office
    for (let task = 0; task < FEW; task++) void term.spawn('sleeper', () => term.sleep(600_000)).catch(() => {})
    const start = performance.now()
    const over = await office.stepDown()
    if (round >= 0) samples.push(over - start)
  }
  return samples
}

interface Office extends AsyncDisposable {
  /** The current term. */
  readonly term: Term
  /** Ends the current term. Resolves with the time of its end once the next term has begun. */
  stepDown(): Promise<number>
}

/** A leading manager on a lease in memory. */
async function takeOffice(): Promise<Office> {
  let onTerm = (_term: Term) => {}
  class Host extends Controller {
    override readonly name = 'host'

    override async run(term: Term): Promise<void> {
      onTerm(term)
      await term.sleep(3_600_000)
    }
  }
  const nextTerm = () => new Promise<Term>((resolve) => (onTerm = resolve))
  const store = new MemoryLeaseStore()
  const manager = new Manager({ identity: 'bench', lease: { name: 'scope' }, createLock: () => store.lock('scope') })
  manager.register(() => new Host())
  const first = nextTerm()
  const running = manager.start()
  const office = {
    term: await first,
    async stepDown() {
      const next = nextTerm()
      await manager.stepDown({ cooldownMs: 0 })
      const over = performance.now()
      office.term = await next
      return over
    },
    async [Symbol.asyncDispose]() {
      await manager.stop()
      await running
    },
  }
  return office
}
