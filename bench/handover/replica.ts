/** A replica process. It writes an object as soon as its controller runs, and reports the answer to its parent. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api } from '@kubernetes/client-node'
import { lifeLock } from '@tenure/kubernetes'
import { Controller, createManager, type CreateManagerOptions, gated, loadKubeConfig, type Term } from 'tenure'
import type { ReplicaNews, ReplicaSetup } from './replica-process.ts'

const setup: ReplicaSetup = JSON.parse(process.argv[2] ?? '{}')
const { namespace } = setup.lease

class Writer extends Controller {
  override readonly name = 'writer'

  override async run(term: Term): Promise<void> {
    const api = gated(term, loadKubeConfig({})).makeApiClient(CoreV1Api)
    const name = `written-${term.epoch}`
    await api.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })
    tell({ kind: 'wrote' })
    await term.every(60_000, () => {})
  }
}

const lock: CreateManagerOptions['lock'] = ({ name }) => lifeLock({ name, namespace })
const { revision } = setup
const ofRevision = revision !== undefined && { revision }
const manager = createManager({
  lease: setup.lease,
  identity: setup.identity,
  ...ofRevision,
  ...(setup.forLife === true && { lock }),
  ops: false,
  logLevel: 'silent',
})
manager.register(() => new Writer())
manager.on((event) => {
  if (event.kind === 'term-began') tell({ kind: 'term-began', handoverMs: event.handoverMs })
  if (event.kind === 'leader-observed' && event.identity !== setup.identity) tell({ kind: 'follows' })
})
process.on('message', () => void manager.stepDown())
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
const running = manager.start()
while ((await manager.readyz.run()).some(({ failure }) => failure !== undefined)) await sleep(5)
tell({ kind: 'ready' })
await running

function tell(news: ReplicaNews): void {
  process.send?.({ ...news, at: Number(process.hrtime.bigint()) / 1e6 })
}
