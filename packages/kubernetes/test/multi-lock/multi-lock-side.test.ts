import type { Lock, LockSnapshot } from '@tenure/core'
import { expect, test } from 'vitest'
import { MultiLockSide } from '../../src/locks/legacy/multi-lock-side.ts'
import { record } from '../support/lease-record.ts'

const options = { signal: new AbortController().signal }

const present = (version: bigint): LockSnapshot => ({ kind: 'present', version, record, deleting: false })

/** A side whose lock answers reads like this. */
function sideOf(get: () => LockSnapshot): MultiLockSide {
  return new MultiLockSide({ get: async () => get() } as unknown as Lock)
}

test.each([
  ['older than what was known before it', 2n, 2n],
  ['as old as what was known before it', 3n, 5n],
  ['newer than what was known before it', 4n, 5n],
])('a read that is %s, and overtaken by a watch: %d makes it %d', async (_, read, newest) => {
  const side = sideOf(() => {
    side.note(present(5n), side.rank)
    return present(read)
  })
  side.note(present(3n), side.rank)
  await side.read(options)
  expect(side.newest?.version).toBe(newest)
})

test('the rank of a snapshot is its own, also when a newer one is known', () => {
  const side = sideOf(() => present(1n))
  side.note(present(5n), side.rank)
  expect([side.rankOf(present(3n)), side.rankOf(present(5n))]).toEqual([6n, 10n])
  expect(side.rankOf({ kind: 'absent' })).toBe(10n)
})
