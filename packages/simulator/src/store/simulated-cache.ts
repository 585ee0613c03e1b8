import type { Term } from '@tenure/core'
import { CacheBarrier, onAbort, OTHER_COLLECTIONS } from '@tenure/core/internal'
import { actors } from '../actors.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { latencyMs, OPEN } from '../cluster/network.ts'
import type { SimulatedProcess } from '../cluster/simulated-process.ts'
import type { Entry } from './simulated-store.ts'
import type { StoreWrite } from './store-write.ts'

/** The name under which terms note what they write. The cache has all keys, so they are one collection. */
export const COLLECTION = 'keys'

/** How late an event of the watch is at times. */
const MAX_LATE_MS = 400
const LATE_SHARE = 0.2

/** How long the cache waits after a failed list. */
const RETRY_MS = 300

/**
 * A copy of the database that a process keeps from its start on, as an informer of a warm-up: one list, then a watch, whose events may
 * come late, in order, and wait for the end of a partition.
 */
export class SimulatedCache {
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #events: StoreWrite[] = []
  readonly #barriers = new Set<CacheBarrier>()
  readonly #listed = Promise.withResolvers<void>()
  #entries = new Map<string, Entry>()
  #version = 0
  #deliveredAt = 0
  #lists = 0

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster
    this.#process = process
    cluster.store.watch(process, (write) => this.#sent(write))
    void this.#list()
  }

  /** The last known value of a key. */
  get(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    const term = actors.getStore()?.term
    if (term?.isCacheSynced === true) {
      term.sawVersion(key, entry?.version ?? 0)
      this.#cluster.tell({ kind: 'cache-read', term, key, version: entry?.version ?? 0 })
    }
    return entry
  }

  /**
   * Resolves when the cache shows what the terms before have written, as `synced` of an informer that a warm-up started. Rejects with the
   * reason of `term.signal` if that aborts first.
   */
  async synced(term: Term): Promise<void> {
    const life = actors.getStore()?.term
    const versions = term.predecessor?.versions ?? new Map([[OTHER_COLLECTIONS, '']])
    const written = versions.get(COLLECTION) ?? versions.get(OTHER_COLLECTIONS)
    const barrier = new CacheBarrier({
      clock: this.#process,
      isSelective: false,
      readAgain: () => void this.#list(),
    })
    this.#barriers.add(barrier)
    const ended = Promise.withResolvers<never>()
    const forget = onAbort(term.signal, () => {
      barrier.end(term.signal.reason)
      ended.reject(term.signal.reason)
    })
    try {
      await Promise.race([this.#listed.promise, ended.promise])
      barrier.reached(String(this.#version))
      await barrier.wait(written === undefined ? [] : [written])
    } finally {
      forget()
      this.#barriers.delete(barrier)
    }
    if (written === '') life?.noteVersion(COLLECTION, String(this.#version))
    if (life !== undefined) life.isCacheSynced = true
  }

  /** Lists until an answer comes. A later call replaces an earlier one. */
  async #list(): Promise<void> {
    const { network, store, timing } = this.#cluster
    const process = this.#process
    const list = ++this.#lists
    while (process.isAlive && list === this.#lists) {
      const ending = new AbortController()
      const timeout = process.setTimer(timing.requestTimeoutMs, () => ending.abort(new Error('the list timed out')))
      try {
        const listed = await network.request({
          process,
          server: OPEN,
          what: 'list',
          apply: () => store.list(),
          signal: ending.signal,
        })
        if (list === this.#lists) this.#show(listed)
        return
      } catch {
        await new Promise<void>((resolve) => process.setTimer(RETRY_MS, resolve))
      } finally {
        timeout.cancel()
      }
    }
  }

  #show({ entries, version }: { readonly entries: ReadonlyMap<string, Entry>; readonly version: number }): void {
    if (version >= this.#version) {
      this.#entries = new Map(entries)
      this.#version = version
    }
    this.#listed.resolve()
    for (const barrier of this.#barriers) barrier.listed(String(version))
  }

  #sent(write: StoreWrite): void {
    const { now, random } = this.#cluster
    const lateMs = random() < LATE_SHARE ? random() * MAX_LATE_MS : 0
    this.#deliveredAt = Math.max(this.#deliveredAt, now + lateMs + latencyMs(random))
    this.#events.push(write)
    this.#process.post(this.#deliveredAt, () => this.#deliver(), 'network')
  }

  #deliver(): void {
    const { now, random } = this.#cluster
    if (this.#process.isCutOff) {
      const at = Math.max(now, this.#process.cutOffUntil) + latencyMs(random)
      this.#process.post(at, () => this.#deliver(), 'network')
      return
    }
    const event = this.#events.shift()
    if (event === undefined || event.version <= this.#version) return
    this.#entries.set(event.key, event)
    this.#version = event.version
    for (const barrier of this.#barriers) barrier.reached(String(event.version))
  }
}
