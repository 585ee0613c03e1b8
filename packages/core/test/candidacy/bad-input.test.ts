import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Replica, untilEnd } from '../support/replica.ts'
import { never } from '../support/never.ts'

describe('A task that rejects with no error at all', () => {
  test.each([[undefined], [null], ['text'], [42], [{ reason: 'object' }]])(
    '%o fails its controller with it',
    async (thrown) => {
      const replica = new Replica({ restart: { maxRestarts: 0 } })
      replica.runs(async (term) => {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- that is what is tested
        void term.spawn('bad', () => Promise.reject(thrown)).catch(() => {})
        await untilEnd(term)
      })
      await replica.start()
      await replica.clock.advance(100)
      expect(replica.all('controller-failed')).toMatchObject([{ error: thrown, restartInMs: undefined }])
      expect(replica.all('term-over')).toMatchObject([{ reason: 'controller-failed', outcome: 'released' }])
    },
  )
})

describe('Work that never settles', () => {
  test.each([
    ['a task', () => never()],
    // oxlint-disable-next-line unicorn/no-thenable -- that is what is tested
    ['a thenable that never calls back', () => ({ then: () => {} }) as unknown as Promise<void>],
  ])('%s is wedged, and the lease is kept', async (_what, work) => {
    const replica = new Replica({ timing: { drainTimeoutMs: 100, abortGraceMs: 100 } })
    replica.runs(async (term) => {
      void term.spawn('stuck', work)
      await untilEnd(term)
    })
    await replica.start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(10_000)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'stuck' }] }])
    expect(replica.holder).toBe('me')
  })
})

describe('A controller that returns at once', () => {
  test('is restarted with growing pauses and given up: no storm', async () => {
    let runs = 0
    const replica = new Replica()
    replica.runs(async () => void (runs += 1))
    await replica.start()
    await replica.clock.advance(59_000)
    expect(runs).toBe(6)
    expect(replica.holder).toBe('')
  })
})

describe('Budgets of 0', () => {
  test('release the lease of a term that ends at once', async () => {
    const replica = new Replica({ timing: { drainTimeoutMs: 0, abortGraceMs: 0 }, cleanupTimeoutMs: 0 })
    replica.runs(untilEnd)
    await replica.start()
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'released' })
    expect(replica.fatals).toEqual([])
  })

  test('wedge a term that does not end, at once', async () => {
    const replica = new Replica({ timing: { drainTimeoutMs: 0, abortGraceMs: 0 }, cleanupTimeoutMs: 0 })
    replica.runs(never)
    await replica.start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(1)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED' }])
    expect(replica.holder).toBe('me')
  })
})

describe('A listener on an abort signal that throws', () => {
  const uncaught: Error[] = []

  // Node hands what an event listener throws to the process; the test runner would take it for a failure of the test.
  beforeEach(() => {
    uncaught.length = 0
    process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
  })
  afterEach(() => process.setUncaughtExceptionCaptureCallback(null))

  test('is an uncaught exception of the process, as everywhere in Node, and keeps neither the others nor the drain from their end', async () => {
    const heard: string[] = []
    const replica = new Replica()
    replica.runs(async (term) => {
      term.signal.addEventListener('abort', () => heard.push('before'), { once: true })
      term.signal.addEventListener(
        'abort',
        () => {
          throw new Error('in a listener')
        },
        { once: true },
      )
      term.signal.addEventListener('abort', () => heard.push('after'), { once: true })
      await untilEnd(term)
    })
    await replica.start()
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
    expect(await result).toMatchObject({ outcome: 'released', drain: 'clean' })
    expect(heard).toEqual(['before', 'after'])
    expect(uncaught).toEqual([new Error('in a listener')])
  })
})

describe('Thousands of listeners on the signals of a term', () => {
  test('are no reason for a warning', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    const replica = new Replica()
    replica.runs(async (term) => {
      for (const signal of [term.signal, term.hardSignal, term.gateSignal]) {
        for (let index = 0; index < 3000; index++) signal.addEventListener('abort', () => {}, { once: true })
      }
      term.defer((signal) => {
        for (let index = 0; index < 3000; index++) signal.addEventListener('abort', () => {}, { once: true })
      })
      await untilEnd(term)
    })
    await replica.start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })
})
