/**
 * A leader that runs something of every kind that a term owns: `replica.ts MODE NAME NAMESPACE`. Tells its parent what is
 * called, with the time of its own clock in nanoseconds. In mode `blocked` it blocks its event loop instead.
 */
import { spawn } from 'node:child_process'
import { EventEmitter, on } from 'node:events'
import { createServer } from 'node:http'
import { Worker } from 'node:worker_threads'
import { silentLogger } from '@tenure/core/internal'
import { createManager, gatedFetch, type Term } from 'tenure'

const TELL_TALE = `const { parentPort } = require('node:worker_threads')
setInterval(() => parentPort.postMessage('news'), 20)`

const [mode, name = '', namespace = ''] = process.argv.slice(2)
const news = new EventEmitter({ captureRejections: true })
let last: Term | undefined

const say = (kind: string, what: string): void =>
  void process.send?.({ kind, what, at: String(process.hrtime.bigint()) })
const called = (what: string): void => say('called', what)

// What does not belong to the term sees that the process goes on, and tries to write.
setInterval(() => {
  news.emit('news', 'iterate')
  if (last === undefined) return
  say(last.isHeld() ? 'held' : 'refused', 'isHeld')
  gatedFetch(last, async () => new Response())('http://store.test/', { method: 'PUT' }).then(
    () => say('held', 'gate'),
    () => say('refused', 'gate'),
  )
}, 20)

const manager = createManager({
  identity: name,
  lease: {
    name: 'janitor',
    namespace,
    leaseDurationMs: 4000,
    renewDeadlineMs: 3000,
    retryPeriodMs: 500,
    requestTimeoutMs: 800,
    abortGraceMs: 600,
  },
  ops: false,
  logger: silentLogger,
  watchdog: mode === 'blocked',
})
manager.register(() => ({ name: 'janitor', run: mode === 'blocked' ? block : work }))
manager.on((event) => {
  if (event.kind === 'term-over') say('term-over', event.reason)
})
process.once('disconnect', () => process.exit(1))
await manager.start()

async function block(term: Term): Promise<void> {
  await term.sleep(1000)
  say('began', '0')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
}

async function work(term: Term): Promise<void> {
  last = term
  const worker = term.worker('worker', () => new Worker(TELL_TALE, { eval: true }))
  worker.on('message', () => called('message of a worker'))
  const child = term.child('child', () => spawn('sh', ['-c', 'while :; do echo news; sleep 0.02; done']))
  child.stdout.on('data', () => called('output of a child'))
  const server = await term.serve(
    'server',
    createServer((_request, response) => {
      called('request')
      response.end()
    }),
    { port: 0, host: '127.0.0.1' },
  )
  const address = server.address()
  term.listen(news, 'news', () => called('listen'))
  void term.spawn('iterate', async () => {
    for await (const [one] of term.iterate(on(news, 'news'))) called(one)
  })
  repeat(term)
  void term.every(20, () => called('every'))
  say('began', String(typeof address === 'object' ? address?.port : 0))
  for (;;) {
    await term.sleep(20)
    called('sleep')
  }
}

function repeat(term: Term): void {
  term.timeout(20, () => {
    called('timeout')
    repeat(term)
  })
}
