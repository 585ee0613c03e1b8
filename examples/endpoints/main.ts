import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, DiscoveryV1Api, KubeConfig, RbacAuthorizationV1Api } from '@kubernetes/client-node'
import { startApiServer } from '@tenure/api-server'
import { leaseRole } from '@tenure/kubernetes'

/*
 * Three replicas keep their addresses in the EndpointSlice of a Service on an embedded API server: one is killed, one stops.
 */

const NAMESPACE = 'demo'
const ADDRESSES = ['198.51.100.1', '198.51.100.2', '198.51.100.3'] as const
const PATIENCE_MS = 60_000

const server = await startApiServer()
const kubeConfig = new KubeConfig()
kubeConfig.loadFromString(server.kubeConfig())
const slices = kubeConfig.makeApiClient(DiscoveryV1Api)
await createService()
const folder = await mkdtemp(join(tmpdir(), 'tenure-endpoints-'))

try {
  const path = join(folder, 'kubeconfig')
  await writeFile(path, server.kubeConfig({ name: 'shop' }), { mode: 0o600 })
  const [first, second, third] = ADDRESSES
  const [one, two, three] = [await start(first, path), await start(second, path), await start(third, path)]
  await listed([first, second, third])
  console.log(`Three replicas run. The slice has ${ADDRESSES.join(', ')}.`)

  two.kill('SIGKILL')
  const killedAt = performance.now()
  await listed([first, third])
  console.log(
    `${second} was killed. ${Math.round(performance.now() - killedAt)} ms later, the slice has ${first}, ${third}.`,
  )

  three.kill('SIGTERM')
  await once(three, 'exit')
  const left = await addresses()
  console.log(`${third} stopped. When its process has ended, the slice has ${left.join(', ')}.`)

  one.kill('SIGTERM')
  await once(one, 'exit')
  console.log(`${first} stopped as the last one. The slice has ${(await addresses()).length} addresses.`)
} finally {
  await rm(folder, { recursive: true, maxRetries: 5 })
  await server.stop()
}

/** A Service without a selector, and the rights of its replicas. */
async function createService(): Promise<void> {
  const core = kubeConfig.makeApiClient(CoreV1Api)
  await core.createNamespace({ body: { metadata: { name: NAMESPACE } } })
  const spec = { ports: [{ name: 'http', port: 80 }] }
  await core.createNamespacedService({ namespace: NAMESPACE, body: { metadata: { name: 'shop' }, spec } })
  const api = kubeConfig.makeApiClient(RbacAuthorizationV1Api)
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'shop' }]
  const rights = leaseRole({ name: 'shop', namespace: NAMESPACE, subjects, endpoints: 'shop', members: true })
  await api.createNamespacedRole({ namespace: NAMESPACE, body: rights.role })
  await api.createNamespacedRoleBinding({ namespace: NAMESPACE, body: rights.roleBinding })
}

/** Starts a replica. It ends, at the latest, with this process. */
async function start(address: string, kubeConfigPath: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'replica.ts'), [address], {
    execArgv: ['--conditions=@tenure/source'],
    env: { PATH: process.env['PATH'], KUBECONFIG: kubeConfigPath },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'spawn')
  return child
}

/** Resolves when the slice has exactly these addresses. */
async function listed(expected: readonly string[]): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  while ((await addresses()).join() !== expected.join()) {
    signal.throwIfAborted()
    await sleep(20)
  }
}

/** The addresses in the slice; none while there is no slice. */
async function addresses(): Promise<readonly string[]> {
  const { items } = await slices.listNamespacedEndpointSlice({ namespace: NAMESPACE })
  return items.flatMap(({ endpoints }) => endpoints ?? []).flatMap((endpoint) => endpoint.addresses)
}
