import type { Clock } from '@tenure/core'
import { onAbort, type Random, type Timer } from '@tenure/core/internal'
import { actors } from './actors.ts'
import { OPEN } from './cluster/network.ts'
import type { SimulatedProcess } from './cluster/simulated-process.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { TermLife } from './term-life.ts'
import { COLLECTION, SimulatedCache } from './store/simulated-cache.ts'
import { type Entry, StaleEpochError, StaleVersionError } from './store/simulated-store.ts'

/** How to write to the store. */
export interface PutOptions {
  /** Refuse the write if the store has seen a newer epoch. Pass `term.epoch`. @default not fenced */
  readonly epoch?: bigint
  /** Refuse the write unless the key has this version. 0 means that the key must not exist. @default any version */
  readonly ifVersion?: number
  /** Stops waiting for the answer. The write may still happen. */
  readonly signal?: AbortSignal
}

/** How to read from the store. */
export interface GetOptions {
  /** Stops waiting for the answer. */
  readonly signal?: AbortSignal
}

/**
 * Replaces the real world for a replica: a clock, random numbers, and a database behind a network that delays, loses and duplicates
 * requests. Pass it to your controllers.
 */
export class SimulatedWorld {
  /** The clock of this process. Every process has its own. */
  readonly clock: Clock
  /** Random numbers in [0, 1) from the seed. */
  readonly random: Random
  /** The identity with which this process competes for the lease. */
  readonly identity: string
  /** A copy of the database. A watch keeps it up to date from the start of the process on. */
  readonly cache: SimulatedCache
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster
    this.#process = process
    this.identity = process.identity
    this.random = cluster.random
    this.cache = new SimulatedCache(cluster, process)
    this.clock = {
      now: () => process.now(),
      wallTime: () => process.wallTime(),
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
    }
  }

  /** Reads a key. @throws LockRequestError if no answer came in time or the server did not answer. */
  async get(key: string, { signal }: GetOptions = {}): Promise<Entry | undefined> {
    const { store } = this.#cluster
    const entry = await this.#request(`get ${key}`, () => store.get(key), signal)
    const term = this.#term()
    term?.sawVersion(key, entry?.version ?? 0)
    term?.views.set(key, entry?.version ?? 0)
    return entry
  }

  /**
   * Replaces a value and resolves with its new version. After any error except `StaleEpochError` and `StaleVersionError`, the write may
   * have happened.
   */
  async put(key: string, value: unknown, { epoch, ifVersion, signal }: PutOptions = {}): Promise<number> {
    const { store } = this.#cluster
    const term = this.#term()
    const write = {
      key,
      value: structuredClone(value),
      epoch,
      ifVersion,
      term,
      basedOn: term?.versionSeen(key),
      views: new Map(term?.views),
      process: this.#process.identity,
    }
    const stored = await this.#request(`put ${key}`, () => store.put(write), signal).catch((error: unknown) => {
      if (!isRefused(error)) term?.noteVersion(COLLECTION, '')
      throw error
    })
    term?.noteVersion(COLLECTION, String(stored.version))
    term?.sawVersion(key, stored.version)
    term?.views.set(key, stored.version)
    this.#cluster.tell({ kind: 'acknowledged', write: stored })
    return stored.version
  }

  /**
   * Makes the store refuse every fenced write of an older epoch from now on. Call this first in a term. Otherwise a write of the previous
   * term that is still in flight may change what you have read.
   * @throws StaleEpochError if the store has seen a newer epoch.
   */
  async raiseFence(epoch: bigint, { signal }: GetOptions = {}): Promise<void> {
    const { store } = this.#cluster
    await this.#request(`raise the fence to ${epoch}`, () => store.raise(epoch), signal)
  }

  async #request<T>(what: string, apply: () => T, given: AbortSignal | undefined): Promise<T> {
    const { network, timing } = this.#cluster
    const term = this.#term()
    if (term !== undefined) this.#cluster.tell({ kind: 'acted', term: term, what: what })
    term?.waitBegan(`request ${what}`)
    const ending = new AbortController()
    const timeout = this.#process.setTimer(timing.requestTimeoutMs, () => ending.abort(new Error(`${what} timed out`)))
    const forget = given && onAbort(given, () => ending.abort(given.reason))
    try {
      return await network.request({
        process: this.#process,
        server: OPEN,
        what,
        apply,
        signal: ending.signal,
      })
    } finally {
      forget?.()
      timeout.cancel()
      term?.waitEnded(`request ${what}`)
    }
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    const actor = actors.getStore() ?? this.#process.actor
    const wait = `a timer of ${delayMs} ms`
    actor.term?.waitBegan(wait)
    let isPending = true
    const settle = () => {
      if (isPending) actor.term?.waitEnded(wait)
      isPending = false
    }
    const timer = this.#process.setTimer(delayMs, () => {
      settle()
      if (actor.term !== undefined) this.#cluster.tell({ kind: 'acted', term: actor.term, what: 'a timer fired' })
      actors.run(actor, callback)
    })
    return {
      cancel: () => {
        settle()
        timer.cancel()
      },
    }
  }

  #term(): TermLife | undefined {
    return actors.getStore()?.term
  }
}

/** Whether the write has certainly not happened. */
function isRefused(error: unknown): boolean {
  return error instanceof StaleEpochError || error instanceof StaleVersionError
}
