import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { LockRequestError, type LockFailure, textOf } from '@tenure/core'
import type { LockRequirement } from './lock-fixture.ts'
import { assertFails, assertStored } from './request-cases.ts'
import { sampleRecord, unaborted } from './sample-records.ts'

const ANY_FAILURE: readonly LockFailure[] = ['unreachable', 'unknown-outcome']

/** How requests of a lock end before they are answered. */
export const cancellationCases: readonly LockRequirement[] = [
  {
    name: 'refuses a request whose signal is aborted, and writes nothing',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const aborted = { signal: AbortSignal.abort() }
      await assertFails(lock.create(sampleRecord(), aborted), ANY_FAILURE)
      assert.equal((await lock.get(unaborted())).kind, 'absent')
      const lease = await lock.create(sampleRecord(), unaborted())
      await assertFails(lock.update(lease, sampleRecord({ leaseTransitions: 9 }), aborted), ANY_FAILURE)
      await assertFails(lock.get(aborted), ANY_FAILURE)
      await assertStored(lock, lease)
    },
  },
  {
    name: 'settles a write that is aborted under way, and says truly whether it can have happened',
    check: async (fixture) => {
      const lock = fixture.openLock()
      let lease = await lock.create(sampleRecord(), unaborted())
      for (let leaseTransitions = 5; leaseTransitions < 15; leaseTransitions++) {
        const controller = new AbortController()
        const write = lock.update(lease, sampleRecord({ leaseTransitions }), { signal: controller.signal })
        setTimeout(() => controller.abort(), leaseTransitions - 5)
        const [outcome] = await Promise.allSettled([write])
        const stored = await lock.get(unaborted())
        assert.equal(stored.kind, 'present')
        if (outcome.status === 'fulfilled') assert.equal(stored.version, outcome.value.version)
        else if (failureOf(outcome.reason) !== 'unknown-outcome') assert.equal(stored.version, lease.version)
        lease = stored
      }
    },
  },
  {
    name: 'takes requests after one was aborted under way',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const controller = new AbortController()
      const read = lock.get({ signal: controller.signal })
      controller.abort()
      await Promise.allSettled([read])
      const lease = await lock.create(sampleRecord(), unaborted())
      await assertStored(lock, lease)
    },
  },
  {
    name: 'leaves no listener on the signal of a request that has ended',
    check: async (fixture) => {
      const lock = fixture.openLock()
      const signal = new AbortController().signal
      const lease = await lock.create(sampleRecord(), { signal })
      await lock.update(lease, sampleRecord({ leaseTransitions: 5 }), { signal })
      await lock.get({ signal })
      await assertFails(lock.create(sampleRecord(), { signal }), ['conflict'])
      assert.equal(getEventListeners(signal, 'abort').length, 0)
    },
  },
  {
    name: 'refuses requests after it was closed',
    check: async (fixture) => {
      const lock = fixture.openLock()
      await lock.get(unaborted())
      await lock.close()
      await assertFails(lock.get(unaborted()), ANY_FAILURE)
      await assertFails(lock.create(sampleRecord(), unaborted()), ANY_FAILURE)
      assert.equal((await fixture.openLock().get(unaborted())).kind, 'absent')
    },
  },
]

function failureOf(error: unknown): LockFailure {
  assert.ok(error instanceof LockRequestError, `expected a LockRequestError, got ${textOf(error)}`)
  return error.failure
}
