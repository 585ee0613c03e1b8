import { setTimeout as sleep } from 'node:timers/promises'
import type { Api, WatchEvent } from './api.ts'

/** A change of the holder of the lease. */
interface Holding {
  readonly version: bigint
  readonly holder: string
}

/** A change of the counter. */
interface Write {
  readonly version: bigint
  readonly id: string
  readonly epoch: bigint
  readonly count: number
  readonly isAdd: boolean
  /** The newest term that had written before. */
  readonly newest: bigint
}

/** The observations in one namespace. */
export interface Verdict {
  /**
   * Additions by a term after another holder had acquired the lease, or after its own release. If the next term had not written yet, it
   * reads them first.
   */
  readonly stale: number
  /** Additions that the server accepted. */
  readonly added: number
  /** Additions that a later write undid. */
  readonly lost: number
  /** Additions by an older term after a newer term had written. The term check prevents these. */
  readonly overlaps: number
}

/** The data of a counter that nobody has written. */
const NEW_COUNTER = { id: '', epoch: '0', count: '0', claimed: '0' }

/**
 * Watches a lease and the counter of its holders, on its own connections.
 *
 * Judges by the order of resource versions, which all objects of one etcd share. Ignores reports of replicas and times.
 */
export class Observer implements Disposable {
  readonly #api: Api
  readonly #holdings: Holding[] = []
  readonly #writes: Write[] = []
  #added = 0
  #gap = { from: 0, longestMs: 0 }
  #isOver = false
  #deleted = 0n
  #lastKey = ''
  #newest = 0n

  private constructor(api: Api) {
    this.#api = api
  }

  static async start(api: Api, namespace: string): Promise<Observer> {
    const observer = new Observer(api)
    await Promise.all([
      observer.#follow(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, (event) =>
        observer.#sawLease(event),
      ),
      observer.#follow(`/api/v1/namespaces/${namespace}/configmaps`, (event) => observer.#sawCounter(event)),
    ])
    return observer
  }

  /** The holder of the lease, or the empty string, and the version at which it acquired the lease. */
  get holding(): Holding {
    return this.#holdings.at(-1) ?? { version: 0n, holder: '' }
  }

  /** How many additions were seen. */
  get added(): number {
    return this.#added
  }

  /** Starts to measure {@link Observer.longestGapMs}. */
  countGaps(): void {
    this.#gap = { from: performance.now(), longestMs: 0 }
  }

  /** The longest time without an addition since {@link Observer.countGaps}, up to the last addition, in milliseconds. */
  get longestGapMs(): number {
    return this.#gap.longestMs
  }

  /** Whether the current holder has added. */
  get isWorking(): boolean {
    const { version, holder } = this.holding
    const last = this.#writes.at(-1)
    return holder !== '' && last !== undefined && last.epoch === version && last.isAdd
  }

  /** Judges all observations after version `since`. */
  verdict(since = 0n): Verdict {
    const adds = this.#writes.filter(({ isAdd, version }) => isAdd && version > since)
    const before = this.#writes.findLast(({ version }) => version <= since)?.count ?? 0
    return {
      stale: adds.filter((write) => this.#isStale(write)).length,
      added: adds.length,
      lost: adds.length - ((adds.at(-1)?.count ?? before) - before),
      overlaps: adds.filter(({ epoch, newest }) => epoch < newest).length,
    }
  }

  /** The version of the last observation. */
  get version(): bigint {
    const [holding, write] = [this.holding.version, this.#writes.at(-1)?.version ?? 0n]
    return holding > write ? holding : write
  }

  [Symbol.dispose](): void {
    this.#isOver = true
  }

  /** Whether the holder changed between the beginning of the term and the write. */
  #isStale({ epoch, version }: Write): boolean {
    return this.#holdings.some((holding) => holding.version > epoch && holding.version < version)
  }

  #sawLease({ type, object }: WatchEvent): void {
    const version = BigInt(object.metadata.resourceVersion)
    const holder = type === 'DELETED' ? '' : String(object.spec?.['holderIdentity'] ?? '')
    // A leader may continue until it sees the deletion. Only the next holder ends its term.
    if (type === 'DELETED') return void (this.#deleted = version)
    const key = `${holder} ${String(object.spec?.['acquireTime'])}`
    if (key === this.#lastKey && this.#deleted <= this.holding.version) return
    this.#lastKey = key
    this.#holdings.push({ version, holder })
  }

  #sawCounter({ type, object }: WatchEvent): void {
    if (type === 'DELETED' || object.metadata.name !== 'counter') return
    const counter = { ...NEW_COUNTER, ...object.data }
    const { id } = counter
    const isAdd = id !== '' && id !== this.#writes.at(-1)?.id
    if (isAdd) this.#sawAddition()
    const version = BigInt(object.metadata.resourceVersion)
    const [epoch, claimed] = [BigInt(counter.epoch), BigInt(counter.claimed)]
    this.#writes.push({ version, id, epoch, count: Number(counter.count), isAdd, newest: this.#newest })
    for (const term of [epoch, claimed]) if (term > this.#newest) this.#newest = term
  }

  #sawAddition(): void {
    const now = performance.now()
    const { from, longestMs } = this.#gap
    this.#gap = { from: now, longestMs: Math.max(longestMs, now - from) }
    this.#added += 1
  }

  /** Watches from now on. Reconnects without losing an event. */
  async #follow(path: string, seen: (event: WatchEvent) => void): Promise<void> {
    let version = (await this.#api.expect('GET', path)).metadata.resourceVersion
    const watch = async (): Promise<void> => {
      const { ended } = await this.#api.watch(`${path}?watch=true&resourceVersion=${version}`, (event) => {
        if (event.type === 'ERROR') throw new Error(`The watch of ${path} failed: ${JSON.stringify(event.object)}`)
        version = event.object.metadata.resourceVersion
        seen(event)
      })
      void ended.then(again, again)
    }
    const again = async (): Promise<void> => {
      while (!this.#isOver) {
        try {
          return await watch()
        } catch {
          await sleep(50)
        }
      }
    }
    await watch()
  }
}
