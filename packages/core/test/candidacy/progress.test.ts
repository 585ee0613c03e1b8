import { describe, expect, test } from 'vitest'
import { Replica, untilEnd } from '../support/replica.ts'

describe('A controller that is to make progress', () => {
  test('is left alone while it tells that it does', async () => {
    const replica = new Replica()
    replica.registers(
      () => ({
        name: 'janitor',
        run: (term) =>
          term.every(900, () => {
            term.progress()
          }),
      }),
      { progressTimeoutMs: 1000 },
    )
    await replica.start()
    await replica.clock.advance(60_000)
    expect(replica.candidacy.state.kind).toBe('leading')
    expect(await replica.unhealthy()).toEqual([])
  })

  test('is a zombie when it does not: unhealthy, and its replica gives the lease to others', async () => {
    const replica = new Replica({ restart: { withinMs: 30_000 } })
    replica.registers(
      () => ({
        name: 'janitor',
        run: async (term) => {
          await term.sleep(5000)
          term.progress()
          await new Promise((resolve) => term.hardSignal.addEventListener('abort', resolve, { once: true }))
        },
      }),
      { progressTimeoutMs: 10_000 },
    )
    await replica.start()
    await replica.clock.advance(14_999)
    expect(replica.all('term-ending')).toEqual([])
    await replica.clock.advance(1)
    expect(replica.all('term-ending')).toMatchObject([{ reason: 'controller-failed' }])
    expect(replica.all('controller-failed')).toMatchObject([
      { controller: 'janitor', error: { code: 'NO_PROGRESS' }, restartInMs: undefined },
    ])
    expect(await replica.unhealthy()).toEqual([
      'janitor.progress: Controller `janitor` has not called `term.progress()` for 10000 ms',
    ])
    await replica.clock.advance(20_100)
    expect(replica.all('term-over')).toMatchObject([{ outcome: 'released' }])
    expect(await replica.unhealthy()).toEqual([])
    await replica.clock.advance(29_800)
    expect(replica.all('term-began')).toHaveLength(1)
    await replica.clock.advance(200)
    expect(replica.all('term-began')).toHaveLength(2)
  })

  test('does not count pauses of the whole process', async () => {
    const replica = new Replica({ timing: { leaseDurationMs: 600_000, renewDeadlineMs: 500_000 } })
    replica.registers(() => ({ name: 'janitor', run: (term) => term.every(900, () => term.progress()) }), {
      progressTimeoutMs: 1000,
    })
    await replica.start()
    await replica.clock.advance(950)
    replica.clock.stall(60_000)
    await replica.clock.advance(2000)
    expect(replica.candidacy.state.kind).toBe('leading')
  })

  test('is not asked for any where it was registered without', async () => {
    const replica = new Replica()
    replica.runs(untilEnd)
    await replica.start()
    await replica.clock.advance(3_600_000)
    expect(replica.candidacy.state.kind).toBe('leading')
  })

  test('has a timeout that is a duration', () => {
    const replica = new Replica()
    expect(() => replica.registers(() => ({ name: 'a', run: untilEnd }), { progressTimeoutMs: 0 })).toThrow(
      'Expected `progressTimeoutMs` to be a number of milliseconds of at least 1, got `0`',
    )
  })
})

describe('Controllers that are all dead', () => {
  test('never mean a held lease: the replica gives it up after the failures that are allowed, and cools down', async () => {
    const replica = new Replica({ restart: { maxRestarts: 1, withinMs: 20_000, backoffMs: 10 } })
    replica.runs(() => Promise.reject(new Error('a')), 'a')
    replica.runs(() => Promise.reject(new Error('b')), 'b')
    await replica.start()
    await replica.clock.advance(200)
    expect(replica.holder).toBe('')
    await replica.clock.advance(19_000)
    expect(replica.holder).toBe('')
  })

  test('that only return are dead, too', async () => {
    const replica = new Replica({ restart: { maxRestarts: 1, withinMs: 20_000, backoffMs: 10 } })
    replica.runs(async () => {})
    await replica.start()
    await replica.clock.advance(200)
    expect(replica.holder).toBe('')
    expect(replica.all('controller-failed')).toHaveLength(2)
  })

  test('cool down for as long as their own restarts are counted', async () => {
    const replica = new Replica({ restart: { withinMs: 1000 } })
    replica.registers(() => ({ name: 'a', run: () => Promise.reject(new Error('a')) }), {
      restart: { maxRestarts: 0, withinMs: 100_000 },
    })
    await replica.start()
    await replica.clock.advance(99_000)
    expect(replica.all('term-began')).toHaveLength(1)
  })
})
