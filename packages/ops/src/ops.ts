import type { Manager, Service, Term, TermExtension } from '@tenure/core'
import { register, type Registry } from 'prom-client'
import { TermLeaks } from './leaks/term-leaks.ts'
import { defineFeatureGateMetrics } from './metrics/feature-gate-metrics.ts'
import { GateMetrics } from './metrics/gate-metrics.ts'
import { LeaseMetrics } from './metrics/lease-metrics.ts'
import { createMetricsPage } from './metrics/metrics-page.ts'
import { collectFrom, hasProcessMetrics } from './metrics/metrics-source.ts'
import { processMetrics } from './metrics/process-metrics.ts'
import { type CollectedMetric, ServedRegistry } from './metrics/served-registry.ts'
import { StallMonitor } from './metrics/stall-monitor.ts'
import { TermMetrics } from './metrics/term-metrics.ts'
import { TermRegistries } from './metrics/term-registries.ts'
import { type OpsOptions, type ResolvedOpsOptions, resolveOpsOptions } from './ops-options.ts'
import { BoundedWaits } from './server/bounded-waits.ts'
import { type MetricsPage, type OpsAddress, OpsServer } from './server/ops-server.ts'

/** What the operations port shows of a manager. */
export type ObservedManager = Pick<Manager, 'livez' | 'readyz' | 'candidacies' | 'featureGates' | 'on'>

/** The operations port of one manager, or what a server of your own serves in its place. */
export interface Ops {
  /** Listens from its start to its stop. Goes first among the services, so that probes are answered while the others start. */
  readonly service: Service
  /** Gives every run of a controller the registry that `metrics(term)` returns. */
  readonly extension: TermExtension
  /** Metrics that live as long as the process. What is defined here is served; prom-client's global registry is not. */
  readonly registry: Registry
  /**
   * The page that `/metrics` serves: the metrics of Tenure, of all terms, of the process and of `registries`. For a server of your
   * own. Never rejects for a metric that fails: that one is left out.
   */
  metrics(): Promise<MetricsPage>
  /** Where the port is; undefined while the service is not running, and with `port: false`. */
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
  readonly #options: ResolvedOpsOptions
  readonly #server: OpsServer | undefined
  readonly #page: (waits: BoundedWaits) => Promise<MetricsPage>
  readonly #runs = new TermRegistries()
  readonly #leaseMetrics: LeaseMetrics
  readonly #termMetrics: TermMetrics
  readonly #gateMetrics: GateMetrics
  readonly #leaks: TermLeaks
  readonly #showGates: (gates: Manager['featureGates']) => void
  readonly #stalls: StallMonitor
  #manager: ObservedManager | undefined

  constructor(options: ResolvedOpsOptions) {
    const { registry } = this
    this.#options = options
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
    this.#page = createMetricsPage({ collect: (waits) => this.#collect(waits), logger: options.logger })
    const { port } = options
    this.#server = port === false ? undefined : new OpsServer({ ...options, port, metricsPage: this.#page })
    this.service = { name: 'ops', start: () => this.#start(), stop: () => this.#stop() }
    this.extension = { attach: (term) => this.#attach(term) }
  }

  get address(): OpsAddress | undefined {
    return this.#server?.address
  }

  async metrics(): Promise<MetricsPage> {
    const waits = new BoundedWaits(this.#options.clock, this.#options.checkTimeoutMs)
    try {
      return await this.#page(waits)
    } finally {
      waits.close()
    }
  }

  observe(manager: ObservedManager): () => void {
    this.#manager = manager
    this.#server?.attach(manager)
    this.#showGates(manager.featureGates)
    return manager.on((event) => {
      this.#leaseMetrics.observe(event)
      this.#termMetrics.observe(event)
      this.#leaks.observe(event)
    })
  }

  /** By now every candidacy is known. */
  async #start(): Promise<void> {
    await this.#server?.start()
    if (this.#ownsProcessMetrics) processMetrics()
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
    await this.#server?.stop()
  }

  async #collect(waits: BoundedWaits): Promise<readonly CollectedMetric[]> {
    const shared = this.#ownsProcessMetrics ? [processMetrics()] : []
    const own = [...shared, this.registry, ...this.#runs.registries]
    const collected = await Promise.all([
      ...own.map((registry) => registry.collect(waits)),
      ...this.#options.registries.map((source) => collectFrom(source, waits)),
    ])
    return collected.flat()
  }

  get #ownsProcessMetrics(): boolean {
    return this.#options.processMetrics && !this.#options.registries.some(hasProcessMetrics)
  }
}

function namesIn(registry: Registry): readonly string[] {
  return registry.getMetricsAsArray().map(({ name }) => name)
}
