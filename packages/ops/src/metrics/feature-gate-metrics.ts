import type { FeatureGates } from '@tenure/core/internal'
import { Gauge, type Registry } from 'prom-client'

/** Defines the metric that shows which feature gates are enabled, and returns the function that sets it. */
export function defineFeatureGateMetrics(registry: Registry): (gates: FeatureGates) => void {
  const enabled = new Gauge({
    name: 'kubernetes_feature_enabled',
    help: 'This metric records the data about the stage and enablement of a feature gate.',
    labelNames: ['name', 'stage'],
    registers: [registry],
  })
  return (gates) => {
    for (const [name, gate] of Object.entries(gates)) enabled.set({ name, stage: gate.stage }, gate.enabled ? 1 : 0)
  }
}
