import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, RbacAuthorizationV1Api } from '@kubernetes/client-node'
import { startApiServer } from '@tenure/api-server'
import { leaseRole } from '@tenure/kubernetes'
import { Pod } from './pod.ts'

/*
 * Two replicas lead for life on an embedded API server: one leads, its process is killed, its Pod goes, and the other leads.
 */

const NAMESPACE = 'demo'
const QUIET_MS = 2000

const server = await startApiServer()
const kubeConfig = new KubeConfig()
kubeConfig.loadFromString(server.kubeConfig())
const core = kubeConfig.makeApiClient(CoreV1Api)
await core.createNamespace({ body: { metadata: { name: NAMESPACE } } })
await allow(['alpha', 'beta'])
const folder = await mkdtemp(join(tmpdir(), 'tenure-life-'))

try {
  const alpha = await start('alpha')
  await told(alpha.process, 'leads')
  console.log(`alpha leads. The ConfigMap belongs to ${await owner()}.`)
  const beta = await start('beta')
  await told(beta.process, 'follows')
  // By then both have written what they write once: the container of the leader, and the follower among the standbys.
  await sleep(QUIET_MS)
  const before = await version()
  await sleep(QUIET_MS)
  console.log(
    `alpha still leads. ${before === (await version()) ? 'Nobody has' : 'Somebody has'} written the ConfigMap for 2 s.`,
  )

  const leads = told(beta.process, 'leads')
  alpha.process.kill('SIGKILL')
  await once(alpha.process, 'exit')
  await alpha.pod.ended()
  const endedAt = performance.now()
  console.log('alpha was killed, and its kubelet reports that the container has terminated.')
  await leads
  console.log(
    `beta leads ${Math.round(performance.now() - endedAt)} ms later. The ConfigMap belongs to ${await owner()}.`,
  )
  await alpha.pod.delete()

  beta.process.kill('SIGTERM')
  await once(beta.process, 'exit')
} finally {
  await rm(folder, { recursive: true, maxRetries: 5 })
  await server.stop()
}

/** Gives the replicas the rights of a leader for life, and no others. */
async function allow(users: readonly string[]): Promise<void> {
  const api = kubeConfig.makeApiClient(RbacAuthorizationV1Api)
  const subjects = users.map((name) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name }))
  const { role, roleBinding } = leaseRole({ name: 'janitor', namespace: NAMESPACE, subjects, forLife: true })
  await api.createNamespacedRole({ namespace: NAMESPACE, body: role })
  await api.createNamespacedRoleBinding({ namespace: NAMESPACE, body: roleBinding })
}

/** Starts a replica in a Pod. It ends, at the latest, with this process. */
async function start(name: string): Promise<{ readonly pod: Pod; readonly process: ChildProcess }> {
  const pod = await Pod.create(kubeConfig, NAMESPACE, name)
  const path = join(folder, name)
  await writeFile(path, server.kubeConfig({ name }), { mode: 0o600 })
  const child = fork(join(import.meta.dirname, 'replica.ts'), [], {
    execArgv: ['--conditions=@tenure/source'],
    env: { PATH: process.env['PATH'], KUBECONFIG: path, ...pod.env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'spawn')
  await pod.runs()
  return { pod, process: child }
}

/** Resolves when the replica tells this. */
async function told(replica: ChildProcess, kind: string): Promise<void> {
  for (;;) {
    const [message] = (await once(replica, 'message')) as [{ readonly kind: string }]
    if (message.kind === kind) return
  }
}

async function version(): Promise<string | undefined> {
  const { metadata } = await core.readNamespacedConfigMap({ name: 'janitor', namespace: NAMESPACE })
  return metadata?.resourceVersion
}

/** Names the Pod that owns the ConfigMap. */
async function owner(): Promise<string> {
  const { metadata } = await core.readNamespacedConfigMap({ name: 'janitor', namespace: NAMESPACE })
  return `Pod ${metadata?.ownerReferences?.[0]?.name}`
}
