import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { readCandidate, type StoredCandidate } from '../src/coordinated/candidate-object.ts'
import { PreferredCandidate } from '../src/coordinated/preferred-candidate.ts'
import type { JsonObject } from '../src/json-object.ts'
import { refusalOf } from './support/object-server.ts'

const FACTS = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' }
const EARLY = '2026-01-01T00:00:00.000000Z'
const PING = '2026-01-01T00:00:05.000000Z'

let clock: VirtualClock
let own: StoredCandidate | undefined
let reads: string[]
let changes: unknown[]
let failures: (readonly [string, unknown])[]
let answer: (identity: string) => unknown
let preferred: PreferredCandidate

beforeEach(() => {
  clock = new VirtualClock({ now: 1000 })
  own = undefined
  reads = []
  changes = []
  failures = []
  answer = () => candidate()
  preferred = new PreferredCandidate({
    clock,
    facts: FACTS,
    own: () => own,
    read: async (identity) => {
      reads.push(identity)
      return answer(identity)
    },
    onChanged: () => changes.push(preferred.current),
    onFailed: (identity, error) => failures.push([identity, error]),
  })
})

/** A LeaseCandidate as it is stored. */
const candidate = (spec: JsonObject = {}, uid = 'one'): JsonObject => ({
  metadata: { name: 'other', uid, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { leaseName: 'job', ...FACTS, renewTime: EARLY, ...spec },
})

async function see(identity: string | undefined): Promise<void> {
  preferred.seen(identity)
  await clock.advance(0)
}

describe('a candidate that the controller prefers', () => {
  test('is known when it was read, and reported once', async () => {
    preferred.seen('other')
    expect(preferred.current).toBeUndefined()
    await clock.advance(0)
    expect(preferred.current).toEqual({ identity: 'other', isAlive: true })
    await see('other')
    expect(reads).toEqual(['other', 'other'])
    expect(changes).toEqual([{ identity: 'other', isAlive: true }])
  })

  test('is forgotten when nobody is preferred any more', async () => {
    await see(undefined)
    expect(changes).toEqual([])
    await see('other')
    await see(undefined)
    expect(changes).toEqual([{ identity: 'other', isAlive: true }, undefined])
    expect(reads).toEqual(['other'])
  })

  test('is reported again when another one takes its place, and when it goes', async () => {
    await see('other')
    await see('third')
    answer = () => {
      throw refusalOf({ verb: 'get', group: '', resource: 'x', namespace: '', name: '' }, 'NotFound')
    }
    await see('third')
    await see('third')
    expect(changes).toEqual([
      { identity: 'other', isAlive: true },
      { identity: 'third', isAlive: true },
      { identity: 'third', isAlive: false },
    ])
    expect(failures).toEqual([])
  })

  test.each([
    ['says nothing', () => undefined],
    ['has an older binary than this replica', () => candidate({ binaryVersion: '1.36.1' })],
    ['emulates a later version than this replica', () => candidate({ emulationVersion: '1.36.0' })],
  ])('counts as gone where it %s', async (_, stored) => {
    answer = stored
    await see('other')
    expect(changes).toEqual([{ identity: 'other', isAlive: false }])
  })

  test('counts as gone where it equals the candidate of this replica and was created in the same second', async () => {
    own = { ...readCandidate(candidate()), name: 'own' }
    await see('other')
    expect(changes).toEqual([{ identity: 'other', isAlive: false }])
    own = { ...own, createdAt: '2026-01-01T00:00:01Z' }
    await see('other')
    expect(preferred.current).toEqual({ identity: 'other', isAlive: true })
  })

  test('stays as it was seen while it cannot be read, and the failure is reported', async () => {
    await see('other')
    const failure = refusalOf({ verb: 'get', group: '', resource: 'x', namespace: '', name: '' }, 'Forbidden')
    answer = () => {
      throw failure
    }
    await see('other')
    expect(failures).toEqual([['other', failure]])
    expect(changes).toEqual([{ identity: 'other', isAlive: true }])
  })

  test('is not gone where a failure that is no answer of the server says so', async () => {
    const failure = Object.assign(new Error('x'), { failure: 'not-found' })
    answer = () => {
      throw failure
    }
    await see('other')
    expect(failures).toEqual([['other', failure]])
    expect(changes).toEqual([])
  })

  test.each([
    ['an answer', async () => candidate()],
    ['a failure', async () => Promise.reject(new Error('late'))],
  ])('is not decided by %s for an earlier one', async (_, late) => {
    const gate = Promise.withResolvers<void>()
    answer = async (identity) => {
      if (identity === 'third') return candidate()
      await gate.promise
      return late()
    }
    await see('other')
    await see('third')
    gate.resolve()
    await clock.advance(0)
    expect(changes).toEqual([{ identity: 'third', isAlive: true }])
    expect(failures).toEqual([])
  })
})

describe('a preferred candidate with an open ping', () => {
  beforeEach(() => {
    answer = () => candidate({ pingTime: PING })
  })

  test('is looked at again every 250 ms, and counts as gone 5 s after the ping was seen', async () => {
    await see('other')
    expect(changes).toEqual([])
    await clock.advance(249)
    expect(reads).toHaveLength(1)
    await clock.advance(1)
    expect(reads).toEqual(['other', 'other'])
    await clock.advance(4749)
    expect(changes).toEqual([])
    await clock.advance(1)
    expect(changes).toEqual([{ identity: 'other', isAlive: false }])
    expect(reads).toHaveLength(21)
    await clock.advance(10_000)
    expect(reads).toHaveLength(21)
  })

  test('is to lead when it answers', async () => {
    await see('other')
    answer = () => candidate({ pingTime: PING, renewTime: PING })
    await clock.advance(250)
    expect(changes).toEqual([{ identity: 'other', isAlive: true }])
  })

  test('has 5 s again for the next ping, and so has a new candidate of its name', async () => {
    await see('other')
    await clock.advance(4750)
    answer = () => candidate({ pingTime: '2026-01-01T00:00:06.000000Z' })
    await clock.advance(4750)
    answer = () => candidate({ pingTime: '2026-01-01T00:00:06.000000Z' }, 'two')
    await clock.advance(4750)
    expect(changes).toEqual([])
    await clock.advance(500)
    expect(changes).toEqual([{ identity: 'other', isAlive: false }])
  })

  test('stays as it was seen until the time is over, where it was seen before', async () => {
    answer = () => candidate()
    await see('other')
    answer = () => candidate({ pingTime: PING })
    await see('other')
    await clock.advance(4750)
    expect(changes).toEqual([{ identity: 'other', isAlive: true }])
    await clock.advance(250)
    expect(preferred.current).toEqual({ identity: 'other', isAlive: false })
  })

  test('takes the place of a candidate that is preferred no longer, as not known yet', async () => {
    answer = () => candidate()
    await see('third')
    answer = () => candidate({ pingTime: PING })
    await see('other')
    expect(changes).toEqual([{ identity: 'third', isAlive: true }, undefined])
  })

  test('is looked at by one series of reads, however often the lease is seen', async () => {
    await see('other')
    await clock.advance(100)
    await see('other')
    expect(reads).toHaveLength(2)
    await clock.advance(249)
    expect(reads).toHaveLength(2)
    await clock.advance(1)
    expect(reads).toHaveLength(3)
  })

  test('is not looked at again when nobody is preferred any more', async () => {
    await see('other')
    await see(undefined)
    await clock.advance(10_000)
    expect(reads).toEqual(['other'])
    expect(clock.pendingTimers).toBe(0)
  })

  test('is not looked at again after the close, and a late answer counts no longer', async () => {
    await see('other')
    preferred.close()
    expect(clock.pendingTimers).toBe(0)
    const gate = Promise.withResolvers<void>()
    answer = async () => {
      await gate.promise
      return candidate()
    }
    await see('other')
    preferred.close()
    gate.resolve()
    await clock.advance(10_000)
    expect(changes).toEqual([])
    expect(reads).toHaveLength(2)
  })
})
