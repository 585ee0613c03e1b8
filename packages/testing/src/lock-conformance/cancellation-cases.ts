import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type Lock, type LockFailure, LockRequestError, type LockSnapshot } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { LockRequirement } from './lock-fixture.ts'
import { within } from './within.ts'
import { assertFails, assertStored } from './request-cases.ts'
import { sampleRecord, unaborted } from './sample-records.ts'

const ANY_FAILURE: readonly LockFailure[] = ['unreachable', 'unknown-outcome']

/** Requirements for requests that are aborted before their answer. */
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
    name: 'ends a request whose signal aborts right after the call, unless it has ended by then',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      await lock.create(sampleRecord(), unaborted())
      for (const kind of ['get', 'update', 'get', 'update', 'get', 'update'] as const) {
        const base = await lock.get(unaborted())
        assert.equal(base.kind, 'present')
        const controller = new AbortController()
        const options = { signal: controller.signal }
        const request: Promise<unknown> =
          kind === 'get' ? lock.get(options) : lock.update(base, sampleRecord(), options)
        controller.abort()
        if (await isSettledSoon(request)) continue
        const ended = await within(
          patienceMs,
          Promise.allSettled([request]).then(([{ status }]) => status),
        )
        assert.equal(ended, 'rejected', `a \`${kind}\` went on after its signal had aborted`)
      }
    },
  },
  {
    name: 'lands no write after its request has ended, nor after the lock was closed',
    check: async (fixture, { lateMs }) => {
      const [lock, reader] = [fixture.openLock(), fixture.openLock()]
      let lease: LockSnapshot = await lock.create(sampleRecord(), unaborted())
      for (const abortAfterMs of [0, 2]) {
        const controller = new AbortController()
        const options = { signal: controller.signal }
        const settled = Promise.allSettled([lock.update(lease, sampleRecord({ leaseTransitions: 5 }), options)])
        if (abortAfterMs > 0) await delay(abortAfterMs)
        controller.abort()
        await settled
        await assertNothingLands(reader, lateMs)
        lease = await lock.get(unaborted())
        assert.equal(lease.kind, 'present')
      }
      const last = Promise.allSettled([lock.update(lease, sampleRecord({ leaseTransitions: 6 }), unaborted())])
      await lock.close()
      await last
      await assertNothingLands(reader, lateMs)
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

/** A lock in memory settles before an abort can take effect. */
async function isSettledSoon(request: Promise<unknown>): Promise<boolean> {
  const settled = request.then(
    () => true,
    () => true,
  )
  const turn = new Promise<boolean>((resolve) => setImmediate(resolve, false))
  return Promise.race([settled, turn])
}

async function assertNothingLands(reader: Lock, lateMs: number): Promise<void> {
  const before = await reader.get(unaborted())
  await delay(lateMs)
  const after = await reader.get(unaborted())
  assert.equal(after.version, before.version, 'a write landed after its request had ended')
}
