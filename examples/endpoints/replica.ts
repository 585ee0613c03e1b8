import { endpoints } from '@tenure/kubernetes/endpoints'
import { createManager } from 'tenure'

/*
 * A replica of the Service `shop`. It finds its cluster by KUBECONFIG, and publishes the address that its argument names.
 */

const shop = endpoints({
  service: 'shop',
  namespace: 'demo',
  address: process.argv[2] ?? '',
  ports: [{ name: 'http', port: 8080 }],
  // Short, so that the example is quick. The default is 15 s.
  leaseDurationMs: 3000,
})

const manager = createManager({
  lease: { name: 'shop', namespace: 'demo' },
  ops: false,
  events: false,
  logLevel: 'error',
})
manager.use(shop)
// A replica whose parent is gone must not stay behind.
if (process.connected) process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await manager.start()
