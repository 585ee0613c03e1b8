import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Term } from '@tenure/core'
import { GATE_REFUSAL_CHANNEL, type GateRefusal } from '@tenure/core/internal'
import { Counter, type Registry } from 'prom-client'

/** What {@link GateMetrics} are made of. */
export interface GateMetricsOptions {
  readonly registry: Registry
  /** Returns the term of a refusal if it belongs to this manager, also after the term has ended. */
  readonly termOf: (term: object) => Pick<Term, 'controller'> | undefined
}

/** Counts the writes that gates refuse or abort. Subscribes to the diagnostics channel between `start()` and `stop()`. */
export class GateMetrics {
  readonly #termOf: GateMetricsOptions['termOf']
  readonly #refusals: Counter<'controller' | 'verb'>

  constructor({ registry, termOf }: GateMetricsOptions) {
    this.#termOf = termOf
    this.#refusals = new Counter({
      name: 'tenure_gate_refusals_total',
      help: 'Writes that the gate of an ended term refused or aborted, by controller and HTTP method; CONNECT is a session such as exec.',
      labelNames: ['controller', 'verb'],
      registers: [registry],
    })
  }

  start(): void {
    subscribe(GATE_REFUSAL_CHANNEL, this.#onRefusal)
  }

  stop(): void {
    unsubscribe(GATE_REFUSAL_CHANNEL, this.#onRefusal)
  }

  readonly #onRefusal = (message: unknown): void => {
    const { term, refusal } = message as GateRefusal
    const served = this.#termOf(term)
    if (served !== undefined) this.#refusals.inc({ controller: served.controller, verb: refusal.method.toUpperCase() })
  }
}
