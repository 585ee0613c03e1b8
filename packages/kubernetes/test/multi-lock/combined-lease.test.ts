import { describe, expect, test } from 'vitest'
import type { LeaseRecord, LockSnapshot } from '@tenure/core'
import {
  combine,
  differInAnnotationsOnly,
  type LeasePair,
  UNKNOWN_LEADER,
} from '../../src/locks/legacy/combined-lease.ts'

function record(holderIdentity: string, second = 5, changes: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: `2026-01-01T00:00:0${second}.000000Z`,
    leaseTransitions: 3,
    annotations: {},
    ...changes,
  }
}

function snapshot(stored: LeaseRecord | undefined): LockSnapshot {
  return stored === undefined ? { kind: 'absent' } : { kind: 'present', version: 1n, record: stored, deleting: false }
}

function combined(primary: LeaseRecord | undefined, secondary: LeaseRecord | undefined, ...own: LeaseRecord[]) {
  return combine({ primary: snapshot(primary), secondary: snapshot(secondary) }, own)
}

describe('Two leases taken for one', () => {
  test('are absent when both are', () => {
    expect(combined(undefined, undefined)).toBeUndefined()
  })

  test('are free when none of them has a holder', () => {
    expect(combined(record(''), record(''))?.record.holderIdentity).toBe('')
    expect(combined(record(''), undefined)?.record.holderIdentity).toBe('')
  })

  test('are those of the lease with a holder when the other is free', () => {
    expect(combined(record('a'), record(''))).toEqual({ deciding: 'primary', record: record('a') })
    expect(combined(record('a'), undefined)).toEqual({ deciding: 'primary', record: record('a') })
    expect(combined(record(''), record('a'))).toEqual({ deciding: 'secondary', record: record('a') })
  })

  test('have the record that was written last when both name the same holder', () => {
    expect(combined(record('a', 6), record('a', 6))).toEqual({ deciding: 'both', record: record('a', 6) })
  })

  test('may differ by a fraction of a second, which not every lock has room for', () => {
    const primary = record('a', 6, { renewTime: '2026-01-01T00:00:06Z' })
    expect(combined(primary, record('a', 6))).toEqual({ deciding: 'both', record: record('a', 6) })
  })

  test('have an unknown holder when they name two', () => {
    expect(combined(record('a'), record('b'))).toMatchObject({
      deciding: 'neither',
      record: { holderIdentity: 'leaderelection.k8s.io/unknown', annotations: {} },
    })
  })

  describe('of which one is absent', () => {
    const without = (side: 'primary' | 'secondary', left: LeaseRecord, gone?: LeaseRecord, ...own: LeaseRecord[]) => {
      const other = side === 'primary' ? 'secondary' : 'primary'
      const pair = { [side]: { kind: 'absent' }, [other]: snapshot(left) } as Pick<LeasePair, 'primary' | 'secondary'>
      const deleted = { primary: undefined, secondary: undefined, [side]: gone }
      return combine({ ...pair, deleted }, own)
    }

    test.each(['primary', 'secondary'] as const)('are the other one when the %s was never seen', (side) => {
      expect(without(side, record('a'))?.record).toEqual(record('a'))
      expect(without(side, record(''))?.record.holderIdentity).toBe('')
    })

    test.each(['primary', 'secondary'] as const)(
      'are the other one when the %s was free before it was deleted',
      (side) => {
        expect(without(side, record(''), record(''))?.record.holderIdentity).toBe('')
        expect(without(side, record('a'), record(''))?.record).toEqual(record('a'))
      },
    )

    test.each(['primary', 'secondary'] as const)(
      'are the other one when both had one holder before the %s was deleted',
      (side) => {
        expect(without(side, record('a'), record('a'))?.record).toEqual(record('a'))
      },
    )

    test.each(['primary', 'secondary'] as const)(
      'have an unknown holder for as long as the deleted %s says',
      (side) => {
        for (const left of [record(''), record('b')]) {
          const gone = record('a', 5, { leaseDurationSeconds: 30 })
          expect(without(side, left, gone)?.record).toMatchObject({
            holderIdentity: UNKNOWN_LEADER,
            leaseDurationSeconds: 30,
          })
        }
      },
    )

    test.each(['primary', 'secondary'] as const)(
      'are absent for this process when the %s was deleted under it',
      (side) => {
        expect(without(side, record('me', 6), record('me', 5), record('me', 6))).toBeUndefined()
      },
    )
  })

  test('that have an unknown holder change whenever one of them does, and count for the longer duration', () => {
    const short = record('b', 1, { leaseDurationSeconds: 1 })
    const first = combined(record('a', 1), short)?.record
    expect(first?.leaseDurationSeconds).toBe(15)
    expect(combined(record('a', 2), short)?.record).not.toEqual(first)
    expect(combined(record('a', 1), record('b', 2, { leaseDurationSeconds: 1 }))?.record).not.toEqual(first)
  })

  test('show a holder of both that renews only one of them', () => {
    const first = combined(record('a', 2), record('a', 1))?.record
    expect(first?.holderIdentity).toBe('a')
    expect(combined(record('a', 3), record('a', 1))?.record).not.toEqual(first)
  })

  test('are not written by this process as long as only the first has the record', () => {
    for (const secondary of [record(''), record('b'), undefined]) {
      expect(combined(record('me'), secondary, record('me'))?.record.holderIdentity).toBe(UNKNOWN_LEADER)
    }
  })

  test('are still held by this process when a renewal came halfway', () => {
    expect(combined(record('me', 6), record('me', 5), record('me', 6))?.record).toEqual(record('me', 5))
  })

  test('are still held by this process when a renewal arrives halfway and late, after others were sent', () => {
    const own = [record('me', 5), record('me', 6), record('me', 7)]
    expect(combined(record('me', 6), record('me', 5), ...own)?.record).toEqual(record('me', 5))
  })

  test('are still held by this process when a release came halfway, and lost when somebody else freed the first', () => {
    expect(combined(record('', 6), record('me', 5), record('', 6))?.record).toEqual(record('me', 5))
    expect(combined(record('', 6), record('me', 5), record('me', 5))?.record.holderIdentity).toBe(UNKNOWN_LEADER)
  })

  describe('with different holders', () => {
    const first = record('a', 1, { acquireTime: 'a acquired', renewTime: 'a renewed', leaseTransitions: 3 })
    const second = record('b', 1, { acquireTime: 'b acquired', renewTime: 'b renewed', leaseTransitions: 4 })
    const joined = {
      holderIdentity: UNKNOWN_LEADER,
      leaseDurationSeconds: 15,
      acquireTime: 'a acquired,b acquired',
      renewTime: 'a renewed,b renewed',
      leaseTransitions: 4,
      annotations: {},
    }

    test('have the times of both, and the greater number of transitions', () => {
      expect(combined(first, second)).toEqual({ deciding: 'neither', record: joined })
      expect(combined({ ...first, leaseTransitions: 9 }, second)?.record.leaseTransitions).toBe(9)
    })

    test('have what one of them lacks from the other', () => {
      const bare: LeaseRecord = {
        holderIdentity: 'b',
        leaseDurationSeconds: undefined,
        acquireTime: undefined,
        renewTime: undefined,
        leaseTransitions: undefined,
        annotations: {},
      }
      const without = { acquireTime: 'a acquired,', renewTime: 'a renewed,', leaseTransitions: 3 }
      expect(combined({ ...first, leaseDurationSeconds: 5 }, bare)?.record).toEqual({ ...joined, ...without })
      const reverse = { acquireTime: ',a acquired', renewTime: ',a renewed', leaseTransitions: 3 }
      expect(combined(bare, { ...first, leaseDurationSeconds: 60 })?.record).toEqual({
        ...joined,
        ...reverse,
        leaseDurationSeconds: 60,
      })
      expect(combined(bare, { ...bare, holderIdentity: 'a' })?.record).toEqual({
        ...joined,
        acquireTime: ',',
        renewTime: ',',
        leaseTransitions: undefined,
      })
    })

    test('have the times in their order also where one of them is deleted', () => {
      const pair = { primary: snapshot(first), secondary: snapshot(undefined) }
      expect(combine({ ...pair, deleted: { primary: undefined, secondary: second } }, [])?.record).toEqual(joined)
      const reverse = { primary: snapshot(undefined), secondary: snapshot(second) }
      expect(combine({ ...reverse, deleted: { primary: first, secondary: undefined } }, [])?.record).toEqual(joined)
    })
  })

  describe('with one holder', () => {
    test('have the record of the second, and the greater number of transitions', () => {
      const second = record('a', 5, { leaseTransitions: 2, annotations: { 'tenure.dev/answer': 'x' } })
      expect(combined(record('a'), second)).toEqual({ deciding: 'both', record: { ...second, leaseTransitions: 3 } })
      const other = { ...second, leaseTransitions: 7 }
      expect(combined(record('a'), other)).toEqual({ deciding: 'both', record: other })
    })

    test('have all times of both while these differ by a second', () => {
      expect(combined(record('a', 6), record('a', 5))).toEqual({
        deciding: 'neither',
        record: {
          holderIdentity: 'a',
          leaseDurationSeconds: 15,
          acquireTime: '2026-01-01T00:00:00.000000Z,2026-01-01T00:00:00.000000Z',
          renewTime: '2026-01-01T00:00:06.000000Z,2026-01-01T00:00:05.000000Z',
          leaseTransitions: 3,
          annotations: {},
        },
      })
    })

    test('are in step where neither says when it was renewed, and out of step where one does', () => {
      const silent = record('a', 5, { renewTime: undefined })
      expect(combined(silent, silent)?.deciding).toBe('both')
      expect(combined(record('a'), silent)?.deciding).toBe('neither')
    })

    test('are in step where both are free, whenever they were released', () => {
      expect(combined(record('', 6), record('', 5))).toEqual({ deciding: 'both', record: record('', 5) })
    })

    test.each([{ holderIdentity: 'b' }, { acquireTime: 'other' }, { renewTime: 'other' }])(
      'are out of step where this process has sent a record that differs in %j',
      (change) => {
        expect(combined(record('a', 6), record('a', 5), { ...record('a', 6), ...change })?.deciding).toBe('neither')
        expect(combined(record('a', 6), record('a', 5), record('a', 6))?.deciding).toBe('both')
      },
    )
  })

  test('are those of the lease that is left where it is free, also for a process that has released it', () => {
    expect(combined(record(''), undefined, record(''))).toEqual({ deciding: 'primary', record: record('') })
    expect(combined(undefined, record(''), record(''))).toEqual({ deciding: 'secondary', record: record('') })
  })

  test('are not held by this process where only the second names it and the first is gone, but free before', () => {
    const pair = { primary: snapshot(undefined), secondary: snapshot(record('me')) }
    const deleted = { primary: record(''), secondary: record('me') }
    expect(combine({ ...pair, deleted }, [record('me')])).toMatchObject({ deciding: 'neither' })
  })
})

describe('Two records', () => {
  test('differ in nothing but annotations', () => {
    const annotated = record('a', 5, { annotations: { 'tenure.dev/answer': 'x' } })
    expect(differInAnnotationsOnly(record('a'), annotated)).toBe(true)
  })

  test.each<Partial<LeaseRecord>>([
    { holderIdentity: 'b' },
    { acquireTime: undefined },
    { renewTime: undefined },
    { leaseDurationSeconds: 1 },
    { leaseTransitions: 4 },
  ])('differ in more than annotations: %j', (change) => {
    expect(differInAnnotationsOnly(record('a'), { ...record('a'), ...change })).toBe(false)
  })
})
