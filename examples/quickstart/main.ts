import { createManager } from 'tenure'
import { Janitor } from './janitor.ts'

const namespace = process.env['POD_NAMESPACE'] ?? 'default'
const manager = createManager({ lease: { name: 'janitor', namespace } })
// Built when a term begins: by then the manager has found the cluster.
manager.register(() => new Janitor(manager.kubeConfig, namespace))
await manager.start()
