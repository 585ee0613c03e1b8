import assert from 'node:assert/strict'
import type { LockSnapshot } from '@tenure/core'
import type { LockRequirement } from './lock-fixture.ts'
import { sampleRecord, unaborted } from './sample-records.ts'
import { WatchRecorder } from './watch-recorder.ts'

/** Requirements for watches. */
export const watchCases: readonly LockRequirement[] = [
  {
    name: 'reports an absent lease at the start of a watch',
    check: async (fixture, { patienceMs }) => {
      await using watch = WatchRecorder.start(fixture.openLock(), patienceMs)
      await watch.untilUp()
      assert.equal(watch.snapshots[0]?.kind, 'absent')
    },
  },
  {
    name: 'reports a present lease as it is at the start of a watch',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      const lease = await lock.create(sampleRecord({ annotations: { 'tenure.dev/offer': '1' } }), unaborted())
      await using watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      const [first] = watch.snapshots
      assert.equal(first?.kind, 'present')
      assert.equal(first.version, lease.version)
      assert.deepEqual(first.record, lease.record)
    },
  },
  {
    name: 'reports creation, update and deletion by another client, in this order',
    check: async (fixture, { patienceMs }) => {
      const writer = fixture.openLock()
      await using watch = WatchRecorder.start(fixture.openLock(), patienceMs)
      await watch.untilUp()
      const created = await writer.create(sampleRecord(), unaborted())
      const updated = await writer.update(created, sampleRecord({ leaseTransitions: 5 }), unaborted())
      await watch.until('the update is reported', () => watch.last?.version === updated.version)
      await fixture.deleteLease()
      await watch.until('the deletion is reported', () => watch.last?.kind === 'absent')
      const [start, ...changes] = watch.snapshots
      assert.equal(start?.kind, 'absent')
      // A lock that combines several locks may also report intermediate states.
      const expected = [`present@${created.version}`, `present@${updated.version}`, 'absent']
      const seen = changes.map(describe).filter((change) => expected.includes(change))
      assert.deepEqual([...new Set(seen)], expected)
    },
  },
  {
    name: 'reports a lease that was deleted and created again as present',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      const first = await lock.create(sampleRecord(), unaborted())
      await using watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      await fixture.deleteLease()
      const second = await lock.create(sampleRecord({ holderIdentity: 'replica-b' }), unaborted())
      await watch.until('the new lease is reported', () => watch.last?.version === second.version)
      assert.equal(watch.snapshots[0]?.version, first.version)
    },
  },
  {
    name: 'reports every version, in ascending order, while many writes happen',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      let lease = await lock.create(sampleRecord(), unaborted())
      await using watch = WatchRecorder.start(fixture.openLock(), patienceMs)
      await watch.untilUp()
      const written: bigint[] = []
      for (let leaseTransitions = 5; leaseTransitions < 55; leaseTransitions++) {
        lease = await lock.update(lease, sampleRecord({ leaseTransitions }), unaborted())
        written.push(lease.version)
      }
      await watch.until('the last write is reported', () => watch.last?.version === lease.version)
      const versions = watch.snapshots.map((snapshot) => snapshot.version ?? 0n)
      assert.ok(
        versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0n)),
        `expected versions to ascend, got ${versions.join(', ')}`,
      )
      const missed = written.filter((version) => !versions.includes(version))
      assert.deepEqual(missed, [], `expected every version to be reported, but ${missed.length} were not`)
    },
  },
  {
    name: 'gives a base that can be written on with every present lease it reports',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      await using watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      const created = await fixture.openLock().create(sampleRecord(), unaborted())
      await watch.until('the lease is reported', () => watch.last?.version === created.version)
      const seen = watch.last
      assert.equal(seen?.kind, 'present')
      const updated = await lock.update(seen, sampleRecord({ holderIdentity: 'replica-b' }), unaborted())
      assert.ok(updated.version > seen.version)
    },
  },
  {
    name: 'reports nothing any more from the moment a watch is closed',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      const lease = await lock.create(sampleRecord(), unaborted())
      const closed = WatchRecorder.start(lock, patienceMs)
      await using open = WatchRecorder.start(lock, patienceMs)
      await Promise.all([closed.untilUp(), open.untilUp()])
      const reports = closed.reports.length
      const closing = closed.close()
      const updated = await lock.update(lease, sampleRecord({ leaseTransitions: 5 }), unaborted())
      await closing
      await open.until('the update is reported to the other watch', () => open.last?.version === updated.version)
      await closed.close()
      assert.equal(closed.reports.length, reports)
    },
  },
  {
    name: 'closes its watches when it is closed',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      const watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      const reports = watch.reports.length
      await lock.close()
      await fixture.openLock().create(sampleRecord(), unaborted())
      await watch.close()
      assert.equal(watch.reports.length, reports)
    },
  },
]

function describe(snapshot: LockSnapshot): string {
  return snapshot.kind === 'present' ? `present@${snapshot.version}` : 'absent'
}
