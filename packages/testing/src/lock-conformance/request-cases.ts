import assert from 'node:assert/strict'
import { LockRequestError, type Lock, type LockFailure, type PresentLease } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { LockRequirement } from './lock-fixture.ts'
import { sampleRecord, unaborted } from './sample-records.ts'

const CONTENDERS = ['replica-a', 'replica-b', 'replica-c', 'replica-d', 'replica-e']

/** Requirements for single requests. */
export const requestCases: readonly LockRequirement[] = [
  {
    name: 'reads a lease that does not exist as absent',
    check: async (fixture) => {
      const snapshot = await fixture.openLock().get(unaborted())
      assert.equal(snapshot.kind, 'absent')
    },
  },
  {
    name: 'creates a lease that reads back as it was written',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const record = sampleRecord({ annotations: { 'tenure.dev/offer': 'of term 7' } })
      const created = await lock.create(record, unaborted())
      assert.deepEqual(created.record, record)
      assert.equal(created.deleting, false)
      await assertStored(lock, created)
    },
  },
  {
    name: 'keeps fields that were left out left out',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const record = sampleRecord({ holderIdentity: '', acquireTime: undefined, leaseTransitions: undefined })
      const created = await lock.create(record, unaborted())
      assert.deepEqual(created.record, record)
      await assertStored(lock, created)
    },
  },
  {
    name: 'refuses to create a lease that exists, and leaves that as it is',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const first = await lock.create(sampleRecord(), unaborted())
      await assertFails(lock.create(sampleRecord({ holderIdentity: 'replica-b' }), unaborted()), ['conflict'])
      await assertStored(lock, first)
    },
  },
  {
    name: 'updates a lease that is at the version of the base, and gives it a greater one',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const first = await lock.create(sampleRecord(), unaborted())
      const record = sampleRecord({ renewTime: '2026-01-02T03:04:08.200000Z', leaseTransitions: 5 })
      const second = await lock.update(first, record, unaborted())
      assert.deepEqual(second.record, record)
      assert.ok(second.version > first.version, `expected ${second.version} to be above ${first.version}`)
      await assertStored(lock, second)
    },
  },
  {
    name: 'updates again on the base that an update returned, with no read in between',
    check: async (fixture) => {
      const lock = fixture.openLock()
      let lease = await lock.create(sampleRecord(), unaborted())
      for (const leaseTransitions of [5, 6, 7]) {
        lease = await lock.update(lease, sampleRecord({ leaseTransitions }), unaborted())
      }
      assert.equal(lease.record.leaseTransitions, 7)
      await assertStored(lock, lease)
    },
  },
  {
    name: 'refuses an update on a base that is out of date, and leaves the lease as it is',
    check: async (fixture) => {
      const [lock, other] = [fixture.openLock(), fixture.openLock()]
      const first = await lock.create(sampleRecord(), unaborted())
      const second = await other.update(first, sampleRecord({ holderIdentity: 'replica-b' }), unaborted())
      await assertFails(lock.update(first, sampleRecord({ leaseTransitions: 9 }), unaborted()), ['conflict'])
      await assertStored(lock, second)
    },
  },
  {
    name: 'refuses an update of a lease that was deleted, and does not create it',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const created = await lock.create(sampleRecord(), unaborted())
      await fixture.deleteLease()
      await assertFails(lock.update(created, sampleRecord(), unaborted()), ['conflict', 'not-found'])
      assert.equal((await lock.get(unaborted())).kind, 'absent')
    },
  },
  {
    name: 'refuses an update on a base from before the lease was deleted and created again',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const before = await lock.create(sampleRecord(), unaborted())
      await fixture.deleteLease()
      const after = await lock.create(sampleRecord({ holderIdentity: 'replica-b' }), unaborted())
      await assertFails(lock.update(before, sampleRecord(), unaborted()), ['conflict', 'not-found'])
      await assertStored(lock, after)
    },
  },
  {
    name: 'gives a lease that was deleted and created again a greater version than it ever had',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const first = await lock.create(sampleRecord(), unaborted())
      const second = await lock.update(first, sampleRecord({ leaseTransitions: 5 }), unaborted())
      await fixture.deleteLease()
      const third = await lock.create(sampleRecord(), unaborted())
      assert.ok(third.version > second.version, `expected ${third.version} to be above ${second.version}`)
    },
  },
  {
    name: 'replaces all annotations of Tenure with those of the record',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const annotations = { 'tenure.dev/offer': '1', 'tenure.dev/answer': '2' }
      const first = await lock.create(sampleRecord({ annotations }), unaborted())
      const second = await lock.update(first, sampleRecord({ annotations: { 'tenure.dev/answer': '3' } }), unaborted())
      assert.deepEqual(second.record.annotations, { 'tenure.dev/answer': '3' })
      await assertStored(lock, second)
    },
  },
  {
    name: 'shows a write that was acknowledged to every read that starts later, by any client',
    check: async (fixture) => {
      const [writer, reader] = [fixture.openLock(), fixture.openLock()]
      let lease = await writer.create(sampleRecord(), unaborted())
      for (let leaseTransitions = 5; leaseTransitions < 15; leaseTransitions++) {
        lease = await writer.update(lease, sampleRecord({ leaseTransitions }), unaborted())
        await assertStored(reader, lease)
      }
    },
  },
  {
    name: 'lets exactly one of many concurrent creates succeed',
    check: async (fixture) => {
      const creates = CONTENDERS.map((holderIdentity) =>
        fixture.openLock().create(sampleRecord({ holderIdentity }), unaborted()),
      )
      await assertStored(fixture.openLock(), await onlyWinner(creates))
    },
  },
  {
    name: 'lets exactly one of many concurrent updates on one base succeed',
    check: async (fixture) => {
      const base = await fixture.openLock().create(sampleRecord(), unaborted())
      const updates = CONTENDERS.map((holderIdentity) =>
        fixture.openLock().update(base, sampleRecord({ holderIdentity, leaseTransitions: 5 }), unaborted()),
      )
      await assertStored(fixture.openLock(), await onlyWinner(updates))
    },
  },
]

/** Asserts that exactly this lease is stored. */
export async function assertStored(lock: Lock, expected: PresentLease): Promise<void> {
  const stored = await lock.get(unaborted())
  assert.equal(stored.kind, 'present')
  assert.equal(stored.version, expected.version)
  assert.deepEqual(stored.record, expected.record)
}

/** Asserts that a request rejects with a LockRequestError of one of these failures. */
export async function assertFails(request: Promise<unknown>, failures: readonly LockFailure[]): Promise<void> {
  const [outcome] = await Promise.allSettled([request])
  assert.equal(outcome.status, 'rejected', 'expected the request to be refused')
  const error: unknown = outcome.reason
  assert.ok(error instanceof LockRequestError, `expected a LockRequestError, got ${textOf(error)}`)
  assert.ok(failures.includes(error.failure), `expected one of ${failures.join(', ')}, got ${error.failure}`)
}

async function onlyWinner(writes: readonly Promise<PresentLease>[]): Promise<PresentLease> {
  const outcomes = await Promise.allSettled(writes)
  const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  assert.equal(winners.length, 1, `expected one winner, got ${winners.length}`)
  for (const [index, outcome] of outcomes.entries()) {
    const write = writes[index]
    if (outcome.status === 'rejected' && write !== undefined) await assertFails(write, ['conflict'])
  }
  const [winner] = winners
  assert.ok(winner)
  return winner
}
