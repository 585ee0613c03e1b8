import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { LockFixture, LockOutage, LockRequirement } from './lock-fixture.ts'
import { assertFails } from './request-cases.ts'
import { sampleRecord, unaborted } from './sample-records.ts'
import { within } from './within.ts'
import { WatchRecorder } from './watch-recorder.ts'

/** Requirements during and after an outage of the store. */
export function outageCases<Fixture extends LockFixture>(
  outage: LockOutage<Fixture>,
): readonly LockRequirement<Fixture>[] {
  return [downAndUpAgain(outage), abortDuringOutage(outage)]
}

function downAndUpAgain<Fixture extends LockFixture>(outage: LockOutage<Fixture>): LockRequirement<Fixture> {
  return {
    name: 'says that its watch is down when the store cannot be reached, and shows the lease again when it is up',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      const lease = await lock.create(sampleRecord(), unaborted())
      await using watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      await outage.begin(fixture)
      const from = watch.reports.length
      await watch.until('the watch says that it is down', () => watch.reports.some(({ kind }) => kind === 'down'))
      await outage.end(fixture)
      const since = () => watch.reports.slice(Math.min(from, watch.reports.length))
      await watch.until('the watch is up again', () => {
        const kinds = since().map(({ kind }) => kind)
        return kinds.lastIndexOf('up') > kinds.lastIndexOf('down')
      })
      const next = await fixture.openLock().get(unaborted())
      assert.equal(next.kind, 'present')
      const updated = await fixture.openLock().update(next, sampleRecord({ leaseTransitions: 5 }), unaborted())
      assert.ok(updated.version > lease.version)
      await watch.until('a write after the outage is reported', () => watch.last?.version === updated.version)
    },
  }
}

function abortDuringOutage<Fixture extends LockFixture>(outage: LockOutage<Fixture>): LockRequirement<Fixture> {
  return {
    name: 'ends a request during an outage when its signal aborts, and no write of it lands afterwards',
    check: async (fixture, { patienceMs, lateMs }) => {
      const lock = fixture.openLock()
      const lease = await lock.create(sampleRecord(), unaborted())
      await outage.begin(fixture)
      const abort = new AbortController()
      const requests = [
        lock.update(lease, sampleRecord({ leaseTransitions: 5 }), { signal: abort.signal }),
        lock.get({ signal: abort.signal }),
      ]
      const settled = Promise.allSettled(requests)
      await delay(20)
      abort.abort()
      const outcome = await within(patienceMs, settled)
      await outage.end(fixture)
      assert.ok(outcome !== undefined, `expected aborted requests to settle within ${patienceMs} ms`)
      for (const request of requests) await assertFails(request, ['unreachable', 'unknown-outcome', 'rejected'])
      const after = await fixture.openLock().get(unaborted())
      await delay(lateMs)
      const later = await fixture.openLock().get(unaborted())
      assert.equal(later.version, after.version, 'a write landed after its request had ended')
    },
  }
}
