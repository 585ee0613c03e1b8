import { createManager, loadKubeConfig } from 'tenure'
import { Janitor } from './janitor.ts'

const namespace = 'default'
const manager = createManager({ lease: { name: 'janitor', namespace } })
manager.register(() => new Janitor(loadKubeConfig(), namespace))
await manager.start()
