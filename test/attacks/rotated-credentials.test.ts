/** Credentials that a real API server refuses and that are replaced while the process runs, in every form of a kubeconfig. */
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createServer, connect, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { silentLogger } from '@tenure/core/internal'
import { gated, informer, loadKubeConfig } from '@tenure/kubernetes'
import { ApiTransport } from '@tenure/kubernetes/internal'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { Controller, createManager, type Term } from 'tenure'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { CertificateAuthority } from '../../packages/api-server/src/certificate-authority.ts'

/** Leading again takes no longer than this after the credentials were replaced. */
const BOUND_MS = 5000
/** As long as a replica is refused before, so that it has backed off as far as it does. */
const REFUSED_MS = 12_000

let controlPlane: ControlPlane
let caCert: string
let folders = 0
const root = mkdtempSync(join(tmpdir(), 'tenure-credentials-'))

beforeAll(async () => {
  controlPlane = await startControlPlane()
  ;({ caCert } = controlPlane.access({ name: 'replica' }))
  const binding = (subject: object, name: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
  })
  await controlPlane.apply([
    binding({ kind: 'User', name: 'replica' }, 'replica'),
    binding({ kind: 'Group', name: 'system:serviceaccounts' }, 'service-accounts'),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'replica', namespace: 'default' } },
  ])
})
afterAll(async () => {
  await controlPlane.stop()
  rmSync(root, { recursive: true, maxRetries: 5 })
})

/** A token of the service account, which ends with the Secret of that name where one is given. */
async function issueToken(secret?: string): Promise<string> {
  if (secret !== undefined)
    await controlPlane.apply([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: secret, namespace: 'default' } }])
  const boundObjectRef =
    secret === undefined ? {} : { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: secret } }
  const body = { spec: { expirationSeconds: 3600, ...boundObjectRef } }
  const path = '/api/v1/namespaces/default/serviceaccounts/replica/token'
  const answer = await controlPlane.request(path, { method: 'POST', body })
  return (JSON.parse(answer.text) as { status: { token: string } }).status.token
}

function folder(): string {
  const path = join(root, String(++folders))
  return path
}

function kubeConfigText(user: object, cluster: object = {}): string {
  const authority = Buffer.from(caCert).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: controlPlane.url, 'certificate-authority-data': authority, ...cluster } },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
}

interface Pair {
  readonly cert: string
  readonly key: string
}

/** How a replica gets its credentials, and how they are replaced. */
interface Form {
  readonly load: () => KubeConfig
  readonly replace: () => void
}

interface Credentials {
  readonly token: string
  readonly pair: Pair
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A kubeconfig that is rewritten. */
function rewritten(user: (credentials: Credentials) => object) {
  return (wrong: Credentials, right: Credentials): Form => {
    const path = `${folder()}-kubeconfig`
    writeFileSync(path, kubeConfigText(user(wrong)))
    return {
      load: () => loadKubeConfig({ kubeConfigPath: path }),
      replace: () => writeFileSync(path, kubeConfigText(user(right))),
    }
  }
}

/** A kubeconfig whose cluster is rewritten: the server has moved, or has another authority. */
function moved(wrongCluster: () => object) {
  return (_wrong: Credentials, { token }: Credentials): Form => {
    const path = `${folder()}-kubeconfig`
    writeFileSync(path, kubeConfigText({ token }, wrongCluster()))
    return {
      load: () => loadKubeConfig({ kubeConfigPath: path }),
      replace: () => writeFileSync(path, kubeConfigText({ token })),
    }
  }
}

/** A kubeconfig that stays, beside files that are rewritten. */
function beside(user: (path: string) => object, write: (path: string, credentials: Credentials) => void) {
  return (wrong: Credentials, right: Credentials): Form => {
    const path = folder()
    write(path, wrong)
    writeFileSync(`${path}-kubeconfig`, kubeConfigText(user(path)))
    return { load: () => loadKubeConfig({ kubeConfigPath: `${path}-kubeconfig` }), replace: () => write(path, right) }
  }
}

const writeToken = (path: string, { token }: Credentials) => writeFileSync(`${path}-token`, `${token}\n`)

function writePair(path: string, { pair }: Credentials): void {
  writeFileSync(`${path}-cert`, pair.cert)
  writeFileSync(`${path}-key`, pair.key)
}

/** A plugin that prints the credential in a file. */
function plugin(path: string, status: object): object {
  const script = `${path}-plugin`
  const read = `require('fs').readFileSync(${JSON.stringify(`${path}-token`)}, 'utf8').trim()`
  writeFileSync(
    script,
    `#!${process.execPath}\nconsole.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', ` +
      `status: { token: ${read}, ...${JSON.stringify(status)} } }))\n`,
  )
  chmodSync(script, 0o700)
  return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: script, interactiveMode: 'Never' } }
}

const later = () => new Date(Date.now() + 3_600_000).toISOString()

/** The service account of a Pod: no kubeconfig, but an address in the environment and mounted files. */
function mounted(wrong: Credentials, right: Credentials): Form {
  const serviceAccountDirectory = folder()
  mkdirSync(serviceAccountDirectory)
  const write = ({ token }: Credentials) => writeFileSync(join(serviceAccountDirectory, 'token'), token)
  writeFileSync(join(serviceAccountDirectory, 'ca.crt'), caCert)
  write(wrong)
  const { hostname, port } = new URL(controlPlane.url)
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
  return { load: () => loadKubeConfig({ env, serviceAccountDirectory }), replace: () => write(right) }
}

const FORMS: readonly [string, (wrong: Credentials, right: Credentials) => Form][] = [
  ['a token in the kubeconfig', rewritten(({ token }) => ({ token }))],
  [
    'client certificate data in the kubeconfig',
    rewritten(({ pair }) => ({ 'client-certificate-data': base64(pair.cert), 'client-key-data': base64(pair.key) })),
  ],
  [
    'client certificate files',
    beside((path) => ({ 'client-certificate': `${path}-cert`, 'client-key': `${path}-key` }), writePair),
  ],
  ['a tokenFile, as kubectl names it', beside((path) => ({ tokenFile: `${path}-token` }), writeToken)],
  ['a token-file, as client-node names it', beside((path) => ({ 'token-file': `${path}-token` }), writeToken)],
  [
    'the token file of an auth-provider',
    beside((path) => ({ 'auth-provider': { name: 'tokenFile', config: { tokenFile: `${path}-token` } } }), writeToken),
  ],
  ['a plugin whose credentials never expire', beside((path) => plugin(path, {}), writeToken)],
  [
    'a plugin whose credentials expire in an hour',
    beside((path) => plugin(path, { expirationTimestamp: later() }), writeToken),
  ],
  [
    'an id-token of oidc',
    rewritten(({ token }) => ({ 'auth-provider': { name: 'oidc', config: { 'id-token': token } } })),
  ],
  [
    'an access-token of azure',
    rewritten(({ token }) => ({
      'auth-provider': { name: 'azure', config: { 'access-token': token, expiry: later() } },
    })),
  ],
  [
    'an access-token of gcp',
    rewritten(({ token }) => ({
      'auth-provider': { name: 'gcp', config: { 'access-token': token, expiry: later() } },
    })),
  ],
  ['no credentials at first', rewritten(({ token }) => (token.endsWith('wrong') ? {} : { token }))],
  ['the token of a Pod', mounted],
  ['the address of the server', moved(() => ({ server: 'https://127.0.0.1:9' }))],
  [
    'the authority of the server',
    moved(() => ({ 'certificate-authority-data': base64(CertificateAuthority.create('former').root.cert) })),
  ],
]

/** A replica whose only work is to lead. */
function replicaOf(name: string, kubeConfig: KubeConfig, run: (term: Term) => Promise<void> = async () => {}) {
  const leading = Promise.withResolvers<void>()
  class Work extends Controller {
    readonly name = 'work'
    async run(term: Term): Promise<void> {
      leading.resolve()
      await run(term)
      if (!term.signal.aborted) await once(term.signal, 'abort')
    }
  }
  const lease = { name, namespace: 'default' }
  const settings = { ops: false, events: false, signals: false, logger: silentLogger, env: {}, argv: [] } as const
  const manager = createManager({ ...settings, lease, kubeConfig })
  manager.register(() => new Work())
  const ended = manager.start()
  ended.catch(leading.reject)
  return {
    leads: leading.promise,
    async stop() {
      await manager.stop()
      await ended
    },
  }
}

describe('a replica whose credentials the server refuses', () => {
  test(`leads within ${BOUND_MS} ms after they were replaced, in every form of a kubeconfig`, async () => {
    const token = await issueToken()
    const pair = controlPlane.access({ name: 'replica' })
    const other = CertificateAuthority.create('other').issueClientCertificate({ commonName: 'replica' })
    const [wrong, right] = [
      { token: `${token}wrong`, pair: other },
      { token, pair },
    ]
    const replicas = FORMS.map(([what, make], index) => {
      const form = make(wrong, right)
      const state = { what, ms: Infinity }
      const replica = replicaOf(`form-${index}`, form.load())
      let replacedAt = Infinity
      const measured = replica.leads.then(() => void (state.ms = performance.now() - replacedAt))
      const replace = () => {
        replacedAt = performance.now()
        form.replace()
      }
      return { state, replica, measured, replace }
    })
    await sleep(REFUSED_MS)
    // Nobody leads with what the server refuses.
    expect(replicas.filter(({ state }) => state.ms !== Infinity)).toEqual([])
    for (const { replace } of replicas) replace()
    await Promise.race([Promise.all(replicas.map(({ measured }) => measured)), sleep(3 * BOUND_MS)])
    const slow = replicas.map(({ state }) => state).filter(({ ms }) => !(ms >= 0 && ms <= BOUND_MS))
    await Promise.all(replicas.map(({ replica }) => replica.stop()))
    expect(slow).toEqual([])
  })
})

describe('a term whose token is revoked after another was put into its place', () => {
  test.each([
    ['a tokenFile', beside((path) => ({ tokenFile: `${path}-token` }), writeToken)],
    ['a plugin whose credentials never expire', beside((path) => plugin(path, {}), writeToken)],
  ])('goes on, and so do its gated client and its informer: %s', async (what, make) => {
    const name = what.includes('plugin') ? 'revoked-plugin' : 'revoked-file'
    const pair = controlPlane.access({ name: 'replica' })
    const [first, second] = [await issueToken(`${name}-1`), await issueToken(`${name}-2`)]
    const form = make({ token: first, pair }, { token: second, pair })
    const kubeConfig = form.load()
    const began = Promise.withResolvers<Term>()
    const seen: string[] = []
    const replica = replicaOf(name, kubeConfig, async (term) => {
      await informer<{ metadata: { name: string } }>(term, {
        kubeConfig,
        path: '/api/v1/namespaces/default/configmaps',
        onChange: ({ object }) => void seen.push(object.metadata.name),
      }).synced
      began.resolve(term)
    })
    const term = await began.promise
    const client = gated(term, kubeConfig).makeApiClient(CoreV1Api)
    const write = (suffix: string) =>
      client.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: `${name}-${suffix}` } } })
    await write('before')
    form.replace()
    await controlPlane.request(`/api/v1/namespaces/default/secrets/${name}-1`, { method: 'DELETE' })
    const watching = new KubeConfig()
    watching.loadFromString(kubeConfigText({ token: first }))
    // The server remembers for some seconds whose token it was.
    while (await isAccepted(watching)) await sleep(50)
    await write('after')
    await vi.waitFor(() => expect(seen).toContain(`${name}-after`), { timeout: BOUND_MS })
    expect(term.isHeld()).toBe(true)
    await replica.stop()
  })
})

async function isAccepted(kubeConfig: KubeConfig): Promise<boolean> {
  try {
    await kubeConfig.makeApiClient(CoreV1Api).listNamespacedSecret({ namespace: 'default' })
    return true
  } catch {
    return false
  }
}

describe('a kubeconfig', () => {
  test('with a way to authenticate that is not supported is refused with words, and nobody goes as somebody else', async () => {
    const path = folder()
    const load = (user: object) => {
      writeFileSync(path, kubeConfigText(user))
      return loadKubeConfig({ kubeConfigPath: path })
    }
    expect(() => load({ token: 't', as: 'x', 'as-groups': ['g'] })).toThrow(
      /`as-groups` in user `u`, which is not supported/,
    )
    const failureOf = async (user: object) => {
      const transport = new ApiTransport({ kubeConfig: load(user) })
      const target = { verb: 'get', group: '', resource: 'configmaps', namespace: 'default', name: 'x' }
      const request = { method: 'GET', path: '/api/v1/namespaces/default/configmaps/x', target } as const
      const [outcome] = await Promise.allSettled([transport.send({ ...request, signal: AbortSignal.timeout(10_000) })])
      await transport.close()
      return outcome.status === 'rejected' ? String(outcome.reason) : 'accepted'
    }
    expect(await failureOf({ 'auth-provider': { name: 'openstack' } })).toMatch(
      /`openstack` of user `u` is not supported/,
    )
    expect(await failureOf({ 'auth-provider': { name: 'oidc', config: {} } })).toMatch(
      /`oidc` of user `u` gave no token/,
    )
    expect(await failureOf({ tokenFile: '/nonexistent/token' })).toMatch(/token file of user `u` cannot be read/)
    expect(await failureOf({ username: 'a', password: 'b' })).toMatch(/received no credentials that it knows/)
    expect(await failureOf({})).toMatch(/received no credentials that it knows/)
    expect(await failureOf({ exec: { command: '/bin/false' } })).toMatch(
      /`\/bin\/false` of user `u` failed: it exited with code 1/,
    )
  })

  test('of another cluster, with a token of its own, never gets the token of this one', async () => {
    const strangers: (string | undefined)[] = []
    const stranger = http.createServer((request, response) => {
      strangers.push(request.headers.authorization)
      response.setHeader('content-type', 'application/json').end('{}')
    })
    stranger.listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const path = folder()
    writeFileSync(`${path}-own`, await issueToken())
    writeFileSync(`${path}-other`, 'token of the other cluster')
    const parsed = JSON.parse(kubeConfigText({ tokenFile: `${path}-own` })) as Record<string, object[]>
    const server = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    parsed['clusters']?.push({ name: 'other', cluster: { server } })
    parsed['users']?.push({ name: 'other', user: { tokenFile: `${path}-other` } })
    parsed['contexts']?.push({ name: 'other', context: { cluster: 'other', user: 'other' } })
    writeFileSync(path, JSON.stringify(parsed))
    const kubeConfig = loadKubeConfig({ kubeConfigPath: path })
    const transport = new ApiTransport({ kubeConfig })
    const view = gated({ epoch: 1n, isHeld: () => true, gateSignal: new AbortController().signal }, kubeConfig)
    const target = { verb: 'get', group: '', resource: 'configmaps', namespace: 'default', name: '' }
    const request = { method: 'GET', path: '/api/v1/namespaces/default/configmaps', target } as const
    const read = () => transport.send({ ...request, signal: AbortSignal.timeout(10_000) })
    await read()
    await view.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' })
    view.setCurrentContext('other')
    await view.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' })
    kubeConfig.setCurrentContext('other')
    await read()
    await transport.close()
    stranger.closeAllConnections()
    stranger.close()
    expect(strangers).toEqual(Array(2).fill('Bearer token of the other cluster'))
  })
})

describe('a proxy', () => {
  test.each(['HTTPS_PROXY', 'proxy-url'])(
    'that %s names carries the election, the informers and the gated clients',
    async (by) => {
      const connects: string[] = []
      const proxy = await connectProxy(connects)
      const path = folder()
      // The server is known by a name that NO_PROXY does not hold back; loopback addresses never go through HTTPS_PROXY.
      const { port } = new URL(controlPlane.url)
      const cluster = { server: `https://proxied.test:${port}`, 'tls-server-name': 'localhost' }
      writeFileSync(
        path,
        kubeConfigText(
          { token: await issueToken() },
          { ...cluster, ...(by === 'proxy-url' && { 'proxy-url': proxy.url }) },
        ),
      )
      const env =
        by === 'HTTPS_PROXY'
          ? { HTTPS_PROXY: proxy.url, NO_PROXY: 'elsewhere.test' }
          : { HTTPS_PROXY: 'http://127.0.0.1:9' }
      const kubeConfig = loadKubeConfig({ kubeConfigPath: path, env })
      const written = Promise.withResolvers<void>()
      const replica = replicaOf(by.toLowerCase().replace('_', '-'), kubeConfig, async (term) => {
        const client = gated(term, kubeConfig).makeApiClient(CoreV1Api)
        await client.createNamespacedConfigMap({
          namespace: 'default',
          body: { metadata: { generateName: 'proxied-' } },
        })
        written.resolve()
      })
      await written.promise
      await replica.stop()
      expect(new Set(connects)).toEqual(new Set([`proxied.test:${port}`]))
      await proxy.close()
    },
  )
})

/** An HTTP proxy that leads every name to this machine. */
async function connectProxy(connects: string[]) {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const authority = /^CONNECT (\S+)/.exec(String(head))?.[1] ?? ''
      connects.push(authority)
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const upstream = connect(Number(authority.split(':')[1]), '127.0.0.1').on('error', () => socket.destroy())
      socket.pipe(upstream).pipe(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
    },
  }
}
