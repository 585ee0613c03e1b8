import type { Cluster } from './cluster.ts'
import { ownerOf } from './stored-lease.ts'

/** How long it takes at least until the Pod of an ended process is gone. */
const LEAST_MS = 1000

/**
 * Deletes a lease that a process has kept for life some time after the process has ended: by then its Pod is gone. A lease that is released
 * still belongs to the process that released it.
 */
export class GarbageCollector {
  readonly #cluster: Cluster
  readonly #lease: string

  constructor(cluster: Cluster, lease: string) {
    this.#cluster = cluster
    this.#lease = lease
    this.#watch()
  }

  #watch(): void {
    const { agenda, server } = this.#cluster
    const look = () => this.look()
    const stop = server.watch(this.#lease, look, () => {
      stop()
      agenda.add(this.#cluster.now, () => this.#watch())
    })
    look()
  }

  /** Looks at the lease after a change of it, and when a process has ended. */
  look(): void {
    const { agenda, now, random, timing } = this.#cluster
    const owner = this.#deadOwner
    if (owner === undefined) return
    agenda.add(now + LEAST_MS + (timing.leaseDurationMs - LEAST_MS) * random() ** 2, () => {
      if (this.#deadOwner !== owner) return
      this.#cluster.say('garbage collector', `deletes the lease of ${owner}`)
      this.#cluster.server.delete(this.#lease)
    })
  }

  /** The owner of the lease, if it has ended. */
  get #deadOwner(): string | undefined {
    const owner = ownerOf(this.#cluster.server.object(this.#lease))
    return owner === undefined || this.#cluster.processOf(owner) !== undefined ? undefined : owner
  }
}
