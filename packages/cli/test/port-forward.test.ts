import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { systemRandom } from '@tenure/core/internal'
import { CertificateAuthority, formatKubeConfig } from '@tenure/api-server/internal'
import { VirtualClock } from '@tenure/testing/virtual-clock'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Cluster } from '../src/cluster/cluster.ts'
import { storedLease } from '../src/cluster/leases.ts'
import { explainReplica } from '../src/explain/explain-replicas.ts'
import { until } from './support/command.ts'
import { Kubelet } from './support/kubelet.ts'

const OPS_PORT = 8080
const POD = 'ops/web-1'
const AUTHORITY = CertificateAuthority.create('test')

const LEASE = storedLease({
  metadata: { namespace: 'ops', name: 'janitor', resourceVersion: '7' },
  spec: { holderIdentity: 'web-1_a' },
})

/** What the API server answers about the Pod, and whether it refuses to forward. */
let pod: object
let refusal: { readonly code: number; readonly message: string } | undefined
let kubelet: Kubelet
let apiServer: Server
let folder: string
const disposers: (() => Promise<void> | void)[] = []

beforeEach(async () => {
  pod = {
    metadata: { name: 'web-1' },
    spec: { containers: [{ ports: [{ name: 'ops', containerPort: OPS_PORT }] }] },
    status: { phase: 'Running' },
  }
  refusal = undefined
  kubelet = await Kubelet.start(AUTHORITY)
  apiServer = createServer(AUTHORITY.issueServerCertificate(['127.0.0.1']), (_, response) =>
    response.end(JSON.stringify(pod)),
  )
  apiServer.on('upgrade', (request, socket: Duplex, head: Buffer) => {
    if (refusal === undefined) kubelet.forward(request, { socket, head, pod: POD })
    else refuse(socket, refusal)
  })
  await once(apiServer.listen(0, '127.0.0.1'), 'listening')
  folder = await mkdtemp(join(tmpdir(), 'tenure-forward-'))
  const { port } = apiServer.address() as AddressInfo
  const content = formatKubeConfig({
    url: `https://127.0.0.1:${port}`,
    caCert: AUTHORITY.root.cert,
    user: 'viewer',
    credential: { token: 'secret' },
  })
  await writeFile(join(folder, 'config'), content)
})

afterEach(async () => {
  for (const dispose of disposers.splice(0)) await dispose()
  await kubelet[Symbol.asyncDispose]()
  apiServer.close()
  apiServer.closeAllConnections()
  await once(apiServer, 'close')
  await rm(folder, { recursive: true })
})

function refuse(socket: Duplex, { code, message }: { readonly code: number; readonly message: string }): void {
  const body = JSON.stringify({ kind: 'Status', status: 'Failure', message, code })
  socket.end(`HTTP/1.1 ${code} No\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
}

/** A container that listens on the loopback address. */
async function listen(answer: RequestListener): Promise<void> {
  const server = createHttpServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  disposers.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  kubelet.pods.set(POD, { [OPS_PORT]: (server.address() as AddressInfo).port })
}

/** Asks the replica, and returns what it says; no port-forward may be left. By default no time passes, so that a busy machine cuts nothing off. */
async function explained(
  given: { readonly clock?: VirtualClock; readonly interrupted?: AbortSignal } = {},
): Promise<readonly string[]> {
  const { clock = new VirtualClock(), interrupted = new AbortController().signal } = given
  const terminal = { clock, interrupted, random: systemRandom, env: {}, columns: undefined, keys: undefined }
  const flags = { kubeconfig: join(folder, 'config'), namespace: 'ops' }
  const cluster = Cluster.open(flags, { ...terminal, out: () => {}, err: () => {} })
  try {
    if (LEASE === undefined) throw new Error('Expected a lease')
    return (await explainReplica(cluster, 'web-1_a', LEASE)).sentences
  } finally {
    await cluster[Symbol.asyncDispose]()
    await until(() => kubelet.openForwards === 0)
  }
}

describe('A replica in a Pod', () => {
  test('is asked through port-forwards, also where it listens on the loopback address only', async () => {
    const pages: Readonly<Record<string, string>> = {
      '/explain': 'janitor: It follows web-2_b.\n',
      '/livez?verbose': '[+]leader-election ok\n',
      '/readyz?verbose': '[-]shutdown failed: it stops\n',
    }
    const asked: unknown[] = []
    await listen((request, response) => {
      const page = pages[request.url ?? '']
      asked.push(request.headers.host)
      response.writeHead(page === undefined ? 404 : page.includes('[-]') ? 500 : 200).end(page)
    })
    expect(await explained()).toEqual(['it follows web-2_b', 'its check shutdown failed: it stops'])
    expect(asked).toEqual(Array.from({ length: 4 }, () => 'localhost'))
  })

  test('answers in as many pieces as it likes', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `janitor: It says ${index}.\n`)
    await listen((request, response) => {
      if (request.url === '/explain') for (const line of lines) response.write(line)
      response.end()
    })
    const sentences = await explained()
    expect(sentences).toHaveLength(lines.length + 1)
    expect(sentences.at(-2)).toBe('it says 19999')
  })

  test('that does not listen is out of reach, with what the node reports', async () => {
    kubelet.pods.set(POD, { [OPS_PORT]: 1 })
    expect(await explained()).toEqual([
      'it is out of reach: error forwarding port 8080 to pod x, uid : connect ECONNREFUSED 127.0.0.1:1',
    ])
  })

  test('that the node does not run is out of reach, with the answer of the node', async () => {
    kubelet.pods.set(POD, undefined)
    expect(await explained()).toEqual(['it is out of reach: the node answered 500: pod not found ("web-1_ops")'])
  })

  test('that does not run is not asked', async () => {
    pod = { ...pod, status: { phase: 'Pending' } }
    expect(await explained()).toEqual(['its Pod web-1 does not run: its phase is Pending'])
  })

  test('without a port for operations is not asked', async () => {
    pod = { ...pod, spec: { containers: [{ ports: [{ name: 'http', containerPort: 80 }] }] } }
    expect(await explained()).toEqual(['its Pod web-1 has no port with the name ops'])
  })

  test('that does not speak HTTP is out of reach', async () => {
    await listen((request) => request.socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
    expect(await explained()).toEqual([expect.stringMatching(/^it is out of reach: Parse Error: Expected HTTP/)])
  })
})

describe('A port-forward that the API server refuses', () => {
  test.each([
    [
      'get',
      'pods "web-1" is forbidden: User "viewer" cannot get resource "pods/portforward" in API group "" in the namespace "ops"',
    ],
    // The API server checks this right in its handler, and names neither the verb nor the resource.
    ['create', 'pods "web-1" is forbidden: '],
  ])('for want of the right to %s names the verb and the resource', async (verb, message) => {
    refusal = { code: 403, message }
    expect(await explained()).toEqual([
      `it was not asked: Could not ${verb} pods/portforward ops/web-1: the credentials lack a permission (403); the Role in namespace ops ` +
        `must grant the verb "${verb}" on the resource "pods/portforward" of API group ""; the server said: ${message}`,
    ])
  })

  test('because its node is out of reach says so', async () => {
    refusal = { code: 500, message: 'error dialing backend: dial tcp 10.0.0.7:10250: connect: no route to host' }
    expect(await explained()).toEqual([
      'it is out of reach: Could not get pods/portforward ops/web-1: the server failed (500); the server said: ' +
        'error dialing backend: dial tcp 10.0.0.7:10250: connect: no route to host',
    ])
  })
})

describe('A port-forward that is open', () => {
  test('ends after 10 s without an answer', async () => {
    const clock = new VirtualClock()
    const asked = Promise.withResolvers<void>()
    await listen((request) => request.url === '/explain' && asked.resolve())
    const sentences = explained({ clock })
    await asked.promise
    await clock.advance(10_000)
    expect(await sentences).toEqual(['it is out of reach: No answer within 10000 ms'])
  })

  test('ends when the command is interrupted', async () => {
    const interrupt = new AbortController()
    await listen((request) => request.url === '/explain' && interrupt.abort(new Error('Interrupted')))
    expect(await explained({ interrupted: interrupt.signal })).toEqual(['it is out of reach: Interrupted'])
  })

  test('says that it broke before or within the answer', async () => {
    const broken = ['it is out of reach: the port-forward ended before the answer was complete']
    await listen((request) => request.url === '/explain' && kubelet.breakForwards())
    expect(await explained()).toEqual(broken)
    await listen((request, response) => {
      if (request.url !== '/explain') return
      response.writeHead(200, { 'content-length': 1000 }).write('janitor: It', () => kubelet.breakForwards())
    })
    expect(await explained()).toEqual(broken)
  })

  test('is given up while its handshake is not answered', async () => {
    const clock = new VirtualClock()
    const shaken = Promise.withResolvers<void>()
    apiServer.removeAllListeners('upgrade').on('upgrade', (_, socket: Duplex) => {
      socket.on('error', () => {})
      shaken.resolve()
    })
    const sentences = explained({ clock })
    await shaken.promise
    await clock.advance(10_000)
    expect(await sentences).toEqual(['it is out of reach: No answer within 10000 ms'])
  })
})
