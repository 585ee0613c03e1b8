import type { Candidacy, Clock } from '@tenure/core'
import { Gauge, type Registry } from 'prom-client'

/** What the metric of the clock is made of. */
export interface ClockMetricsOptions {
  readonly candidacies: () => readonly Pick<Candidacy, 'lease'>[]
  readonly clock: Clock
}

/**
 * Defines the metric that shows the clock of this replica. No replica can see that its clock runs at another rate than those of others:
 * a monitoring system can, from the readings of all of them.
 */
export function defineClockMetrics(registry: Registry, { candidacies, clock }: ClockMetricsOptions): void {
  registry.registerMetric(
    new Gauge({
      name: 'tenure_clock_seconds',
      help: 'The clock by which this replica measures the lease, in seconds since an arbitrary start. Compare its rate among replicas: they may differ by `clockRateTolerance`.',
      labelNames: ['name'],
      registers: [],
      collect() {
        for (const { lease: name } of candidacies()) this.set({ name }, clock.now() / 1000)
      },
    }),
  )
}
