import { describe, expect, test } from 'vitest'
import type { Term } from '../../src/term/term.ts'
import { Replica, untilEnd } from '../support/replica.ts'

/** Three replicas on one lease, of which `a` leads; each term logs its begin and end. */
async function fleet(drainMs = 0) {
  const log: string[] = []
  const a = new Replica({ identity: 'a' })
  const { store, clock } = a
  const replicas = [a, new Replica({ identity: 'b', store, clock }), new Replica({ identity: 'c', store, clock })]
  for (const replica of replicas) {
    const { identity } = replica
    await replica
      .runs(async (term) => {
        log.push(`${identity} begins at ${clock.now()}`)
        await untilEnd(term).catch(() => {})
        await finish(term)
        log.push(`${identity} ends at ${clock.now()}`)
      })
      .start()
  }
  const [, b, c] = replicas as [Replica, Replica, Replica]
  return { a, b, c, clock, store, log }

  function finish(term: Term): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    clock.setTimer(term.epoch === 1n ? drainMs : 0, resolve)
    return promise
  }
}

describe('A step-down', () => {
  test('whose drain lasts is a transfer: the successor begins at the moment at which the last task ends', async () => {
    const { a, b, clock, log } = await fleet(3000)
    const result = a.candidacy.stepDown()
    await clock.advance(3001)
    const { successor } = (await result) as { readonly successor: string }
    expect(await result).toMatchObject({ kind: 'stepped-down', outcome: 'transferred', drain: 'clean', drainMs: 3000 })
    expect(log).toEqual(['a begins at 0', 'a ends at 3000', `${successor} begins at 3000`])
    expect(a.all('term-over')).toMatchObject([{ reason: 'step-down', outcome: 'transferred', successor }])
    expect(b.holder).toBe(successor)
  })

  test('in favour of another hands the lease to that one', async () => {
    const { a, c, clock, log } = await fleet()
    const result = a.candidacy.stepDown({ to: 'c' })
    await clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'transferred', successor: 'c' })
    expect(log).toEqual(['a begins at 0', 'a ends at 0', 'c begins at 0'])
    expect(a.all('term-ending')).toMatchObject([{ reason: 'transferred' }])
    await clock.advance(60_000)
    expect(c.candidacy.state.kind).toBe('leading')
  })

  test('in favour of a replica that does not answer releases the lease after a while', async () => {
    const { a, clock } = await fleet()
    const result = a.candidacy.stepDown({ to: 'nobody', answerTimeoutMs: 700 })
    await clock.advance(699)
    expect(a.holder).toBe('a')
    await clock.advance(1)
    expect(await result).toMatchObject({ outcome: 'released', successor: undefined })
  })

  test.each(['', 'a', 7])('in favour of %j is refused', async (to) => {
    const { a } = await fleet()
    expect(() => a.candidacy.stepDown({ to: to as string })).toThrow(
      'Expected `to` to be the identity of another replica',
    )
    expect(a.candidacy.state.kind).toBe('leading')
  })

  test('from inside the work may name the successor, too', async () => {
    const a = new Replica({ identity: 'a' })
    const { store, clock } = a
    await a
      .runs(async (term) => {
        term.stepDown({ to: 'b' })
        await untilEnd(term)
      })
      .start()
    const b = await new Replica({ identity: 'b', store, clock }).runs(untilEnd).start()
    await clock.advance(100)
    expect(b.candidacy.state).toMatchObject({ kind: 'leading' })
    expect(a.all('term-over')).toMatchObject([{ outcome: 'transferred', successor: 'b' }])
  })
})

test('A stop whose drain lasts is a transfer, too', async () => {
  const { a, clock, log } = await fleet(1000)
  const stopped = a.candidacy.stop()
  await clock.advance(1001)
  await stopped
  expect(a.all('term-over')).toMatchObject([{ reason: 'shutdown', outcome: 'transferred' }])
  expect(log.at(-1)).toMatch(/^[bc] begins at 1000$/)
})
