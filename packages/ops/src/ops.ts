import type { CandidacyEvent, Extension, ExtensionHost, Term } from '@tenure/core'
import type { FeatureGates } from '@tenure/core/internal'
import { register, type Registry } from 'prom-client'
import { TermLeaks } from './leaks/term-leaks.ts'
import { defineChoiceMetrics } from './metrics/choice-metrics.ts'
import { defineClockMetrics } from './metrics/clock-metrics.ts'
import { defineFeatureGateMetrics } from './metrics/feature-gate-metrics.ts'
import { GateMetrics } from './metrics/gate-metrics.ts'
import { LeaseMetrics } from './metrics/lease-metrics.ts'
import { createMetricsPage } from './metrics/metrics-page.ts'
import { collectFrom, hasProcessMetrics } from './metrics/metrics-source.ts'
import { processMetrics } from './metrics/process-metrics.ts'
import { type CollectedMetric, ServedRegistry } from './metrics/served-registry.ts'
import { StallMonitor } from './metrics/stall-monitor.ts'
import { StoreMetrics } from './metrics/store-metrics.ts'
import { TermMetrics } from './metrics/term-metrics.ts'
import { TermRegistries } from './metrics/term-registries.ts'
import { type OpsOptions, type ResolvedOpsOptions, resolveOpsOptions } from './ops-options.ts'
import { BoundedWaits } from './server/bounded-waits.ts'
import { type MetricsPage, type OpsAddress, OpsServer } from './server/ops-server.ts'

/**
 * The operations port of one manager: an extension for `manager.use()`. Use it first, so that probes get answers while the other
 * extensions start.
 */
export interface Ops extends Required<Extension> {
  /**
   * The registry for metrics that live as long as the process. The page serves what you define here. It does not serve prom-client's
   * global registry: use the option `registries`.
   */
  readonly registry: Registry
  /**
   * Makes the page that `/metrics` serves: the metrics of Tenure, of all terms, of the process and of `registries`. For a server of your
   * own. A metric that fails is left out and does not reject the page.
   */
  metrics(): Promise<MetricsPage>
  /** Where the port listens; undefined while the manager does not run, and with `port: false`. */
  readonly address: OpsAddress | undefined
}

/**
 * Makes the operations port: `/livez`, `/readyz`, `/healthz`, `/explain` and `/metrics`. Checks all options; does no I/O.
 *
 * @example
 * ```ts
 * const manager = new Manager({ identity, lease, createLock }).use(createOps({ port: 8080 }))
 * ```
 * @throws OptionsError naming the option that is wrong.
 */
export function createOps(options: OpsOptions = {}): Ops {
  return new OpsPort(resolveOpsOptions(options))
}

class OpsPort implements Ops {
  readonly name = 'ops'
  readonly group = 'servers'
  readonly registry: ServedRegistry = new ServedRegistry()
  readonly #options: ResolvedOpsOptions
  readonly #server: OpsServer | undefined
  readonly #page: (waits: BoundedWaits) => Promise<MetricsPage>
  readonly #runs = new TermRegistries()
  readonly #leaseMetrics: LeaseMetrics
  readonly #termMetrics: TermMetrics
  readonly #gateMetrics: GateMetrics
  readonly #storeMetrics: StoreMetrics
  readonly #leaks: TermLeaks
  readonly #showFeatureGates: (gates: FeatureGates) => void
  readonly #stalls: StallMonitor
  #host: ExtensionHost | undefined

  constructor(options: ResolvedOpsOptions) {
    const { registry } = this
    this.#options = options
    const candidacies = () => this.#host?.candidacies ?? []
    this.#leaseMetrics = new LeaseMetrics(registry, candidacies)
    defineChoiceMetrics(registry, candidacies)
    defineClockMetrics(registry, { candidacies, clock: options.clock })
    this.#termMetrics = new TermMetrics({
      registry,
      candidacies,
      terms: () => this.#runs.terms,
      clock: options.clock,
    })
    this.#storeMetrics = new StoreMetrics(registry)
    this.#gateMetrics = new GateMetrics({ registry, termOf: (term) => this.#runs.termOf(term) })
    this.#leaks = new TermLeaks({
      ...options,
      registry,
      terms: () => this.#runs.terms,
      metricNames: () => [registry, register].flatMap(namesIn),
      healthCheckNames: () => [this.#host?.livez, this.#host?.readyz].flatMap((probe) => probe?.names ?? []),
    })
    this.#showFeatureGates = defineFeatureGateMetrics(registry)
    this.#stalls = new StallMonitor(registry, options.clock, options.logger)
    this.#page = createMetricsPage({ collect: (waits) => this.#collect(waits), logger: options.logger })
    const { port } = options
    this.#server = port === false ? undefined : new OpsServer({ ...options, port, metricsPage: this.#page })
  }

  get address(): OpsAddress | undefined {
    return this.#server?.address
  }

  async metrics(): Promise<MetricsPage> {
    return this.#page(new BoundedWaits(this.#options.clock, this.#options.checkTimeoutMs))
  }

  /** All candidacies are known at this point. */
  async start(host: ExtensionHost): Promise<void> {
    this.#host = host
    await this.#server?.start(host)
    if (this.#ownsProcessMetrics) processMetrics()
    this.#showFeatureGates(host.featureGates)
    this.#leaseMetrics.initialise()
    this.#termMetrics.initialise()
    this.#gateMetrics.start()
    this.#storeMetrics.start()
    this.#stalls.start()
  }

  async stop(): Promise<void> {
    this.#stalls.stop()
    this.#leaks.stop()
    this.#gateMetrics.stop()
    this.#storeMetrics.stop()
    await this.#server?.stop()
  }

  onEvent(event: CandidacyEvent): void {
    this.#leaseMetrics.observe(event)
    this.#termMetrics.observe(event)
    this.#leaks.observe(event)
  }

  onTerm(term: Term): () => void {
    const detachments = [this.#leaks.onTerm(term), this.#runs.onTerm(term)]
    return () => {
      for (const detach of detachments) detach()
    }
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
