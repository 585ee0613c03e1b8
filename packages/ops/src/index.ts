import '@tenure/core/supported-node'

export { createOps, type Ops } from './ops.ts'
export type { OpsOptions } from './ops-options.ts'
export type { MetricsPage } from './server/ops-server.ts'
export type { MetricsSource } from './metrics/metrics-source.ts'
export { metrics, TermRegistries } from './metrics/term-registries.ts'
