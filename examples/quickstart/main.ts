import { createManager, loadKubeConfig } from 'tenure'
import { Janitor } from './janitor.ts'

const namespace = process.env['POD_NAMESPACE'] ?? 'default'
const manager = createManager({ lease: { name: 'janitor', namespace } })
// Built when a term begins: by then the manager has found the cluster, or has said why it could not.
manager.register(() => new Janitor(loadKubeConfig(), namespace))
await manager.start()
