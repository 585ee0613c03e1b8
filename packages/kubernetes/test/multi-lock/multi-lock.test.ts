import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { type LeaseRecord, type LockSnapshot, type PresentLease, MemoryLeaseStore } from '@tenure/core'
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
