import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateAuthority } from '@tenure/api-server/internal'
import { Kubelet, type PodPorts } from '../../packages/cli/test/support/kubelet.ts'
import { openRealApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

const MAIN = join(import.meta.dirname, '../../packages/cli/src/main.ts')
const RBAC = 'rbac.authorization.k8s.io'
const NODE = 'node-1'
/** Nobody listens where its kubelet was. */
const LOST_NODE = 'node-2'
const OPS_PORT = 8080

let folder: string
let kubelet: Kubelet
let server: Awaited<ReturnType<typeof openRealApiServer>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-kubelet-'))
  const authority = CertificateAuthority.create('kubelet')
  kubelet = await Kubelet.start(authority)
  server = await openRealApiServer({ apiServerArguments: await kubeletArguments(authority) })
  await addNode(NODE, kubelet.port)
  await addNode(LOST_NODE, 1)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await kubelet[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** Has the API server check the certificate of the kubelet, and show its own. */
async function kubeletArguments(authority: CertificateAuthority): Promise<readonly string[]> {
  const client = authority.issueClientCertificate({ commonName: 'kube-apiserver-kubelet-client' })
  const contents = {
    'certificate-authority': authority.root.cert,
    'client-certificate': client.cert,
    'client-key': client.key,
  }
  const written = Object.entries(contents).map(async ([name, content]) => {
    await writeFile(join(folder, name), content)
    return `--kubelet-${name}=${join(folder, name)}`
  })
  return Promise.all(written)
}

async function setStatus(path: string, status: object): Promise<void> {
  const patch = { method: 'PATCH', contentType: 'application/merge-patch+json', body: { status } }
  const answer = await server.controlPlane.request(`${path}/status`, patch)
  if (answer.status !== 200) throw new Error(`Expected the status to be set: ${answer.text}`)
}

async function addNode(name: string, kubeletPort: number): Promise<void> {
  await server.controlPlane.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name } }])
  await setStatus(`/api/v1/nodes/${name}`, {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
  })
}

/** A Pod that has a port for operations and runs, as far as the API server knows. */
async function runPod(namespace: string, name: string, ports: PodPorts | undefined, nodeName = NODE): Promise<void> {
  const container = { name: 'main', image: 'janitor:1', ports: [{ name: 'ops', containerPort: OPS_PORT }] }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'default' } }
  const spec = { nodeName, containers: [container] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name }, spec }
  await server.controlPlane.apply([account, pod])
  await setStatus(`/api/v1/namespaces/${namespace}/pods/${name}`, { phase: 'Running' })
  kubelet.pods.set(`${namespace}/${name}`, ports)
}

/** Lets the operator read leases and Pods, and use these verbs on port-forwards. */
async function grant(namespace: string, verbs: readonly string[]): Promise<void> {
  const metadata = { namespace, name: 'operator' }
  const rules = [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    ...(verbs.length === 0 ? [] : [{ apiGroups: [''], resources: ['pods/portforward'], verbs }]),
  ]
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: 'operator' }
  const subjects = [{ kind: 'User', name: 'operator', apiGroup: RBAC }]
  const role = { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules }
  const binding = { apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects }
  await server.controlPlane.apply([role, binding])
}

/** Starts the command as the operator. */
async function start(scenario: Scenario): Promise<ChildProcess> {
  const kubeConfig = await scenario.writeKubeConfig('operator', server.kubeConfig('operator'))
  const args = ['--conditions=@tenure/source', MAIN, 'explain', scenario.leaseName, '-n', scenario.namespace]
  const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeConfig }
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** What the command says of its replicas; by then its process has ended. */
async function linesOf(command: ChildProcess): Promise<readonly string[]> {
  if (command.stdout === null) throw new Error('Expected an output')
  const [out] = await Promise.all([text(command.stdout), once(command, 'exit')])
  return out.split('\n').filter((line) => /^web-\d: /.test(line))
}

/** A lease of `web-1`, which runs nowhere, and an operator who may forward. */
async function heldLease({
  verbs = ['get', 'create'],
}: { readonly verbs?: readonly string[] } = {}): Promise<Scenario> {
  const scenario = await Scenario.open(server)
  await scenario.createLease('web-1', 3600)
  await grant(scenario.namespace, verbs)
  return scenario
}

/** A container that accepts connections and never answers. */
async function silentContainer(onData: () => void): Promise<Server> {
  const silent = createServer((socket) => void socket.on('error', () => {}).once('data', onData))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  return silent
}

describe('tenure explain on a real API server', () => {
  it('asks a leader and its standby whose operations ports listen on the loopback addresses of their Pods', async () => {
    await using scenario = await Scenario.open(server)
    await grant(scenario.namespace, ['get', 'create'])
    const options = { timing: BRISK, ops: { host: '127.0.0.1', port: 0 } }
    const fleet = await scenario.startFleet(['web-1', 'web-2'], options)
    for (const replica of fleet) await runPod(scenario.namespace, replica.name, { [OPS_PORT]: await replica.opsPort() })
    const [leader, follower] = fleet
    const sentences = [
      `${leader.name}: it leads`,
      `${leader.name}: its health checks pass\\.$`,
      `${follower?.name}: it follows ${leader.name}`,
      `${follower?.name}: its health checks pass\\.$`,
    ].map((sentence): unknown => expect.stringMatching(`^${sentence}`))
    // For a moment after a conflict, a follower says instead that it waits to see the new version.
    await expect
      .poll(async () => linesOf(await start(scenario)), { timeout: 30_000 })
      .toEqual(expect.arrayContaining(sentences))
    await Promise.all(fleet.map((replica) => replica.terminate()))
  })

  it.each([
    ['get', [] as string[]],
    // Kubernetes checks this since 1.35.
    ['create', ['get']],
    ['get', ['create']],
  ])('names the right to %s if the operator has only %j', async (missing, verbs) => {
    await using scenario = await heldLease({ verbs })
    await runPod(scenario.namespace, 'web-1', {})
    const [line, ...others] = await linesOf(await start(scenario))
    expect(line).toContain(
      `web-1: it was not asked: Could not ${missing} pods/portforward ${scenario.namespace}/web-1: `,
    )
    expect(line).toContain(`must grant the verb "${missing}" on the resource "pods/portforward"`)
    expect(others).toEqual([])
  })

  it('says that there is no Pod', async () => {
    await using scenario = await heldLease()
    expect(await linesOf(await start(scenario))).toEqual([
      'web-1: there is no Pod web-1, so it does not run as one, or has ended.',
    ])
  })

  it('says that the container does not listen, with what the node reports', async () => {
    await using scenario = await heldLease()
    await runPod(scenario.namespace, 'web-1', { [OPS_PORT]: 1 })
    expect(await linesOf(await start(scenario))).toEqual([
      'web-1: it is out of reach: error forwarding port 8080 to pod x, uid : connect ECONNREFUSED 127.0.0.1:1.',
    ])
  })

  it('says that the node does not run the Pod', async () => {
    await using scenario = await heldLease()
    await runPod(scenario.namespace, 'web-1', undefined)
    expect(await linesOf(await start(scenario))).toEqual([
      `web-1: it is out of reach: the node answered 500: pod not found ("web-1_${scenario.namespace}").`,
    ])
  })

  it('says that the API server does not reach the node', async () => {
    await using scenario = await heldLease()
    await runPod(scenario.namespace, 'web-1', {}, LOST_NODE)
    const [line] = await linesOf(await start(scenario))
    expect(line).toContain('it is out of reach: Could not get pods/portforward')
    expect(line).toContain('error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused')
  })

  it('says that a port-forward broke before the answer', async () => {
    await using scenario = await heldLease()
    const silent = await silentContainer(() => kubelet.breakForwards())
    await runPod(scenario.namespace, 'web-1', { [OPS_PORT]: (silent.address() as AddressInfo).port })
    expect(await linesOf(await start(scenario))).toEqual([
      'web-1: it is out of reach: the port-forward ended before the answer was complete.',
    ])
    await once(silent.close(), 'close')
  })

  it('ends when it is interrupted while a container does not answer, and leaves no port-forward', async () => {
    await using scenario = await heldLease()
    const asked = Promise.withResolvers<void>()
    const silent = await silentContainer(asked.resolve)
    await runPod(scenario.namespace, 'web-1', { [OPS_PORT]: (silent.address() as AddressInfo).port })
    const command = await start(scenario)
    const lines = linesOf(command)
    await asked.promise
    command.kill('SIGINT')
    await lines
    await once(silent.close(), 'close')
  })
})
