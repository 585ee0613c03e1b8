import {
  LockRequestError,
  MemoryLeaseStore,
  type Lock,
  type LockObserver,
  type LockSnapshot,
  type PresentLease,
} from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { lockConformance } from '../src/lock-conformance/index.ts'

type Flaw = (lock: Lock, store: MemoryLeaseStore) => Partial<Lock>

/** The conformance suite on memory locks, each with a flaw if one is given. */
function suite(flaw: Flaw = () => ({})) {
  return lockConformance({
    patienceMs: 50,
    lateMs: 20,
    otherProcess: 'none',
    outage: 'none',
    createFixture: () => {
      const store = new MemoryLeaseStore()
      const locks: Lock[] = []
      return {
        openLock: () => {
          const lock = store.lock('janitor')
          locks.push(lock)
          return new Proxy(lock, {
            get(target, key) {
              const value: unknown = Reflect.get({ ...flaw(target, store) }, key) ?? Reflect.get(target, key)
              return typeof value === 'function' ? value.bind(target) : value
            },
          })
        },
        deleteLease: async () => store.delete('janitor'),
        [Symbol.asyncDispose]: async () => void (await Promise.all(locks.map((lock) => lock.close()))),
      }
    },
  })
}

describe('a memory lock', () => {
  for (const { name, run } of suite()) test(name, run)
})

const never = { signal: new AbortController().signal }

/** Rewrites what a watch reports. */
function watching(rewrite: (observer: LockObserver) => LockObserver): Flaw {
  return (lock) => ({ watch: (observer) => lock.watch(rewrite(observer)) })
}

/** Bugs, and a requirement that each of them breaks. */
const flaws: Record<string, { readonly breaks: RegExp; readonly flaw: Flaw }> = {
  'creates over a lease that exists': {
    breaks: /refuses to create a lease that exists/,
    flaw: (lock) => ({
      create: async (record, options) => {
        const stored = await lock.get(options)
        return stored.kind === 'present' ? lock.update(stored, record, options) : lock.create(record, options)
      },
    }),
  },
  'updates whatever is stored': {
    breaks: /base that is out of date/,
    flaw: (lock) => ({
      update: async (base, record, options) => {
        const stored = await lock.get(options)
        return lock.update(stored.kind === 'present' ? stored : base, record, options)
      },
    }),
  },
  'creates what it cannot update': {
    breaks: /a lease that was deleted, and does not create it/,
    flaw: (lock) => ({
      update: async (base, record, options) => {
        const stored = await lock.get(options)
        return stored.kind === 'present' ? lock.update(base, record, options) : lock.create(record, options)
      },
    }),
  },
  'returns the base instead of what it wrote': {
    breaks: /updates a lease that is at the version of the base/,
    flaw: (lock) => ({
      update: async (base, record, options) => {
        await lock.update(base, record, options)
        return base
      },
    }),
  },
  'merges annotations instead of replacing them': {
    breaks: /replaces all annotations of Tenure/,
    flaw: (lock) => ({
      update: (base, record, options) =>
        lock.update(base, { ...record, annotations: { ...base.record.annotations, ...record.annotations } }, options),
    }),
  },
  'writes defaults for what the record leaves out': {
    breaks: /keeps fields that were left out left out/,
    flaw: (lock) => ({
      create: (record, options) => lock.create({ ...record, leaseTransitions: record.leaseTransitions ?? 0 }, options),
    }),
  },
  'starts the versions again when a lease is created again': {
    breaks: /greater version than it ever had/,
    flaw: (lock) => ({ create: async (record, options) => ({ ...(await lock.create(record, options)), version: 1n }) }),
  },
  'reads from a cache': {
    breaks: /shows a write that was acknowledged/,
    flaw: staleReads(),
  },
  'rejects with an error that says nothing': {
    breaks: /refuses to create a lease that exists/,
    flaw: (lock) => ({
      create: (record, options) => lock.create(record, options).catch(() => Promise.reject(new Error('no'))),
    }),
  },
  'calls a conflict an unknown outcome': {
    breaks: /exactly one of many concurrent updates/,
    flaw: (lock) => ({ update: (base, record, options) => lock.update(base, record, options).catch(vague) }),
  },
  'ignores the signal': {
    breaks: /refuses a request whose signal is aborted/,
    flaw: (lock) => ({
      create: (record) => lock.create(record, never),
      update: (base, record) => lock.update(base, record, never),
    }),
  },
  'keeps a listener on the signal': {
    breaks: /leaves no listener/,
    flaw: (lock) => ({
      get: (options) => {
        options.signal.addEventListener('abort', () => {})
        return lock.get(options)
      },
    }),
  },
  'says that an aborted write has not happened when it has': {
    breaks: /says truly whether it can have happened/,
    flaw: (lock) => ({
      update: async (base, record, options) => {
        const lease = await lock.update(base, record, never)
        await new Promise((resolve) => setTimeout(resolve, 3))
        if (options.signal.aborted) throw new LockRequestError('unreachable', 'aborted')
        return lease
      },
    }),
  },
  'goes on after it was closed': {
    breaks: /refuses requests after it was closed/,
    flaw: () => ({ close: () => Promise.resolve() }),
  },
  'does not report the lease at the start of a watch': {
    breaks: /at the start of a watch/,
    flaw: watching((observer) => {
      let first = true
      return {
        ...observer,
        changed: (snapshot) => {
          if (!first) observer.changed(snapshot)
          first = false
        },
      }
    }),
  },
  'does not report deletions': {
    breaks: /reports creation, update and deletion/,
    flaw: watching((observer) => {
      let started = false
      return {
        ...observer,
        changed: (snapshot) => {
          if (snapshot.kind === 'present' || !started) observer.changed(snapshot)
          started = true
        },
      }
    }),
  },
  'reports an older version after a newer one': {
    breaks: /ascending order/,
    flaw: watching((observer) => {
      const seen: LockSnapshot[] = []
      return {
        ...observer,
        changed: (snapshot) => {
          const [earlier] = seen.push(snapshot) > 3 ? seen : []
          observer.changed(snapshot)
          if (earlier !== undefined) observer.changed(earlier)
        },
      }
    }),
  },
  'goes on reporting after the watch was closed': {
    breaks: /nothing any more from the moment a watch is closed/,
    flaw: (lock) => ({
      watch: (observer) => {
        lock.watch(observer)
        return { close: () => Promise.resolve() }
      },
    }),
  },
  'never says that the watch is up': {
    breaks: /at the start of a watch/,
    flaw: watching((observer) => ({ ...observer, up: () => {} })),
  },
}

describe('the conformance suite', () => {
  test.each(Object.entries(flaws))('finds a lock that %s', async (_, { breaks, flaw }) => {
    const failed: string[] = []
    for (const { name, run } of suite(flaw)) await run().catch(() => failed.push(name))
    expect(failed.filter((name) => breaks.test(name))).not.toEqual([])
  })

  test('omits the case about foreign data without `foreignData`', () => {
    expect(suite().some(({ name }) => name.includes('other clients have put'))).toBe(false)
  })

  test('finds a lock that loses what other clients have put on a lease', async () => {
    const [foreign] = lockConformance({
      otherProcess: 'none',
      outage: 'none',
      createFixture: () => {
        const lock = new MemoryLeaseStore().lock('janitor')
        return {
          openLock: () => lock,
          deleteLease: async () => {},
          [Symbol.asyncDispose]: () => lock.close(),
          reads: 0,
        }
      },
      foreignData: { put: async () => {}, read: async (fixture) => fixture.reads++ === 0 },
    }).filter(({ name }) => name.includes('other clients have put'))
    await expect(foreign?.run()).rejects.toThrow()
  })
})

function staleReads(): Flaw {
  const caches = new WeakMap<Lock, LockSnapshot>()
  return (lock) => ({
    get: async (options) => {
      const cached = caches.get(lock) ?? (await lock.get(options))
      caches.set(lock, cached)
      return cached
    },
  })
}

function vague(): Promise<PresentLease> {
  return Promise.reject(new LockRequestError('unknown-outcome', 'who knows'))
}
