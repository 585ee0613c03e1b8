import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { STORE_RESTORED_CHANNEL } from '@tenure/core/internal'
import { Counter, type Registry } from 'prom-client'

/** Counts how often a store of leases went back. Subscribes to the diagnostics channel between `start()` and `stop()`. */
export class StoreMetrics {
  readonly #restores: Counter

  constructor(registry: Registry) {
    this.#restores = new Counter({
      name: 'tenure_store_restores_total',
      help: 'How often this process saw the store of a lease at an older version than before, as after a restore from a backup. Every watch counts.',
      registers: [registry],
    })
  }

  start(): void {
    subscribe(STORE_RESTORED_CHANNEL, this.#onRestore)
  }

  stop(): void {
    unsubscribe(STORE_RESTORED_CHANNEL, this.#onRestore)
  }

  readonly #onRestore = (): void => this.#restores.inc()
}
