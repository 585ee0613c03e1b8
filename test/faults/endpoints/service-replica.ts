/** A replica of a Service without a selector, as a user would write it. Its argument has its settings. */
import { endpoints } from '@tenure/kubernetes/endpoints'
import { createManager } from 'tenure'
import type { ServiceReplicaSetup } from './service-fleet.ts'

const { service, namespace, address, ports, mode, leaseDurationMs }: ServiceReplicaSetup = JSON.parse(
  process.argv[2] ?? '{}',
)
const timing = mode === 'lease' ? { leaseDurationMs } : {}
const manager = createManager({
  lease: { name: service, namespace },
  ops: false,
  events: false,
  logLevel: 'warn',
  // Without the variables of the test run, some of which begin like those of Tenure.
  env: { KUBECONFIG: process.env['KUBECONFIG'], TENURE_TRACE: process.env['TENURE_TRACE'] },
})
manager.use(endpoints({ service, namespace, address, ports, mode, ...timing }))
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await manager.start()
