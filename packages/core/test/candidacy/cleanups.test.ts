import { describe, expect, test } from 'vitest'
import type { Term } from '../../src/term/term.ts'
import { Replica, type ReplicaOptions, untilEnd } from '../support/replica.ts'
import { never } from '../support/never.ts'

/** A leader that has deferred `cleanup`. */
async function withCleanup(cleanup: (signal: AbortSignal) => unknown, options: ReplicaOptions = {}) {
  const replica = new Replica({
    timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 },
    cleanupTimeoutMs: 3000,
    ...options,
  })
  replica.runs(async (term) => {
    term.defer(cleanup)
    await untilEnd(term)
  })
  return replica.start()
}

describe('The cleanups of a term', () => {
  test('have a time of their own: it begins when the last task has ended, however late that is', async () => {
    const replica = new Replica({ timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 }, cleanupTimeoutMs: 3000 })
    replica.runs(async (term) => {
      term.defer(() => new Promise<void>((resolve) => replica.clock.setTimer(2999, resolve)))
      await new Promise((resolve) => term.hardSignal.addEventListener('abort', resolve, { once: true }))
      // Ends just before it would be wedged.
      await new Promise<void>((resolve) => replica.clock.setTimer(1999, resolve))
    })
    await replica.start()
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(5000 + 1999 + 2999 + 100)
    expect(await result).toMatchObject({ outcome: 'released', drain: 'aborted' })
    expect(replica.all('wedged')).toEqual([])
  })

  test('that never settle are wedged at the end of that time, and the lease is never released', async () => {
    const replica = await withCleanup(never)
    void replica.candidacy.stepDown()
    await replica.clock.advance(2999)
    expect(replica.all('wedged')).toEqual([])
    await replica.clock.advance(1)
    expect(replica.fatals).toMatchObject([
      { code: 'WEDGED', tasks: [{ name: 'cleanup', spawnedAt: expect.stringContaining('cleanups.test.ts') }] },
    ])
    await replica.clock.advance(60_000)
    expect(replica.lock.writes.filter(({ holderIdentity }) => holderIdentity === '')).toEqual([])
    expect(replica.holder).toBe('me')
  })

  test('are given a fresh signal, which aborts at half of their time, though the signals of the term have aborted', async () => {
    const seen: unknown[] = []
    const replica = await withCleanup(async (signal) => {
      seen.push(signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      seen.push(signal.reason)
    })
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(1499)
    expect(seen).toEqual([false])
    await replica.clock.advance(101)
    expect(await result).toMatchObject({ outcome: 'released', drain: 'clean' })
    expect(seen).toMatchObject([
      false,
      {
        code: 'CLEANUP_TIMEOUT',
        message: 'The cleanups of controller `janitor` must end now: half of their 3000 ms is up',
      },
    ])
  })

  test('leave no timer when they end in time', async () => {
    const replica = await withCleanup(() => {})
    const before = replica.clock.pendingTimers
    void replica.candidacy.stepDown({ cooldownMs: 1 })
    await replica.clock.advance(100)
    expect(replica.candidacy.state.kind).toBe('leading')
    expect(replica.clock.pendingTimers).toBe(before)
  })

  test('are all run, in reverse order, whatever the others do; every failure is reported and none is dropped', async () => {
    const log: string[] = []
    const replica = new Replica()
    replica.runs(async (term) => {
      term.defer(() => log.push('first'))
      term.defer(() => {
        log.push('second')
        throw new Error('second')
      })
      term.defer(() => {
        log.push('third')
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- that is what is tested
        return Promise.reject()
      })
      await untilEnd(term)
    })
    await replica.start()
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(log).toEqual(['third', 'second', 'first'])
    expect(await result).toMatchObject({ outcome: 'released', errors: [undefined, new Error('second')] })
    expect(replica.all('term-over')[0]?.errors).toEqual([undefined, new Error('second')])
  })

  test('have no more time than the lease after an involuntary end', async () => {
    const replica = await withCleanup(never, { timing: {}, cleanupTimeoutMs: 60_000 })
    replica.lock.failure = 'unreachable'
    await replica.clock.advance(14_249)
    expect(replica.fatals).toEqual([])
    await replica.clock.advance(1)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'cleanup' }] }])
  })

  test('that are still in time are wedged at once when the lease is lost after the drain should have been over', async () => {
    const replica = await withCleanup(never, { cleanupTimeoutMs: 60_000 })
    void replica.candidacy.stepDown()
    await replica.clock.advance(8000)
    expect(replica.fatals).toEqual([])
    replica.store.delete('lease')
    await replica.clock.runAllMicrotasks()
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED' }])
  })

  test('that are stuck while a failed run is restarted make the replica give its term up, and are wedged then', async () => {
    const replica = new Replica({ timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 }, cleanupTimeoutMs: 3000 })
    replica.runs(async (term) => {
      term.defer(never)
      throw new Error('boom')
    })
    await replica.start()
    await replica.clock.advance(5000 + 2000 + 3000)
    expect(replica.all('term-ending')).toMatchObject([{ reason: 'controller-failed' }])
    expect(replica.fatals).toEqual([])
    await replica.clock.advance(7000)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'cleanup' }] }])
  })

  test('with no time at all may do what takes none, and are wedged otherwise', async () => {
    const quick = await withCleanup(() => {}, { cleanupTimeoutMs: 0 })
    const result = quick.candidacy.stepDown()
    await quick.clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'released' })
    const slow = await withCleanup(never, { cleanupTimeoutMs: 0 })
    void slow.candidacy.stepDown()
    await slow.clock.advance(1)
    expect(slow.fatals).toMatchObject([{ code: 'WEDGED' }])
  })

  test('that end after all, under policy hold, free the lease', async () => {
    const cleanup = Promise.withResolvers<void>()
    const replica = await withCleanup(() => cleanup.promise, { onWedged: 'hold' })
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(30_000)
    expect(replica.candidacy.state.kind).toBe('wedged')
    cleanup.resolve()
    await replica.clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'released', drain: 'wedged' })
  })

  test('may defer more cleanups, which run right after them', async () => {
    const log: string[] = []
    let term: Term | undefined
    const replica = new Replica()
    replica.runs(async (own) => {
      term = own
      own.defer(() => log.push('first'))
      own.defer(() => {
        log.push('outer')
        own.defer(() => log.push('inner'))
      })
      await untilEnd(own)
    })
    await replica.start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(log).toEqual(['outer', 'inner', 'first'])
    expect(() => term?.defer(() => {})).toThrow(expect.objectContaining({ code: 'SCOPE_CLOSED' }))
  })
})
