import { Counter } from 'prom-client'
import { Controller, createManager, lead, MemoryLeaseStore, type Term } from 'tenure'

/** Runs one wrong use, by its name, as a program in JavaScript has it. */
class Janitor extends Controller {
  override readonly name = 'janitor'
  override async run(term: Term): Promise<void> {
    await term.sleep(60_000)
  }
}

const store = new MemoryLeaseStore()
const options = { lease: { name: 'janitor' }, lock: () => store.lock('janitor'), ops: false } as const
const untyped = (value: unknown): never => value as never

/** Stops cleanly, so that what was written before is what the use came to. */
async function runs(run: (term: Term, runs: number) => Promise<void>): Promise<void> {
  const manager = createManager({ ...options, restart: { backoffMs: 0, maxRestarts: 1 } })
  let count = 0
  manager.register(() => ({ name: 'janitor', run: (term: Term) => run(term, (count += 1)) }))
  manager.on(({ kind }) => {
    if (kind === 'term-over') void manager.stop()
  })
  await manager.start()
}

const USES: Readonly<Record<string, () => unknown>> = {
  'lead-without-work': () => lead(options, untyped(undefined)),
  'class-as-factory': () => createManager(options).register(untyped(Janitor)),
  'console-as-logger': () => createManager({ ...options, logger: untyped(console) }),
  'service-named-tenure-ops': async () => {
    const manager = createManager({ ...options, ops: { host: '127.0.0.1', port: 0 } })
    await manager.stop()
    console.log('accepted')
  },
  'global-metric': () =>
    runs(async () => {
      const swept = new Counter({ name: 'swept_total', help: 'x' })
      swept.inc()
      throw new Error('restart me')
    }),
  'exit-in-run': () => runs(async () => process.exit(7)),
  'no-controllers': async () => {
    const manager = createManager(options)
    manager.on(({ kind }) => kind === 'term-began' && void manager.stop())
    await manager.start()
  },
}

await USES[process.env['WRONG_USE'] ?? '']?.()
