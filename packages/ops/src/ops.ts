import type { Manager, Service, Term, TermExtension } from '@tenure/core'
import { register, type Registry } from 'prom-client'
import { TermLeaks } from './leaks/term-leaks.ts'
import { defineFeatureGateMetrics } from './metrics/feature-gate-metrics.ts'
import { GateMetrics } from './metrics/gate-metrics.ts'
import { LeaseMetrics } from './metrics/lease-metrics.ts'
import { createMetricsPage } from './metrics/metrics-page.ts'
import { processMetrics } from './metrics/process-metrics.ts'
import { ServedRegistry } from './metrics/served-registry.ts'
import { StallMonitor } from './metrics/stall-monitor.ts'
import { TermMetrics } from './metrics/term-metrics.ts'
import { TermRegistries } from './metrics/term-registries.ts'
import { type OpsOptions, type ResolvedOpsOptions, resolveOpsOptions } from './ops-options.ts'
import { type OpsAddress, OpsServer } from './server/ops-server.ts'

/** What the operations port shows of a manager. */
export type ObservedManager = Pick<Manager, 'livez' | 'readyz' | 'candidacies' | 'featureGates' | 'on'>

/** The operations port of one manager. */
export interface Ops {
  /** Listens from its start to its stop. Goes first among the services, so that probes are answered while the others start. */
  readonly service: Service
  /** Gives every run of a controller the registry that `metrics(term)` returns. */
  readonly extension: TermExtension
  /** Metrics that live as long as the process. What is defined here is served; prom-client's global registry is not. */
  readonly registry: Registry
  /** Where the port is; undefined while the service is not running. */
  readonly address: OpsAddress | undefined
  /**
   * Serves the health checks and the metrics of a manager. Has to be called before the manager starts. Returns the function that
   * ends the counting.
   */
  observe(manager: ObservedManager): () => void
}

/**
 * Makes the operations port: `/livez`, `/readyz`, `/healthz` and `/metrics`. Checks all options; does no I/O.
 *
 * @example
 * ```ts
 * const ops = createOps({ port: 8080 })
 * const manager = new Manager({ identity, lease, createLock, services: [ops.service], extensions: [ops.extension] })
 * ops.observe(manager)
 * ```
 * @throws OptionsError naming the option that is wrong.
 */
export function createOps(options: OpsOptions): Ops {
  return new OpsPort(resolveOpsOptions(options))
}

class OpsPort implements Ops {
  readonly service: Service
  readonly extension: TermExtension
  readonly registry: ServedRegistry = new ServedRegistry()
  readonly #server: OpsServer
  readonly #runs = new TermRegistries()
  readonly #leaseMetrics: LeaseMetrics
  readonly #termMetrics: TermMetrics
  readonly #gateMetrics: GateMetrics
  readonly #leaks: TermLeaks
  readonly #showGates: (gates: Manager['featureGates']) => void
  readonly #stalls: StallMonitor
  readonly #withProcessMetrics: boolean
  #manager: ObservedManager | undefined

  constructor(options: ResolvedOpsOptions) {
    const { registry } = this
    this.#withProcessMetrics = options.processMetrics
    const candidacies = () => this.#manager?.candidacies ?? []
    this.#leaseMetrics = new LeaseMetrics(registry, candidacies)
    this.#termMetrics = new TermMetrics({
      registry,
      candidacies,
      terms: () => this.#runs.terms,
    })
    this.#gateMetrics = new GateMetrics({ registry, termOf: (term) => this.#runs.termOf(term) })
    this.#leaks = new TermLeaks({
      ...options,
      registry,
      terms: () => this.#runs.terms,
      metricNames: () => [registry, register].flatMap(namesIn),
      healthCheckNames: () => [...(this.#manager?.livez.names ?? []), ...(this.#manager?.readyz.names ?? [])],
    })
    this.#showGates = defineFeatureGateMetrics(registry)
    this.#stalls = new StallMonitor(registry, options.clock, options.logger)
    const metricsPage = createMetricsPage({ registries: () => this.#registries(), logger: options.logger })
    this.#server = new OpsServer({ ...options, metricsPage })
    this.service = { name: 'ops', start: () => this.#start(), stop: () => this.#stop() }
    this.extension = { attach: (term) => this.#attach(term) }
  }

  get address(): OpsAddress | undefined {
    return this.#server.address
  }

  observe(manager: ObservedManager): () => void {
    this.#manager = manager
    this.#server.attach(manager)
    this.#showGates(manager.featureGates)
    return manager.on((event) => {
      this.#leaseMetrics.observe(event)
      this.#termMetrics.observe(event)
      this.#leaks.observe(event)
    })
  }

  /** By now every candidacy is known. */
  async #start(): Promise<void> {
    await this.#server.start()
    if (this.#withProcessMetrics) processMetrics()
    this.#leaseMetrics.initialise()
    this.#termMetrics.initialise()
    this.#gateMetrics.start()
    this.#stalls.start()
  }

  #attach(term: Term): () => void {
    const detachments = [this.#leaks.attach(term), this.#runs.attach(term)]
    return () => {
      for (const detach of detachments) detach()
    }
  }

  async #stop(): Promise<void> {
    this.#stalls.stop()
    this.#leaks.stop()
    this.#gateMetrics.stop()
    await this.#server.stop()
  }

  #registries(): readonly ServedRegistry[] {
    const shared = this.#withProcessMetrics ? [processMetrics()] : []
    return [...shared, this.registry, ...this.#runs.registries]
  }
}

function namesIn(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map(({ name }) => name)
}
