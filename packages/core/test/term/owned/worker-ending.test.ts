import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { worker, type WorkerOptions } from '../../../src/term/owned/worker-thread.ts'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'
import { fakeFamily } from './fake-family.ts'

/** A thread without a thread. */
class FakeWorker extends EventEmitter {
  readonly threadId = 5
  cannotPost = false
  readonly #log: unknown[]

  constructor(log: unknown[]) {
    super()
    this.#log = log
  }

  async terminate(): Promise<number> {
    this.#log.push('terminate')
    return 1
  }

  postMessage(message: unknown): void {
    this.#log.push(['post', message])
    if (this.cannotPost) throw new Error('DataCloneError')
  }
}

/** A term with one worker. */
function withWorker(options: WorkerOptions = {}) {
  const { term, clock, failures, left } = freshTerm()
  const log: unknown[] = []
  fakeFamily(term, log)
  const fake = new FakeWorker(log)
  const start = () => worker(term, 'job', { start: () => fake as unknown as Worker, options })
  return { term, clock, failures, left, log, fake, start }
}

describe('A worker of a term', () => {
  test('is a task until it has exited, and leaves nothing', async () => {
    const { term, clock, failures, left, log, fake, start } = withWorker()
    expect(start()).toBe(fake)
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'worker job', waitsOn: 'exit of worker 5' }])
    fake.emit('exit', 0)
    await clock.runAllMicrotasks()
    expect([log, failures, left()]).toEqual([['forget'], [], NOTHING])
    expect(['error', 'exit'].map((event) => fake.listenerCount(event))).toEqual([0, 0])
  })

  test('that exits with a code, or after an error, fails with the first error', async () => {
    const code = withWorker()
    code.start()
    code.fake.emit('exit', 3)
    await code.clock.runAllMicrotasks()
    expect(code.failures).toMatchObject([{ code: 'OWNED_EXIT', message: '`job` ended before its term: exit code 3' }])
    const thrown = withWorker()
    thrown.start()
    thrown.fake.emit('error', 'first')
    thrown.fake.emit('error', 'second')
    thrown.fake.emit('exit', 1)
    await thrown.clock.runAllMicrotasks()
    expect(thrown.failures).toEqual(['first'])
  })

  test('is terminated when the term ends, and then the processes that it leaves are asked', async () => {
    const { term, failures, log, fake, start } = withWorker()
    start()
    term.end(ENDED)
    expect(log).toEqual(['terminate'])
    fake.emit('exit', 1)
    await term.scope.join()
    expect([log, failures]).toEqual([['terminate', 'SIGTERM to the family', 'forget'], []])
  })

  test('gets the message of its options in place of that, and is terminated at the hard abort', async () => {
    const { term, log, fake, start } = withWorker({ stopMessage: 'stop' })
    start()
    term.end(ENDED)
    expect(log).toEqual([['post', 'stop']])
    term.hardAbort(ENDED)
    expect(log.slice(1)).toEqual(['terminate', 'SIGKILL to the family'])
    fake.emit('exit', 1)
    await term.scope.join()
  })

  test('is terminated where the message cannot be posted', async () => {
    const { term, log, fake, start } = withWorker({ stopMessage: 'stop' })
    start()
    fake.cannotPost = true
    term.end(ENDED)
    expect(log).toEqual([['post', 'stop'], 'terminate'])
    fake.emit('exit', 1)
    await term.scope.join()
  })

  test('whose processes still run when it has exited has them asked when the term ends', async () => {
    const { term, clock, failures, left } = freshTerm()
    const log: unknown[] = []
    const state = fakeFamily(term, log)
    const fake = new FakeWorker(log)
    state.running = [9]
    worker(term, 'job', { start: () => fake as unknown as Worker, options: {} })
    fake.emit('exit', 0)
    await clock.runAllMicrotasks()
    expect(left().tasks).toBe(1)
    term.end(ENDED)
    expect(log).toEqual(['SIGTERM to the family'])
    state.running = []
    await term.scope.join()
    expect(failures).toEqual([])
  })

  test('calls nothing of the user once the time of the term is up', async () => {
    const { term, clock, fake, start } = withWorker()
    start()
    const heard: unknown[] = []
    fake.on('message', (message) => heard.push(message))
    fake.emit('message', 1)
    Object.assign(term, { admits: () => false })
    expect(fake.emit('message', 2)).toBe(false)
    expect(heard).toEqual([1])
    fake.emit('exit', 0)
    await clock.runAllMicrotasks()
    expect(Object.hasOwn(fake, 'emit')).toBe(false)
  })

  test('must have a message that can be posted, and no unknown options', () => {
    const refused = withWorker({ stopMessage: () => {} })
    expect(refused.start).toThrow(
      /^Expected `stopMessage` to be something that can be posted to a worker, got `.+\. .+could not be cloned/,
    )
    expect(withWorker({ stop: 1 } as WorkerOptions).start).toThrow('Unknown option `stop` in `term.worker()`')
    expect(refused.left().tasks).toBe(0)
  })
})
