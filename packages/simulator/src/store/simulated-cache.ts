import type { Term } from '@tenure/core'
import { CacheBarrier, onAbort, OTHER_COLLECTIONS } from '@tenure/core/internal'
import { actors } from '../actors.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { latencyMs, OPEN } from '../cluster/network.ts'
import type { ProcessWatch, SimulatedProcess } from '../cluster/simulated-process.ts'
import type { Entry } from './simulated-store.ts'
import type { StoreWrite } from './store-write.ts'

/** The name under which terms note what they write. The cache has all keys, so they are one collection. */
export const COLLECTION = 'keys'

/** How late an event of the watch is at times. */
const MAX_LATE_MS = 400
const LATE_SHARE = 0.2

/** How long the cache waits after a failed list. */
const RETRY_MS = 300

/** The cache notices a silent watch after at most this time. */
const MAX_SILENCE_MS = 15_000

/** The delay before the watch is resumed. */
const RESUME_MS = 1000

/** The share of resumed watches for which the server has forgotten the events since. The cache lists again. */
const EXPIRED_SHARE = 0.3

/** A write on its way to the cache. */
interface Event {
  readonly dueAt: number
  readonly write: StoreWrite
}

/**
 * A copy of the database that a process keeps from its start on, as an informer of a warm-up: one list, then a watch. Its events come in
 * order, and some come late. A watch that was disconnected is resumed, or the cache lists again.
 */
export class SimulatedCache implements ProcessWatch {
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #events: Event[] = []
  readonly #barriers = new Set<CacheBarrier>()
  readonly #listed = Promise.withResolvers<void>()
  #entries = new Map<string, Entry>()
  #version = 0
  #lists = 0
  /** Whether the events that come now follow what the cache shows. */
  #isContinuous = false
  #deliveredAt = 0
  #lateUntil = 0
  /** Until then the watch is disconnected. */
  #downUntil = 0

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster
    this.#process = process
    process.watches.add(this)
    cluster.store.watch(process, (write) => this.#sent(write))
    void this.#list()
  }

  /** The last known value of a key. */
  get(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    const version = entry?.version ?? 0
    const term = actors.getStore()?.term
    term?.views.set(key, version)
    if (term?.isCacheSynced === true) {
      term.sawVersion(key, version)
      this.#cluster.tell({ kind: 'cache-read', term, key, version })
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

  /** Disconnects the watch. It is resumed at its last event, or the cache lists again. */
  break(_cause: Error, noticeMs: number): void {
    const { now, random } = this.#cluster
    this.#downUntil = Math.max(this.#downUntil, now + noticeMs + random() * RESUME_MS)
    if (random() >= EXPIRED_SHARE) return
    this.#isContinuous = false
    this.#process.post(this.#downUntil, () => void this.#list(), 'network')
  }

  /** Shows nothing for a while, then disconnects. */
  goDeaf(ms: number): void {
    this.break(new Error('no message for too long'), Math.min(ms, MAX_SILENCE_MS))
  }

  /** Shows events late until `ms` from now. */
  delay(ms: number): void {
    this.#lateUntil = this.#cluster.now + ms
  }

  /** Ends every fault. */
  heal(): void {
    this.#lateUntil = 0
    this.#downUntil = 0
    this.#process.post(this.#cluster.now, () => this.#deliver(), 'network')
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
    this.#isContinuous = true
    this.#listed.resolve()
    for (const barrier of this.#barriers) barrier.listed(String(version))
    this.#deliver()
  }

  #sent(write: StoreWrite): void {
    const { now, random } = this.#cluster
    const isLate = random() < LATE_SHARE
    const lateMs = Math.max(isLate ? MAX_LATE_MS : 0, this.#lateUntil - now) * random()
    const dueAt = Math.max(this.#deliveredAt, now + lateMs + latencyMs(random))
    this.#deliveredAt = dueAt
    this.#events.push({ dueAt, write })
    this.#process.post(dueAt, () => this.#deliver(), 'network')
  }

  /** Shows the events that have arrived. */
  #deliver(): void {
    const { now, random } = this.#cluster
    const upAt = Math.max(this.#process.cutOffUntil, this.#downUntil)
    if (now < upAt) {
      if (this.#events.length > 0) this.#process.post(upAt + latencyMs(random), () => this.#deliver(), 'network')
      return
    }
    while (this.#isContinuous && (this.#events[0]?.dueAt ?? Infinity) <= now) {
      const write = this.#events.shift()?.write
      if (write !== undefined && write.version > this.#version) this.#apply(write)
    }
  }

  #apply(write: StoreWrite): void {
    this.#entries.set(write.key, write)
    this.#version = write.version
    for (const barrier of this.#barriers) barrier.reached(String(write.version))
  }
}
