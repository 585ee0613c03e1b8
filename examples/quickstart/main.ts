import { createManager, loadKubeConfig } from 'tenure'
import { Janitor } from './janitor.ts'

// Run several of these: one sweeps, the others follow. `KUBECONFIG` or the Pod's service account says where.
const namespace = process.env['POD_NAMESPACE'] ?? 'default'
const kubeConfig = loadKubeConfig()

const manager = createManager({ lease: { name: 'janitor', namespace }, kubeConfig })
manager.register(() => new Janitor(kubeConfig, namespace))
await manager.start()
