import { setTimeout as pause } from 'node:timers/promises'
import { createManager, type Term } from 'tenure'
import { STEADY } from '../../scenarios/timings.ts'

/*
 * A replica with one controller. The first argument names its `run`. Its work continues until it gets the message
 * `finish`, whatever the term says. It steps down on `step-down`. It tells what happens in messages.
 */
type Message = 'finish' | 'step-down' | 'stop'

/** What the replica tells. */
export type Report =
  | { readonly kind: 'acted' | 'finished' | 'began' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'stepped-down'; readonly result: unknown }
  | { readonly kind: 'rejection'; readonly text: string }

const report = (message: Report): void => void process.send?.(message)
const finish = Promise.withResolvers<void>()

/** Acts every 20 ms, and has no ear for the end of the term. */
async function act(): Promise<void> {
  const finished = finish.promise.then(() => 'finished')
  do report({ kind: 'acted' })
  while ((await Promise.race([finished, pause(20, 'go on')])) === 'go on')
  report({ kind: 'finished' })
}

const RUNS: Readonly<Record<string, (term: Term) => Promise<void>>> = {
  /** As the results of graphql-js are: an object without a prototype. */
  'null-prototype': async (term) => {
    void term.spawn('work', act)
    await Promise.reject(Object.assign(Object.create(null), { data: null }))
  },
  proxy: async (term) => {
    void term.spawn('work', act)
    const fail = (): never => {
      throw new Error('a trap')
    }
    await Promise.reject(new Proxy(new Error('x'), { get: fail, getPrototypeOf: fail, ownKeys: fail }))
  },
  'waits for its own end': async (term) => {
    report({ kind: 'began' })
    await manager.stepDown().catch((error: unknown) => {
      report({ kind: 'rejected', reason: error instanceof Error ? error.message : 'something else' })
      throw error
    })
    await term.sleep(86_400_000)
  },
  'failed and hangs': async (term) => {
    void term.spawn('deaf', act)
    throw new Error('the disk is full')
  },
}

const [name = '', lease = ''] = process.argv.slice(2)
const run = RUNS[name]
if (run === undefined) throw new Error(`Expected the name of a run, got ${name}`)

// As many programs have it: the process goes on.
process.on('unhandledRejection', () => report({ kind: 'rejection', text: 'a rejection that nobody handled' }))

const manager = createManager({
  identity: 'alpha',
  lease: {
    name: lease,
    namespace: 'default',
    ...STEADY,
    drainTimeoutMs: name === 'waits for its own end' ? 1000 : 20_000,
    cleanupTimeoutMs: 500,
  },
  ops: false,
  events: false,
})
manager.register(() => ({ name: 'janitor', run }))
process.on('message', (message: Message) => {
  if (message === 'finish') finish.resolve()
  if (message === 'step-down') {
    void manager.stepDown().then((result) => {
      if (result.kind === 'not-leading') report({ kind: 'stepped-down', result })
      else {
        const { kind, outcome, drain, errors } = result
        report({ kind: 'stepped-down', result: { kind, outcome, drain, errors: errors.length } })
      }
    })
  }
})
await manager.start()
process.disconnect()
