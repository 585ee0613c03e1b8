import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'

const { signal } = new AbortController()
const settle = () => new VirtualClock().runAllMicrotasks()

function record(holderIdentity: string): LeaseRecord {
  return {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
    annotations: {},
  }
}

describe('A memory lock', () => {
  test('stores what is created and reads it back', async () => {
    const lock = new MemoryLeaseStore().lock('lease')
    expect(await lock.get({ signal })).toEqual({ kind: 'absent', version: 0n })
    const created = await lock.create(record('a'), { signal })
    expect(await lock.get({ signal })).toEqual(created)
    expect(created).toMatchObject({ kind: 'present', version: 1n, deleting: false, record: record('a') })
  })

  test('refuses to create what exists', async () => {
    const lock = new MemoryLeaseStore().lock('lease')
    await lock.create(record('a'), { signal })
    await expect(lock.create(record('b'), { signal })).rejects.toMatchObject({ failure: 'conflict' })
  })

  test('updates only the version on which the update is based', async () => {
    const store = new MemoryLeaseStore()
    const [a, b] = [store.lock('lease'), store.lock('lease')]
    const base = await a.create(record('a'), { signal })
    const next = await b.update(base, record('b'), { signal })
    expect(next.version).toBeGreaterThan(base.version)
    await expect(a.update(base, record('a'), { signal })).rejects.toMatchObject({ failure: 'conflict' })
    expect(await a.get({ signal })).toEqual(next)
  })

  test('does not find a lease to update that was deleted', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const base = await lock.create(record('a'), { signal })
    store.delete('lease')
    await expect(lock.update(base, record('a'), { signal })).rejects.toMatchObject({ failure: 'not-found' })
  })

  test('never goes back in versions, also not when the lease is deleted and created again', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const first = await lock.create(record('a'), { signal })
    store.delete('lease')
    const second = await lock.create(record('b'), { signal })
    expect(second.version).toBeGreaterThan(first.version)
  })

  test('shares one growing version among the leases of a store', async () => {
    const store = new MemoryLeaseStore()
    const a = await store.lock('a').create(record('x'), { signal })
    const b = await store.lock('b').create(record('x'), { signal })
    expect(b.version).toBeGreaterThan(a.version)
  })

  test('reports the present lease and then every change, in order, until the watch is closed', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const seen: LockSnapshot[] = []
    let ups = 0
    const base = await lock.create(record('a'), { signal })
    const watch = lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => (ups += 1), down: () => {} })
    expect(seen).toEqual([])
    await settle()
    expect([seen.map(({ version }) => version), ups]).toEqual([[1n], 1])
    await lock.update(base, record('b'), { signal })
    store.delete('lease')
    await settle()
    expect(seen.slice(1)).toMatchObject([
      { kind: 'present', version: 2n },
      { kind: 'absent', version: 3n },
    ])
    await watch.close()
    await lock.create(record('c'), { signal })
    await settle()
    expect(seen).toHaveLength(3)
  })

  test('reports nothing any more from the call of close on, not even what was on its way', async () => {
    const store = new MemoryLeaseStore()
    const seen: LockSnapshot[] = []
    const observer = { changed: (snapshot: LockSnapshot) => seen.push(snapshot), up: () => {}, down: () => {} }
    const opening = store.lock('lease').watch(observer)
    void opening.close()
    await settle()
    const open = store.lock('lease').watch(observer)
    await settle()
    seen.length = 0
    store.write('lease', record('a'), undefined)
    void open.close()
    await settle()
    expect(seen).toEqual([])
  })

  test('says no more that it is up when it was closed at its first report', async () => {
    const store = new MemoryLeaseStore()
    const reports: string[] = []
    const close = store.observe('lease', {
      changed: () => {
        reports.push('changed')
        close()
      },
      up: () => void reports.push('up'),
      down: () => void reports.push('down'),
    })
    await Promise.resolve()
    expect(reports).toEqual(['changed'])
  })

  test('names itself', () => {
    expect(new MemoryLeaseStore().lock('ops/janitor').description).toBe('memory lease ops/janitor')
  })

  test('says why a request failed', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const base = await lock.create(record('a'), { signal })
    await expect(lock.create(record('b'), { signal })).rejects.toMatchObject({
      name: 'LockRequestError',
      code: 'LOCK_REQUEST_FAILED',
      failure: 'conflict',
      message: 'The lease `lease` is at version 1, not undefined',
      retryAfterMs: undefined,
    })
    store.delete('lease')
    await expect(lock.update(base, record('a'), { signal })).rejects.toMatchObject({
      failure: 'not-found',
      message: 'The lease `lease` does not exist',
    })
  })

  test('sends nothing for a request that was aborted, or once it is closed', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const base = await lock.create(record('a'), { signal })
    const cause = new Error('too late')
    const aborted = { signal: AbortSignal.abort(cause) }
    const requests = [
      () => lock.get(aborted),
      () => lock.create(record('b'), aborted),
      () => lock.update(base, record('b'), aborted),
    ]
    for (const request of requests)
      await expect(request()).rejects.toMatchObject({
        failure: 'unreachable',
        message: 'Could not reach memory lease lease: the request was aborted',
        cause,
      })
    await lock.close()
    await expect(lock.get({ signal })).rejects.toMatchObject({
      failure: 'unreachable',
      message: 'Could not reach memory lease lease: the lock is closed',
    })
    expect(() => lock.watch({ changed: () => {}, up: () => {}, down: () => {} })).toThrow('the lock is closed')
    expect(store.read('lease')).toEqual(base)
  })

  test('ends its watches when it is closed', async () => {
    const store = new MemoryLeaseStore()
    const lock = store.lock('lease')
    const seen: LockSnapshot[] = []
    lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => {}, down: () => {} })
    await settle()
    await lock.close()
    store.write('lease', record('a'), undefined)
    await settle()
    expect(seen).toEqual([{ kind: 'absent', version: 0n }])
  })

  test('reports a change that comes before its first report only with that', async () => {
    const store = new MemoryLeaseStore()
    const seen: LockSnapshot[] = []
    const lock = store.lock('lease')
    lock.watch({ changed: (snapshot) => seen.push(snapshot), up: () => {}, down: () => {} })
    const lease = store.write('lease', record('a'), undefined)
    store.delete('other')
    await settle()
    expect(seen).toEqual([lease])
    expect(store.read('other')).toEqual({ kind: 'absent', version: 1n })
    await lock.close()
  })
})
