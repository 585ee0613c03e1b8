import type { Clock } from '@tenure/core'
import { onAbort, type Random, type Timer } from '@tenure/core/internal'
import { actors } from './actors.ts'
import type { ServerState } from './cluster/network.ts'
import type { SimulatedProcess } from './cluster/simulated-process.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { TermLife } from './term-life.ts'
import type { Entry } from './store/simulated-store.ts'

/** How to write to the store. */
export interface PutOptions {
  /** Refuse the write when the store has seen a newer epoch: give `term.epoch`. @default not fenced */
  readonly epoch?: bigint
  /** Refuse the write unless the key is at this version; 0 where it must not exist. @default any */
  readonly ifVersion?: number
  /** Ends the wait for the answer; the write may happen all the same. */
  readonly signal?: AbortSignal
}

/** How to read from the store. */
export interface GetOptions {
  /** Ends the wait for the answer. */
  readonly signal?: AbortSignal
}

/** The store takes every request, from every client. */
const OPEN: ServerState = { downUntil: 0, admit: () => {} }

/**
 * What a replica of a cluster has in place of the real world: a clock, chance, and a database over a network that may be late, lose
 * things, or say them twice. Give it to your controllers instead of your own.
 */
export class SimulatedWorld {
  /** The clock of this process, which no other shares. */
  readonly clock: Clock
  /** Chance that comes from the seed. */
  readonly random: Random
  /** The identity that this process stands for election with. */
  readonly identity: string
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster
    this.#process = process
    this.identity = process.identity
    this.random = cluster.random
    this.clock = {
      now: () => process.now(),
      wallTime: () => process.wallTime(),
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
    }
  }

  /** Reads a key. @throws LockRequestError when no answer came in time or the server had none to give. */
  async get(key: string, { signal }: GetOptions = {}): Promise<Entry | undefined> {
    const { store } = this.#cluster
    const entry = await this.#request(`get ${key}`, () => store.get(key), signal)
    this.#term()?.sawVersion(key, entry?.version ?? 0)
    return entry
  }

  /**
   * Replaces a value; resolves with its new version. When this rejects with anything but a `StaleEpochError` or a
   * `StaleVersionError`, the write may have happened.
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
      process: this.#process.identity,
    }
    const stored = await this.#request(`put ${key}`, () => store.put(write), signal)
    term?.sawVersion(key, stored.version)
    this.#cluster.tell({ kind: 'acknowledged', write: stored })
    return stored.version
  }

  /**
   * Makes the store refuse every fenced write of an older epoch from now on. Do this first in a term: what is read before it may be
   * changed by a write of the term before that is still under way.
   * @throws StaleEpochError when a newer epoch was seen.
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
