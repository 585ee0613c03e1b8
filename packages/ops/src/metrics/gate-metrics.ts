import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Term } from '@tenure/core'
import {
  FENCE_REFUSAL_CHANNEL,
  type FenceRefusal,
  GATE_REFUSAL_CHANNEL,
  type GatedTerm,
  type GateRefusal,
} from '@tenure/core/internal'
import { Counter, type Registry } from 'prom-client'

/** What {@link GateMetrics} are made of. */
export interface GateMetricsOptions {
  readonly registry: Registry
  /** Returns the term of a refusal if it belongs to this manager, also after the term has ended. */
  readonly termOf: (term: object) => Pick<Term, 'controller'> | undefined
}

/** Counts the writes that gates and fences refuse. Subscribes to the diagnostics channels between `start()` and `stop()`. */
export class GateMetrics {
  readonly #termOf: GateMetricsOptions['termOf']
  readonly #refusals: Counter<'controller' | 'verb'>
  readonly #fenceRefusals: Counter<'controller' | 'verb'>

  constructor({ registry, termOf }: GateMetricsOptions) {
    this.#termOf = termOf
    this.#refusals = new Counter({
      name: 'tenure_gate_refusals_total',
      help: 'Writes that the gate of an ended term refused or aborted, by controller and HTTP method; CONNECT is a session such as exec.',
      labelNames: ['controller', 'verb'],
      registers: [registry],
    })
    this.#fenceRefusals = new Counter({
      name: 'tenure_fence_refusals_total',
      help: 'Writes of typed clients that passed the gate and that a fence on the API server refused, by controller and HTTP method.',
      labelNames: ['controller', 'verb'],
      registers: [registry],
    })
  }

  start(): void {
    subscribe(GATE_REFUSAL_CHANNEL, this.#onRefusal)
    subscribe(FENCE_REFUSAL_CHANNEL, this.#onFenceRefusal)
  }

  stop(): void {
    unsubscribe(GATE_REFUSAL_CHANNEL, this.#onRefusal)
    unsubscribe(FENCE_REFUSAL_CHANNEL, this.#onFenceRefusal)
  }

  readonly #onRefusal = (message: unknown): void => {
    const { term, refusal } = message as GateRefusal
    this.#count(this.#refusals, term, refusal.method)
  }

  readonly #onFenceRefusal = (message: unknown): void => {
    const { term, method } = message as FenceRefusal
    this.#count(this.#fenceRefusals, term, method)
  }

  #count(refusals: Counter<'controller' | 'verb'>, term: GatedTerm, method: string): void {
    const served = this.#termOf(term)
    if (served !== undefined) refusals.inc({ controller: served.controller, verb: method.toUpperCase() })
  }
}
