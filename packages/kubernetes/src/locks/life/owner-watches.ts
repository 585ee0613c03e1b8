import type { Clock, LockWatch, Logger, PresentLease } from '@tenure/core'
import { type HolderObserver, type LeaseHolder, silentLogger, systemClock } from '@tenure/core/internal'
import { isOf, OwnerWatch, type OwnerWatchOptions } from './owner-watch.ts'
import { PodNodes } from './pod-nodes.ts'

/** How to watch the Pods of holders. */
export interface OwnerWatchesOptions extends Omit<OwnerWatchOptions, 'clock' | 'logger' | 'nodes'> {
  /** @default the clock of this machine */
  readonly clock?: Clock | undefined
  /** @default a logger that drops every line */
  readonly logger?: Logger | undefined
}

/**
 * Follows the Pods of holders.
 *
 * 1. The proof of a death comes from the container of the holder alone, as for a Lease.
 * 2. If a holder has only most likely ended, or cannot be reached, the ConfigMap of this very holder is deleted, and nothing else. Its next
 *    leader waits.
 */
export class OwnerWatches {
  readonly #options: OwnerWatchOptions
  readonly #running = new Set<LockWatch>()
  #seen: PresentLease | undefined

  constructor({ clock = systemClock, logger = silentLogger, ...options }: OwnerWatchesOptions) {
    this.#options = { ...options, clock, logger, nodes: new PodNodes(options.client, logger) }
  }

  /** Takes in the ConfigMap as it was last seen. */
  see(lease: PresentLease): void {
    this.#seen = lease
  }

  /** Watches the Pod of a holder that was seen, until the returned handle is closed. */
  watch(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    const lease = this.#seen
    const proof = this.#options.proof.watchHolder(holder, observer)
    const owner = lease !== undefined && isOf(holder, lease) ? new OwnerWatch(this.#options, holder, lease) : undefined
    const watch: LockWatch = {
      close: async () => {
        this.#running.delete(watch)
        await Promise.all([proof.close(), owner?.close()])
      },
    }
    this.#running.add(watch)
    return watch
  }

  /** Closes all watches. Resolves when they have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((watch) => watch.close()))
  }
}
