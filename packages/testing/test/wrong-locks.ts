import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type LeaseRecord, type Lock, LockRequestError, type LockSnapshot, type PresentLease } from '@tenure/core'
import { FileLock } from '@tenure/file-lock'

/** A lock that breaks its contract: by the name of what is wrong with it. */
export interface WrongLock {
  readonly path: string
  readonly flaw: string
}

const never = { signal: new AbortController().signal }

/** Flaws of a lock on files, each of which leaves everything else as it is. */
const FLAWS: Readonly<Record<string, (lock: Lock, path: string) => Partial<Lock>>> = {
  none: () => ({}),
  'a mutex of one process': (_lock, path) => new OneProcessLock(path),
  'ignores an abort under way': (lock) => ({
    get: async (options) => {
      if (options.signal.aborted) return lock.get(options)
      await delay(5)
      return lock.get(never)
    },
    update: async (base, record, options) => {
      if (options.signal.aborted) return lock.update(base, record, options)
      await delay(5)
      return lock.update(base, record, never)
    },
  }),
  'a write that lands late': (lock) => ({
    update: async (base, record, options) => {
      if (options.signal.aborted) return lock.update(base, record, options)
      const late = delay(300).then(() => lock.update(base, record, never))
      late.catch(() => {})
      await delay(3)
      if (!options.signal.aborted) return late
      throw new LockRequestError('unknown-outcome', 'The request was aborted', { cause: options.signal.reason })
    },
  }),
  'a write that lands after the lock was closed': (lock, path) => {
    const { promise: closing, resolve } = Promise.withResolvers<void>()
    const other = new FileLock({ path })
    return {
      update: async (base, record, options) => {
        if (options.signal.aborted) return lock.update(base, record, options)
        const late = delay(30).then(() => other.update(base, record, options))
        const isClosed = closing.then(() => Promise.reject(new LockRequestError('unknown-outcome', 'It was closed')))
        return Promise.race([late, isClosed])
      },
      close: () => {
        resolve()
        return lock.close()
      },
    }
  },
  'a watch that never says down': (lock) => ({
    watch: (observer) => lock.watch({ ...observer, down: () => {} }),
  }),
  'a watch that is never up again': (lock) => ({
    watch: (observer) => {
      let ups = 0
      return lock.watch({ ...observer, up: () => void (ups++ === 0 && observer.up()) })
    },
  }),
  'a watch that stops at the first trouble': (lock) => ({
    watch: (observer) => {
      const watch = lock.watch({
        ...observer,
        down: (cause) => {
          observer.down(cause)
          void watch.close()
        },
      })
      return watch
    },
  }),
  'a watch that shows only the latest version': (lock) => ({
    watch: (observer) => {
      let latest: LockSnapshot | undefined
      const timer = setInterval(() => {
        if (latest !== undefined) observer.changed(latest)
        latest = undefined
      }, 40)
      const watch = lock.watch({
        ...observer,
        changed: (snapshot) => {
          latest = snapshot
        },
      })
      return {
        close: () => {
          clearInterval(timer)
          return watch.close()
        },
      }
    },
  }),
  'a lock file that stays when its process is killed': (lock, path) => ({
    update: async (base, record, options) => {
      while (!tryCreate(`${path}.lock`)) await delay(1, undefined, options)
      try {
        // Nearly all the time, so that a kill hits it.
        await delay(200)
        return await lock.update(base, record, options)
      } finally {
        rmSync(`${path}.lock`, { force: true })
      }
    },
  }),
}

/** For the conformance suite: the lock with a flaw. */
export function openLock({ path, flaw }: WrongLock): Lock {
  const lock = new FileLock({ path, pollMs: 20 })
  const wrong = FLAWS[flaw]?.(lock, path) ?? {}
  return new Proxy<Lock>(lock, {
    get(target, key) {
      const source = Reflect.get(wrong, key) === undefined ? target : wrong
      const value: unknown = Reflect.get(source, key)
      return typeof value === 'function' ? value.bind(source) : value
    },
  })
}

const WRITE_MS = 30

/** Compares and swaps under a mutex of this process. Other processes are not excluded. */
class OneProcessLock {
  static #turn: Promise<unknown> = Promise.resolve()
  readonly #path: string

  constructor(path: string) {
    this.#path = `${path}.json`
  }

  async get(): Promise<LockSnapshot> {
    return this.#read()
  }

  create(record: LeaseRecord): Promise<PresentLease> {
    return this.#alone(async () => {
      if ((await this.#read()).kind === 'present') throw new LockRequestError('conflict', 'It exists')
      return this.#write(record, 1n)
    })
  }

  update(base: PresentLease, record: LeaseRecord): Promise<PresentLease> {
    return this.#alone(async () => {
      const stored = await this.#read()
      if (stored.version !== base.version) throw new LockRequestError('conflict', 'It was changed')
      return this.#write(record, base.version + 1n)
    })
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const before = OneProcessLock.#turn
    const { promise, resolve } = Promise.withResolvers<void>()
    OneProcessLock.#turn = promise
    await before
    return work().finally(resolve)
  }

  async #read(): Promise<LockSnapshot> {
    if (!existsSync(this.#path)) return { kind: 'absent' }
    const text = readFileSync(this.#path, 'utf8')
    const { record, version } = JSON.parse(text) as { record: LeaseRecord; version: string }
    return { kind: 'present', version: BigInt(version), record, deleting: false }
  }

  /** Long after the version was read, so that others read it as well; in one step, so that nobody reads half of it. */
  async #write(record: LeaseRecord, version: bigint): Promise<PresentLease> {
    await delay(WRITE_MS)
    const next = `${this.#path}.${process.pid}`
    writeFileSync(next, JSON.stringify({ record, version: String(version) }))
    renameSync(next, this.#path)
    return { kind: 'present', version, record, deleting: false }
  }
}

function tryCreate(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}
