/** The API server of a soak, in a separate process so that its memory does not count. Ends with its parent process. */
import { CoordinationV1Api, KubeConfig, V1MicroTime } from '@kubernetes/client-node'
import { startControlPlane } from '@tenure/test-control-plane'
import { startApiServer } from '@tenure/api-server'
import { type HolderCommand, REPLICA } from './api-server.ts'

process.once('disconnect', () => void close())
const { kubeConfig, close } = await open()
const config = new KubeConfig()
config.loadFromString(kubeConfig)
const leases = config.makeApiClient(CoordinationV1Api)
process.on('message', (command: HolderCommand) => {
  setHolder(command).then(
    () => process.send?.('done'),
    (error: unknown) => process.send?.(String(error)),
  )
})
process.send?.(kubeConfig)

async function open(): Promise<{ readonly kubeConfig: string; readonly close: () => Promise<void> }> {
  if (process.argv[2] === 'real') {
    const controlPlane = await startControlPlane()
    return { kubeConfig: controlPlane.adminKubeConfig(), close: () => controlPlane.stop() }
  }
  const server = await startApiServer({ requestLogLimit: 10, historyLimit: 100 })
  return { kubeConfig: server.kubeConfig(), close: () => server.stop() }
}

/** Sets or clears the holder of a lease, also while other clients write. */
async function setHolder({ lease: name, holder }: HolderCommand): Promise<void> {
  const namespace = 'default'
  const stored = await leases.readNamespacedLease({ name, namespace })
  const now = new V1MicroTime()
  const spec = { holderIdentity: holder, leaseDurationSeconds: 3600, acquireTime: now, renewTime: now }
  const { resourceVersion = '' } = stored.metadata ?? {}
  if (stored.spec?.holderIdentity === REPLICA) throw new Error(`\`${REPLICA}\` holds it again`)
  try {
    await leases.replaceNamespacedLease({ name, namespace, body: { metadata: { name, resourceVersion }, spec } })
  } catch (error) {
    // A follower has added itself to the list of standbys.
    if (!isConflict(error)) throw error
    await setHolder({ lease: name, holder })
  }
}

function isConflict(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 409
}
