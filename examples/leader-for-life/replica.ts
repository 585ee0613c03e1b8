import { lifeLock } from '@tenure/kubernetes'
import { Controller, createManager, type Term } from 'tenure'

/*
 * A replica that leads for life. It finds its cluster by KUBECONFIG and its Pod by POD_NAME, POD_UID and POD_NAMESPACE, which the downward API
 * sets in a cluster. It tells its parent, if it has one, what it does.
 */

class Janitor extends Controller {
  override readonly name = 'janitor'

  override async run(term: Term): Promise<void> {
    process.send?.({ kind: 'leads', epoch: String(term.epoch) })
    await term.every(200, () => {}) // the work of a janitor
  }
}

const manager = createManager({
  // Nobody can have led before this example. In a cluster, leave `missingLease` out.
  lease: { name: 'janitor', leaseDurationMs: 4000, renewDeadlineMs: 3000, retryPeriodMs: 500, missingLease: 'create' },
  lock: ({ name, namespace }, { logger }) => lifeLock({ name, namespace, logger }),
  ops: false,
})
manager.register(() => new Janitor())
manager.on((event) => {
  const leader = event.kind === 'leader-observed' ? event.identity : undefined
  if (leader !== undefined && leader !== manager.identity) process.send?.({ kind: 'follows' })
})
// A replica whose parent is gone must not stay behind.
if (process.connected) process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await manager.start()
