import type { LeaseRecord, LockSnapshot, PresentLease } from '@tenure/core'
import { systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { CoordinatedLock } from '../src/coordinated/coordinated-lock.ts'
import { Standstill } from '../src/coordinated/standstill.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { record } from './support/lease-record.ts'
import { recordingLogger } from './support/recording-logger.ts'

const named = (holderIdentity: string): LeaseRecord => ({ ...record, holderIdentity, acquireTime: undefined })
const FREE: LeaseRecord = { ...record, holderIdentity: '', leaseDurationSeconds: 1 }
const until = <T>(assert: () => T | Promise<T>): Promise<T> => vi.waitFor(assert, { timeout: 20_000, interval: 5 })

describe('A replica that the controller has named for a free lease', () => {
  let clock: VirtualClock
  let standstill: Standstill
  let version: bigint
  let inVain: readonly string[]

  beforeEach(() => {
    clock = new VirtualClock()
    version = 0n
    inVain = []
    standstill = new Standstill({
      clock,
      random: () => 0,
      leaseDurationMs: 15_000,
      onStill: () => {},
      onNamed: ({ record: { holderIdentity } }) => (inVain = [...inVain, holderIdentity]),
    })
  })
  afterEach(() => standstill.close())

  const see = (seen: LeaseRecord) =>
    standstill.seen({ kind: 'present', version: ++version, deleting: false, record: seen })

  test('has not come after half a second', async () => {
    see(FREE)
    await clock.advance(499)
    see(named('web-1'))
    await clock.advance(499)
    expect(inVain).toEqual([])
    await clock.advance(1)
    expect(inVain).toEqual(['web-1'])
  })

  test('has come when it has written', async () => {
    see(FREE)
    see(named('web-1'))
    await clock.advance(499)
    see({ ...named('web-1'), acquireTime: record.acquireTime })
    await clock.advance(10_000)
    expect(inVain).toEqual([])
  })

  test('has not been named if it has acquired the lease by itself', async () => {
    see(FREE)
    see(record)
    await clock.advance(10_000)
    expect(inVain).toEqual([])
  })

  test.each([
    ['it was named after a holder', 0, () => see(record)],
    ['the lease did not exist', 0, () => standstill.seen({ kind: 'absent', version: ++version })],
    ['nothing was seen before', 0, () => {}],
    [
      'the lease was deleted in between',
      0,
      () => {
        see(FREE)
        standstill.seen({ kind: 'absent', version: ++version })
      },
    ],
    [
      'the watch broke in between',
      0,
      () => {
        see(FREE)
        standstill.interrupted()
      },
    ],
    ['the lease was free for longer, and a holder may have gone unseen', 500, () => see(FREE)],
  ])('is not asked for if %s', async (_what, afterMs, before) => {
    before()
    await clock.advance(afterMs)
    see(named('web-1'))
    await clock.advance(10_000)
    expect(inVain).toEqual([])
  })
})

describe('A lease that does not change', () => {
  const held = (leaseDurationSeconds: number | undefined): LockSnapshot => ({
    kind: 'present',
    version: 1n,
    deleting: false,
    record: { ...record, leaseDurationSeconds },
  })
  const ABSENT: LockSnapshot = { kind: 'absent', version: 2n }
  let clock: VirtualClock
  let standstill: Standstill
  let still: unknown[]

  beforeEach(() => {
    clock = new VirtualClock()
    still = []
    standstill = new Standstill({
      clock,
      random: () => 0.5,
      leaseDurationMs: 15_000,
      onStill: (snapshot) => still.push([clock.now(), snapshot]),
      onNamed: () => still.push(clock.now()),
    })
  })

  test.each([
    ['a holder of the duration of the replicas', held(15), 35_000],
    ['a holder that says no duration', held(undefined), 35_000],
    ['a holder of a shorter duration', held(5), 35_000],
    ['a holder of a longer duration', held(60), 80_000],
    ['no lease', ABSENT, 35_000],
  ])('is reported 20 s after anybody may hold it: %s', async (_, snapshot, afterMs) => {
    standstill.seen(snapshot)
    await clock.advance(afterMs - 1)
    expect(still).toEqual([])
    await clock.advance(1)
    expect(still).toEqual([[afterMs, snapshot]])
    await clock.advance(afterMs)
    expect(still).toEqual([
      [afterMs, snapshot],
      [2 * afterMs, snapshot],
    ])
  })

  test('is reported for the longest duration that was seen', async () => {
    standstill.seen(held(60))
    standstill.seen(held(5))
    await clock.advance(79_999)
    expect(still).toEqual([])
    await clock.advance(1)
    expect(still).toEqual([[80_000, held(5)]])
  })

  test('is reported from the last change on, and not after the close', async () => {
    standstill.seen(held(15))
    await clock.advance(30_000)
    standstill.seen(ABSENT)
    await clock.advance(34_999)
    expect(still).toEqual([])
    standstill.close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('names nobody again after the close', async () => {
    const free: LeaseRecord = { ...record, holderIdentity: '' }
    standstill.seen({ kind: 'present', version: 1n, deleting: false, record: free })
    standstill.seen({ kind: 'present', version: 2n, deleting: false, record: named('web-1') })
    standstill.close()
    await clock.advance(100_000)
    expect(still).toEqual([])
  })

  test('names a replica later by up to a fifth, as chance has it', async () => {
    standstill.seen({ kind: 'present', version: 1n, deleting: false, record: FREE })
    standstill.seen({ kind: 'present', version: 2n, deleting: false, record: named('web-1') })
    await clock.advance(549)
    expect(still).toEqual([])
    await clock.advance(1)
    expect(still).toEqual([550])
  })
})

describe('A lease under the controller', () => {
  const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
  const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates'
  let cluster: EmbeddedCluster
  let lock: CoordinatedLock

  beforeEach(async () => {
    // No controller runs: the test names the holders.
    cluster = await EmbeddedCluster.start('ops', { runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
    lock = new CoordinatedLock({
      kubeConfig: cluster.kubeConfig(),
      name: 'job',
      namespace: 'ops',
      identity: 'web-2',
      facts: { binaryVersion: '1.36.0', emulationVersion: '1.36.0' },
      leaseDurationMs: 15_000,
      coordination: 'server',
      clock: { ...systemClock, setTimer: (delayMs, run) => systemClock.setTimer(delayMs === 500 ? 0 : delayMs, run) },
      random: () => 0,
      logger: recordingLogger([]),
    })
  })
  afterEach(async () => {
    await lock.close()
    await cluster.stop()
  })

  /** Releases the lease and names a holder. Returns the versions of the lease from then on, as a replica sees them. */
  async function name(holderIdentity: string): Promise<readonly PresentLease[]> {
    const seen: LockSnapshot[] = []
    lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => {}, down: () => {} })
    await lock.create(FREE, { signal: new AbortController().signal })
    await until(() => expect(seen.at(-1)).toMatchObject({ record: { holderIdentity: '' } }))
    const spec = { holderIdentity, acquireTime: null, leaseDurationSeconds: 5 }
    await cluster.asAdmin('PATCH', `${LEASES}/job`, { spec })
    return seen as readonly PresentLease[]
  }

  test('is freed, with its times, when the replica that it names has left', async () => {
    const seen = await name('web-1')
    await until(() => expect(seen.map((lease) => lease.record.holderIdentity)).toEqual(['', 'web-1', '']))
    const [, before, after] = seen
    expect(after?.record).toEqual({ ...before?.record, holderIdentity: '', leaseDurationSeconds: 1 })
  })

  test('is left alone when the replica that it names still stands', async () => {
    const metadata = { name: 'web-1' }
    const versions = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' }
    const spec = { ...versions, leaseName: 'job', strategy: 'OldestEmulationVersion', renewTime: record.renewTime }
    await cluster.asAdmin('POST', CANDIDATES, {
      apiVersion: 'coordination.k8s.io/v1beta1',
      kind: 'LeaseCandidate',
      metadata,
      spec,
    })
    const seen = await name('web-1')
    const reads = () => cluster.server.requests.find({ verb: 'get', resource: 'leasecandidates' })
    await until(() => expect(reads()).toHaveLength(1))
    await lock.close()
    expect(seen.map((lease) => lease.record.holderIdentity)).toEqual(['', 'web-1'])
  })
})
