import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { watchForLeaks } from '../../../../testing/src/leaks/watch-for-leaks.ts'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm } from '../../support/fresh-term.ts'

const PORT = `const { parentPort } = require('node:worker_threads')`
const script = (source: string) => () => new Worker(`${PORT}; ${source}`, { eval: true })

const SPINS = `setInterval(() => {}, 1000)`

describe('term.worker', () => {
  test('terminates a worker when the term ends, waits until it has exited, and leaves nothing', async () => {
    // Node leaves listeners of its own on the ports of a worker that has exited.
    const leaks = watchForLeaks({ retained: false, ignore: { kinds: ['async-hook', 'event-target-listener'] } })
    const { term, failures, left } = freshTerm()
    const worker = term.worker('spinner', script(SPINS))
    await once(worker, 'online')
    const { threadId } = worker
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'worker spinner', waitsOn: `exit of worker ${threadId}` }])
    term.end(ENDED)
    await term.scope.join()
    expect([worker.threadId, left().listeners, failures]).toEqual([-1, 0, []])
    await leaks.assertNone()
  })

  test('sends a worker its stop message, and terminates a worker that has not ended at the hard abort', async () => {
    const { term } = freshTerm()
    const listens = `parentPort.once('message', (m) => { parentPort.postMessage(m + ' heard'); parentPort.unref() })`
    const finishing = term.worker('finishing', script(listens), { stopMessage: 'stop' })
    const deaf = term.worker('deaf', script(SPINS), { stopMessage: 'stop' })
    await Promise.all([once(finishing, 'online'), once(deaf, 'online')])
    const heard = once(finishing, 'message')
    const exited = once(finishing, 'exit')
    term.end(ENDED)
    expect([(await heard)[0], (await exited)[0]]).toEqual(['stop heard', 0])
    await new Promise((resolve) => setImmediate(resolve))
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'worker deaf' }])
    term.hardAbort(ENDED)
    await term.scope.join()
  })

  test('fails the controller when the worker throws or exits badly, and not when it is done', async () => {
    const { term, failures } = freshTerm()
    await once(term.worker('done', script('')), 'exit')
    const throwing = term.worker('throwing', script(`throw new Error('in the worker')`))
    await new Promise((resolve) => throwing.once('exit', resolve))
    await once(term.worker('exiting', script('process.exit(2)')), 'exit')
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toMatchObject([{ message: 'in the worker' }, { code: 'OWNED_EXIT', exitCode: 2 }])
    expect(term.taskCount).toBe(0)
  })

  test('is refused once the term has ended, and starts nothing', () => {
    const { term } = freshTerm()
    let started = 0
    term.end(ENDED)
    const late = () => {
      started += 1
      return script('')()
    }
    expect(() => term.worker('late', late)).toThrow(ScopeClosedError)
    expect(started).toBe(0)
  })
})

test('term.worker refuses a `stopMessage` that cannot be posted, before it starts anything', () => {
  const { term } = freshTerm()
  const start = (): Worker => expect.fail('it was started')
  expect(() => term.worker('w', start, { stopMessage: () => {} })).toThrow(
    /^Expected `stopMessage` to be something that can be posted to a worker, got `\[Function: stopMessage\]` \(function\)\. .*could not be cloned/,
  )
})

test('term.worker terminates a worker whose `stopMessage` cannot be posted any more', async () => {
  const { term, failures } = freshTerm()
  const stopMessage: Record<string, unknown> = { stop: true }
  const worker = term.worker('w', script(SPINS), { stopMessage })
  await once(worker, 'online')
  stopMessage['callback'] = () => {}
  term.end(ENDED)
  await term.scope.join()
  expect([worker.threadId, failures]).toEqual([-1, []])
})
