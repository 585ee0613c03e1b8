import { describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import {
  type LeaseRecord,
  LockRequestError,
  type Lock,
  type LockObserver,
  type LockSnapshot,
  type PresentLease,
  MemoryLeaseStore,
} from '@tenure/core'
import { withLeastEpoch } from '@tenure/core/internal'
import { UNKNOWN_LEADER } from '../../src/locks/legacy/combined-lease.ts'
import { MultiLock } from '../../src/locks/legacy/multi-lock.ts'
import { BreakableLock } from '../../../core/test/support/breakable-lock.ts'

const options = { signal: new AbortController().signal }
const settle = () => new VirtualClock().runAllMicrotasks()

function record(holderIdentity: string, changes: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
    annotations: {},
    ...changes,
  }
}

const renewedAt = (seconds: number) =>
  `2026-01-01T00:${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}.000000Z`

function open() {
  const store = new MemoryLeaseStore()
  const [primary, secondary] = [new BreakableLock(store.lock('old')), new BreakableLock(store.lock('new'))]
  const stored = (name: string) => {
    const lease = store.read(name)
    return lease.kind === 'present' ? withLeastEpoch(lease.record, 0n) : undefined
  }
  return { store, primary, secondary, stored, lock: new MultiLock(primary, secondary) }
}

async function present(lock: MultiLock): Promise<PresentLease> {
  const lease = await lock.get(options)
  if (lease.kind === 'absent') throw new Error('Expected the lease to exist')
  return lease
}

function watching(lock: MultiLock): { readonly seen: LockSnapshot[]; readonly log: string[] } {
  const seen: LockSnapshot[] = []
  const log: string[] = []
  lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => log.push('up'), down: () => log.push('down') })
  return { seen, log }
}

describe('A multi lock', () => {
  test('names both of its locks, and closes both', async () => {
    const { lock, primary, secondary } = open()
    expect(lock.description).toBe('memory lease old and memory lease new')
    await lock.close()
    expect([primary.isClosed, secondary.isClosed]).toEqual([true, true])
  })

  test('is created without a read where both leases are known to be absent', async () => {
    const { lock, primary, secondary } = open()
    await lock.get(options)
    const reads = [primary, secondary].map((side) => vi.spyOn(side, 'get'))
    await lock.create(record('a'), options)
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([0, 0])
  })

  test('writes the same record to both, the primary first, and gives the epoch of the primary', async () => {
    const { lock, stored, store } = open()
    const lease = await lock.create(record('a'), options)
    expect([stored('old'), stored('new')]).toEqual([record('a'), record('a')])
    expect([store.read('old').version, store.read('new').version, lease.epoch]).toEqual([1n, 2n, 1n])
  })

  test('gives the epoch of the secondary to a replica that gets it from one with the new lock alone', async () => {
    const { lock, store } = open()
    store.write('old', record(''), undefined)
    const { version } = store.write('new', record('new-1'), undefined)
    const transferred = store.write('new', record('b', { acquireTime: '2026-01-01T00:00:09.000000Z' }), version)
    const lease = await present(lock)
    expect([lease.record.holderIdentity, lease.epoch]).toEqual(['b', transferred.version])
    const renewed = await lock.update(lease, record('b'), options)
    expect(renewed.epoch).toBeGreaterThan(transferred.version)
  })

  test('takes over a lease that only the old lock has, and creates the new one', async () => {
    const { lock, store, stored } = open()
    store.write('old', record(''), undefined)
    await lock.update(await present(lock), record('a'), options)
    expect([stored('old'), stored('new')]).toEqual([record('a'), record('a')])
  })

  test('leaves the secondary alone when the primary refuses the write', async () => {
    const { lock, primary, stored } = open()
    const lease = await lock.create(record('a'), options)
    primary.failure = 'forbidden'
    await expect(lock.update(lease, record('b'), options)).rejects.toMatchObject({ failure: 'forbidden' })
    expect(stored('new')).toEqual(record('a'))
  })

  test('has not taken the lease when only the primary took the write, and takes it with the next', async () => {
    const { lock, primary, secondary, stored } = open()
    await primary.create(record(''), options)
    await secondary.create(record(''), options)
    const free = await present(lock)
    secondary.failure = 'unknown-outcome'
    await expect(lock.update(free, record('me'), options)).rejects.toMatchObject({ failure: 'unknown-outcome' })
    secondary.failure = undefined
    expect(stored('old')).toEqual(record('me'))
    const half = await present(lock)
    expect(half.record.holderIdentity).toBe(UNKNOWN_LEADER)
    expect((await lock.update(half, record('me', { leaseTransitions: 1 }), options)).record.holderIdentity).toBe('me')
  })

  test('refuses to write when either changed since, though a newer version of both is known', async () => {
    const { lock, store } = open()
    const lease = await lock.create(record('a'), options)
    store.write('new', record('b'), store.read('new').version)
    await lock.get(options)
    await expect(lock.update(lease, record('a', { leaseTransitions: 1 }), options)).rejects.toMatchObject({
      failure: 'conflict',
    })
  })

  test('adds annotations to the record that decides, and to nothing else', async () => {
    const { lock, store, stored } = open()
    store.write('old', record('old-only'), undefined)
    store.write('new', record(''), undefined)
    const lease = await present(lock)
    const annotations = { 'tenure.dev/answer': 'me' }
    await lock.update(lease, { ...lease.record, annotations }, options)
    expect([stored('old'), stored('new')]).toEqual([record('old-only', { annotations }), record('')])
  })

  test('adds no annotations when the holder is not known', async () => {
    const { lock, store, stored } = open()
    store.write('old', record('a'), undefined)
    store.write('new', record('b'), undefined)
    const lease = await present(lock)
    const annotated = { ...lease.record, annotations: { 'tenure.dev/answer': 'me' } }
    await expect(lock.update(lease, annotated, options)).rejects.toMatchObject({ failure: 'conflict' })
    expect([stored('old'), stored('new')]).toEqual([record('a'), record('b')])
  })

  test('reports the halves of the writes of others, and of its own only the whole', async () => {
    const { lock, store } = open()
    const { seen, log } = watching(lock)
    await settle()
    expect([seen.map(({ kind }) => kind), log]).toEqual([['absent'], ['up']])
    const own = await lock.create(record('me'), options)
    await settle()
    expect(seen.slice(1).map(({ version }) => version)).toEqual([own.version])
    store.write('old', record('b'), store.read('old').version)
    store.write('new', record('b'), store.read('new').version)
    await settle()
    const holders = seen.slice(2).map((snapshot) => snapshot.kind === 'present' && snapshot.record.holderIdentity)
    expect(holders).toEqual([UNKNOWN_LEADER, 'b'])
  })

  test.each(['old', 'new'])(
    'is absent for its holder when the %s lease was deleted, and can be created again',
    async (name) => {
      const { lock, store, stored } = open()
      await lock.create(record('me'), options)
      const { seen } = watching(lock)
      await settle()
      store.delete(name)
      await settle()
      expect(seen.at(-1)?.kind).toBe('absent')
      expect(seen.at(-1)?.version).toBeGreaterThan(seen[0]?.version ?? 0n)
      await lock.create(record('me', { leaseTransitions: 1 }), options)
      expect([stored('old'), stored('new')]).toEqual(Array(2).fill(record('me', { leaseTransitions: 1 })))
    },
  )

  test('frees the primary again when somebody else was faster with the secondary', async () => {
    const { lock, store, stored } = open()
    store.write('new', record(''), undefined)
    const free = await present(lock)
    store.write('new', record('b'), store.read('new').version)
    await expect(lock.update(free, record('me'), options)).rejects.toMatchObject({ failure: 'conflict' })
    expect(stored('old')).toMatchObject({ holderIdentity: '' })
    expect((await present(lock)).record).toEqual(record('b'))
  })

  test('keeps the primary when it loses the secondary of a lease that it holds: its tasks may still run', async () => {
    const { lock, store, stored } = open()
    const lease = await lock.create(record('me'), options)
    store.write('new', record('b'), store.read('new').version)
    const renewed = record('me', { renewTime: '2026-01-01T00:00:02.000000Z' })
    await expect(lock.update(lease, renewed, options)).rejects.toMatchObject({ failure: 'conflict' })
    expect(stored('old')).toMatchObject({ holderIdentity: 'me' })
  })
})

describe('A multi lock that is closed', () => {
  test('refuses every request and every watch', async () => {
    const { lock, primary, secondary } = open()
    const lease = await lock.create(record('a'), options)
    await lock.close()
    const closed = {
      failure: 'unreachable',
      message: 'Could not reach memory lease old and memory lease new: the lock is closed',
    }
    const writes = [primary.writes.length, secondary.writes.length]
    await expect(lock.get(options)).rejects.toMatchObject(closed)
    await expect(lock.create(record('a'), options)).rejects.toMatchObject(closed)
    await expect(lock.update(lease, record('b'), options)).rejects.toMatchObject(closed)
    expect(() => lock.watch({ changed: () => {}, up: () => {}, down: () => {} })).toThrow(closed.message)
    expect([primary.writes.length, secondary.writes.length]).toEqual(writes)
  })

  test('has closed its watches', async () => {
    const { lock, store } = open()
    const { seen, log } = watching(lock)
    await settle()
    await lock.close()
    store.write('old', record('a'), undefined)
    await settle()
    expect([seen.length, log]).toEqual([1, ['up']])
  })
})

describe('A multi lock that writes', () => {
  test.each([undefined, null, 'x', { primary: 1 }, { secondary: 1 }])(
    'refuses a base of another lock: %j',
    async (native) => {
      const { lock, primary } = open()
      const base: PresentLease = { kind: 'present', version: 1n, record: record('a'), deleting: false, native }
      await expect(lock.update(base, record('b'), options)).rejects.toMatchObject({
        failure: 'rejected',
        message: 'Could not update memory lease old and memory lease new: its base was not read from this kind of lock',
      })
      expect(primary.writes).toEqual([])
    },
  )

  test('says that it cannot annotate a lease whose holder is not known', async () => {
    const { lock, store } = open()
    store.write('old', record('a'), undefined)
    store.write('new', record('b'), undefined)
    const lease = await present(lock)
    const annotated = { ...lease.record, annotations: { 'tenure.dev/answer': 'me' } }
    await expect(lock.update(lease, annotated, options)).rejects.toThrow(
      'Could not annotate memory lease old and memory lease new: its holder is not known',
    )
  })

  test('adds annotations to both where both decide', async () => {
    const { lock, stored } = open()
    const lease = await lock.create(record('a'), options)
    const annotations = { 'tenure.dev/answer': 'me' }
    const written = await lock.update(lease, { ...lease.record, annotations }, options)
    expect([stored('old'), stored('new')]).toEqual(Array(2).fill(record('a', { annotations })))
    expect(written.record.annotations).toEqual(annotations)
  })

  test('adds annotations to the secondary alone where that decides', async () => {
    const { lock, store, stored } = open()
    store.write('old', record(''), undefined)
    store.write('new', record('new-only'), undefined)
    const lease = await present(lock)
    const annotations = { 'tenure.dev/answer': 'me' }
    await lock.update(lease, { ...lease.record, annotations }, options)
    expect([stored('old'), stored('new')]).toEqual([record(''), record('new-only', { annotations })])
  })

  test('adds annotations to a lease that stands alone, and creates no other', async () => {
    const { lock, store, stored } = open()
    store.write('new', record('new-only'), undefined)
    const lease = await present(lock)
    await lock.update(lease, { ...lease.record, annotations: { 'tenure.dev/answer': 'me' } }, options)
    expect([stored('old'), stored('new')?.annotations]).toEqual([undefined, { 'tenure.dev/answer': 'me' }])
  })

  test('reads before it creates where a lease is known that may be gone', async () => {
    const { lock, store, stored } = open()
    store.write('old', record(''), undefined)
    await present(lock)
    store.delete('old')
    await lock.create(record('me'), options)
    expect([stored('old'), stored('new')]).toEqual([record('me'), record('me')])
  })

  test('does not create a lease beside a lease that somebody else holds', async () => {
    const { lock, store, stored } = open()
    store.write('new', record('b'), undefined)
    await expect(lock.create(record('me'), options)).rejects.toMatchObject({ failure: 'conflict' })
    expect([stored('old'), stored('new')]).toEqual([expect.objectContaining({ holderIdentity: '' }), record('b')])
  })

  test.each([
    ['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000001Z'],
    ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000000Z'],
    ['2026-01-01T00:00:00.000007Z', '2026-01-01T00:00:00.000001Z'],
    [undefined, undefined],
  ])('frees the primary with another time of the acquisition than its own: %s', async (acquireTime, other) => {
    const { lock, store, stored } = open()
    store.write('new', record(''), undefined)
    const free = await present(lock)
    store.write('new', record('b'), store.read('new').version)
    await expect(lock.update(free, record('me', { acquireTime }), options)).rejects.toMatchObject({
      failure: 'conflict',
    })
    expect(stored('old')).toEqual(record('', { leaseDurationSeconds: 1, acquireTime: other }))
  })

  test('reports the lost secondary also where the primary cannot be freed', async () => {
    const { lock, store, primary, secondary, stored } = open()
    store.write('new', record(''), undefined)
    const free = await present(lock)
    secondary.failure = 'forbidden'
    const create = primary.create.bind(primary)
    primary.create = async (...given) => {
      const written = await create(...given)
      primary.failure = 'throttled'
      return written
    }
    await expect(lock.update(free, record('me'), options)).rejects.toMatchObject({ failure: 'forbidden' })
    expect(stored('old')).toEqual(record('me'))
  })

  test('keeps the primary after a failure that is no answer of the store', async () => {
    const { lock, store, secondary, stored } = open()
    store.write('new', record(''), undefined)
    const free = await present(lock)
    secondary.update = async () => Promise.reject(new TypeError('a defect'))
    await expect(lock.update(free, record('me'), options)).rejects.toThrow('a defect')
    expect(stored('old')).toEqual(record('me'))
  })

  test('frees the primary where it was held by another replica before', async () => {
    const { lock, store, stored } = open()
    store.write('old', record('a'), undefined)
    store.write('new', record('a'), undefined)
    const held = await present(lock)
    store.write('new', record('b'), store.read('new').version)
    await expect(lock.update(held, record('me'), options)).rejects.toMatchObject({ failure: 'conflict' })
    expect(stored('old')).toMatchObject({ holderIdentity: '' })
  })

  test.each([
    [64, 'is', { holderIdentity: 'me', renewTime: renewedAt(0) }],
    [65, 'is no longer', { holderIdentity: 'me', renewTime: `${renewedAt(1)},${renewedAt(0)}` }],
  ])('after %d renewals of unknown outcome, the first of them %s one of its own', async (count, _, expected) => {
    const { lock, store, secondary } = open()
    let lease = await lock.create(record('me', { renewTime: renewedAt(0) }), options)
    secondary.failure = 'unknown-outcome'
    for (let number = 1; number <= count; number += 1) {
      const renewed = record('me', { renewTime: renewedAt(number) })
      await expect(lock.update(lease, renewed, options)).rejects.toMatchObject({ failure: 'unknown-outcome' })
      secondary.failure = undefined
      lease = await present(lock)
      secondary.failure = 'unknown-outcome'
    }
    secondary.failure = undefined
    store.write('old', record('me', { renewTime: renewedAt(1) }), store.read('old').version)
    expect((await present(lock)).record).toMatchObject(expected)
  })

  test('is being deleted where one of its leases is', async () => {
    const { lock, store, secondary } = open()
    const lease = await lock.create(record('a'), options)
    expect(lease.deleting).toBe(false)
    secondary.get = async () => ({ ...(store.read('new') as PresentLease), version: 9n, deleting: true })
    expect((await present(lock)).deleting).toBe(true)
  })

  test('begins every term on either lease above what the other counts', async () => {
    const { lock, store } = open()
    for (let version = 1n; version < 5n; version += 1n)
      store.write('other', record('x'), version === 1n ? undefined : version - 1n)
    const lease = await lock.create(record('a'), options)
    const epochs = ['old', 'new'].map((name) => store.read(name).version)
    expect(epochs).toEqual([5n, 6n])
    expect([lease.epoch, lease.version]).toEqual([5n, 22n])
    expect(lease.record.annotations).toEqual({})
  })
})

/** A lock that the test plays. */
class PlayedLock implements Lock {
  readonly observers: LockObserver[] = []
  closed = 0
  answer: LockSnapshot = { kind: 'absent' }
  readonly written: LeaseRecord[] = []
  readonly description: string

  constructor(description: string) {
    this.description = description
  }

  async get(): Promise<LockSnapshot> {
    return this.answer
  }

  async create(written: LeaseRecord): Promise<PresentLease> {
    this.written.push(written)
    return { kind: 'present', version: 1n, record: written, deleting: false }
  }

  async update(base: PresentLease, written: LeaseRecord): Promise<PresentLease> {
    this.written.push(written)
    return { kind: 'present', version: base.version + 1n, record: written, deleting: false }
  }

  watch(observer: LockObserver) {
    this.observers.push(observer)
    return { close: async () => void (this.closed += 1) }
  }

  async close(): Promise<void> {}
}

function played() {
  const [old, fresh] = [new PlayedLock('old'), new PlayedLock('new')]
  const lock = new MultiLock(old, fresh)
  const log: unknown[] = []
  const watch = lock.watch({
    changed: (seen) => log.push(seen.kind === 'present' ? seen.record.holderIdentity : seen.kind),
    up: () => log.push('up'),
    down: (cause) => log.push(cause),
  })
  const [oldSide, newSide] = [old.observers[0], fresh.observers[0]]
  if (oldSide === undefined || newSide === undefined) throw new Error('Expected both locks to be watched')
  return { lock, old, fresh, log, watch, oldSide, newSide }
}

const seen = (version: bigint, holder: string): PresentLease => ({
  kind: 'present',
  version,
  record: record(holder),
  deleting: false,
})
const cause = new Error('reset')

describe('The watch of a multi lock', () => {
  test('reports nothing before both leases were seen', () => {
    const { log, oldSide, newSide } = played()
    oldSide.up()
    newSide.up()
    oldSide.changed(seen(1n, 'a'))
    oldSide.changed(seen(2n, 'b'))
    expect(log).toEqual([])
    newSide.changed(seen(1n, 'b'))
    expect(log).toEqual(['b', 'up'])
  })

  test('is up while both watches are', () => {
    const { log, oldSide, newSide } = played()
    oldSide.changed({ kind: 'absent', version: 1n })
    newSide.changed({ kind: 'absent', version: 1n })
    expect(log).toEqual(['absent'])
    oldSide.up()
    expect(log).toEqual(['absent'])
    newSide.up()
    newSide.up()
    expect(log).toEqual(['absent', 'up'])
    newSide.down(cause)
    oldSide.down(cause)
    expect(log).toEqual(['absent', 'up', cause])
    newSide.up()
    expect(log).toEqual(['absent', 'up', cause])
    oldSide.up()
    expect(log).toEqual(['absent', 'up', cause, 'up'])
  })

  test('is down from the start where one of the watches is', () => {
    const { log, oldSide } = played()
    oldSide.down(cause)
    expect(log).toEqual([cause])
  })

  test('reports each state once', () => {
    const { log, oldSide, newSide } = played()
    oldSide.changed(seen(1n, 'a'))
    newSide.changed(seen(1n, 'a'))
    newSide.changed(seen(1n, 'a'))
    newSide.changed(seen(2n, 'a'))
    expect(log).toEqual(['a', 'a'])
  })

  test('reports nothing after the close, and closes both watches', async () => {
    const { lock, log, old, fresh, oldSide, newSide, watch } = played()
    oldSide.changed(seen(1n, 'a'))
    await watch.close()
    newSide.changed(seen(1n, 'a'))
    oldSide.up()
    newSide.up()
    oldSide.down(cause)
    expect(log).toEqual([])
    await lock.close()
    expect([old.closed, fresh.closed]).toEqual([1, 1])
  })

  test('is closed with the lock', async () => {
    const { lock, old, fresh } = played()
    await lock.close()
    expect([old.closed, fresh.closed]).toEqual([1, 1])
  })

  test('does not go back to an older version, unless a read finds that the store was restored', async () => {
    const { lock, log, old, fresh, oldSide, newSide } = played()
    oldSide.changed(seen(5n, 'a'))
    newSide.changed(seen(5n, 'a'))
    oldSide.changed(seen(4n, 'b'))
    newSide.changed(seen(4n, 'b'))
    expect(log).toEqual(['a'])
    old.answer = seen(3n, 'c')
    fresh.answer = seen(3n, 'c')
    expect(await lock.get(options)).toMatchObject({ kind: 'present', version: 12n, record: { holderIdentity: 'c' } })
    oldSide.changed(seen(4n, 'd'))
    newSide.changed(seen(4n, 'd'))
    expect(log).toEqual(['a', UNKNOWN_LEADER, 'd'])
  })

  test('knows an absence without a version for later than the lease that was seen before it', async () => {
    const { lock, old, fresh, oldSide, newSide } = played()
    expect(await lock.get(options)).toEqual({ kind: 'absent', version: 0n })
    oldSide.changed(seen(5n, ''))
    newSide.changed(seen(5n, ''))
    old.answer = { kind: 'absent' }
    fresh.answer = { kind: 'absent' }
    expect(await lock.get(options)).toEqual({ kind: 'absent', version: 22n })
    expect(await lock.get(options)).toEqual({ kind: 'absent', version: 22n })
    oldSide.changed({ kind: 'absent', version: 6n })
    expect(await lock.get(options)).toEqual({ kind: 'absent', version: 24n })
  })

  test('rejects with the failure of either read', async () => {
    const { lock, old, fresh } = played()
    const failure = new LockRequestError('forbidden', 'no')
    fresh.get = async () => Promise.reject(failure)
    await expect(lock.get(options)).rejects.toBe(failure)
    old.get = async () => Promise.reject(cause)
    await expect(lock.get(options)).rejects.toBe(cause)
  })

  test('begins a term above the epoch of the other lease, which another store counts', async () => {
    const { lock, old, fresh, oldSide, newSide } = played()
    oldSide.changed(seen(100n, ''))
    newSide.changed(seen(7n, ''))
    old.answer = seen(100n, '')
    fresh.answer = seen(7n, '')
    const first = await lock.get(options)
    if (first.kind === 'absent') throw new Error('Expected the lease to exist')
    const written = await lock.update(first, record('me'), options)
    expect(written.epoch).toBe(101n)
    // The store of the primary counts to 101 by itself; that of the secondary does not.
    expect(old.written).toEqual([record('me')])
    expect(fresh.written).toEqual([withLeastEpoch(record('me'), 101n)])
  })

  test('begins a term on the primary above what the secondary counts', async () => {
    const { lock, old, fresh } = played()
    old.answer = seen(7n, '')
    fresh.answer = seen(100n, '')
    const first = await present(lock)
    expect((await lock.update(first, record('me'), options)).epoch).toBe(101n)
    expect(old.written).toEqual([withLeastEpoch(record('me'), 101n)])
    expect(fresh.written).toEqual([record('me')])
  })

  test('keeps the least epoch that a record asks for', async () => {
    const { lock, old, fresh } = played()
    await lock.create(withLeastEpoch(record('me'), 50n), options)
    const asked = withLeastEpoch(record('me'), 50n)
    expect([old.written, fresh.written]).toEqual([[asked], [asked]])
  })
})
