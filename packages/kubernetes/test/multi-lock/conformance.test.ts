import { type Lock, MemoryLeaseStore } from '@tenure/core'
import { describe, test } from 'vitest'
import { lockConformance } from '../../../testing/src/lock-conformance/index.ts'
import { MultiLock } from '../../src/locks/legacy/multi-lock.ts'

function suite(stores: () => readonly [MemoryLeaseStore, MemoryLeaseStore]) {
  return lockConformance({
    otherProcess: 'none',
    outage: 'none',
    lateMs: 20,
    createFixture: () => {
      const [primary, secondary] = stores()
      const locks: Lock[] = []
      return {
        openLock: () => {
          const lock = new MultiLock(primary.lock('old'), secondary.lock('new'))
          locks.push(lock)
          return lock
        },
        deleteLease: async () => {
          primary.delete('old')
          secondary.delete('new')
        },
        [Symbol.asyncDispose]: async () => void (await Promise.all(locks.map((lock) => lock.close()))),
      }
    },
  })
}

describe('a multi lock', () => {
  const oneStore = (): readonly [MemoryLeaseStore, MemoryLeaseStore] => {
    const store = new MemoryLeaseStore()
    return [store, store]
  }
  for (const { name, run } of suite(oneStore)) test(name, run)
})

describe('a multi lock of two stores that count their versions apart', () => {
  for (const { name, run } of suite(() => [new MemoryLeaseStore(), new MemoryLeaseStore()])) test(name, run)
})
