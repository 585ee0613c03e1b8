import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, type RequestOptions } from 'node:https'
import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node'
import { systemClock } from '@tenure/core/internal'
import { describe, expect, onTestFinished, test } from 'vitest'
import { resolveConnectionSettings } from '../src/client/connection-settings.ts'
import type { FoundKubeConfig } from '../src/client/kubeconfig/found-kube-config.ts'
import { findKubeConfig, loadKubeConfig } from '../src/client/kubeconfig/load-kube-config.ts'
import { readPlainKubeConfig } from '../src/client/kubeconfig/plain-kube-config.ts'

interface Entries {
  readonly cluster?: object
  readonly user?: object
  readonly context?: object
  readonly document?: object
}

function textOf({ cluster, user, context, document }: Entries): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://c.test', ...cluster } }],
    users: [{ name: 'u', user: { ...user } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
    'current-context': 'x',
    ...document,
  })
}

const FILES = { ca: 'ca file', cert: 'cert file', key: 'key file', token: 'token file\n' }

/** Finds the kubeconfig with these entries in a folder that holds {@link FILES}. */
function find(entries: Entries, env: NodeJS.ProcessEnv = {}): FoundKubeConfig {
  return findKubeConfig({
    env,
    kubeConfigPath: join(folderWith({ ...FILES, kubeconfig: textOf(entries) }), 'kubeconfig'),
  })
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(folder, { recursive: true })
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content)
  return folder
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

const PLAIN: readonly (readonly [string, Entries])[] = [
  ['nothing but a server', {}],
  ['a server with a slash at its end', { cluster: { server: 'https://c.test/base/' } }],
  ['a CA in a file', { cluster: { 'certificate-authority': 'ca' } }],
  ['a CA as data', { cluster: { 'certificate-authority-data': base64('ca data') } }],
  ['a CA as both', { cluster: { 'certificate-authority': 'ca', 'certificate-authority-data': base64('ca data') } }],
  ['an empty CA', { cluster: { 'certificate-authority': '', 'certificate-authority-data': '' } }],
  ['no check of the certificate', { cluster: { 'insecure-skip-tls-verify': true } }],
  ['a check of the certificate', { cluster: { 'insecure-skip-tls-verify': false } }],
  ['another name of the server', { cluster: { 'tls-server-name': 'other.test' } }],
  ['plain HTTP on this machine', { cluster: { server: 'http://127.0.0.1:8080' } }],
  ['plain HTTP without a check', { cluster: { server: 'http://c.test', 'insecure-skip-tls-verify': true } }],
  ['a token', { user: { token: 'secret' } }],
  ['an empty token', { user: { token: '' } }],
  ['a token file', { user: { tokenFile: 'token' } }],
  ['a token file by its other name, before a token', { user: { token: 'old', 'token-file': 'token' } }],
  ['a password', { user: { username: 'me', password: 'secret' } }],
  ['a name without a password', { user: { username: 'me' } }],
  ['a password and a token', { user: { username: 'me', password: 'secret', token: 'token' } }],
  ['a certificate in files', { user: { 'client-certificate': 'cert', 'client-key': 'key' } }],
  [
    'a certificate as data',
    { user: { 'client-certificate-data': base64('cert data'), 'client-key-data': base64('key data') } },
  ],
  ['a namespace and extensions', { context: { namespace: 'ops', extensions: [{ name: 'a' }] } }],
  ['a context without a user', { context: { user: '' } }],
  ['a user that does not exist', { context: { user: 'nobody' } }],
  ['the fields of every kubeconfig', { document: { apiVersion: 'v1', kind: 'Config', preferences: {} } }],
  ['no users', { document: { users: null } }],
  ['no list of users', { document: { users: undefined } }],
  [
    'extensions everywhere',
    {
      cluster: { extensions: [{ name: 'a' }] },
      user: { extensions: [{ name: 'a' }] },
      document: { extensions: [{ name: 'a' }], preferences: { colors: true } },
    },
  ],
]

describe('a plain kubeconfig', () => {
  test.each(PLAIN)('with %s reads as in client-node', (_, entries) => {
    const own = readPlainKubeConfig(textOf(withoutTokenFile(entries)), '/folder')
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(textOf(withoutTokenFile(entries)))
    kubeConfig.makePathsAbsolute('/folder')
    const { clusters, users, contexts, currentContext } = kubeConfig
    expect(withoutNothing({ ...own, document: undefined })).toEqual(
      withoutNothing({ clusters, users, contexts, currentContext }),
    )
  })

  test.each(PLAIN)('with %s connects as with client-node, which stays unused', async (_, entries) => {
    const found = find(entries)
    const { view: _own, ...own } = await resolveConnectionSettings(found, systemClock)
    expect(found.completed).toBeUndefined()
    const { view: _view, ...expected } = await resolveConnectionSettings(found.complete(), systemClock)
    expect(own).toEqual(expected)
    expect(found.getCurrentCluster()?.server).toBe(found.complete().getCurrentCluster()?.server)
  })

  test('has the cluster and the user of its current context, also where there are others before', () => {
    const found = find({
      document: {
        clusters: ['other', 'c'].map((name) => ({ name, cluster: { server: `https://${name}.test` } })),
        users: ['other', 'u'].map((name) => ({ name, user: { token: name } })),
        contexts: ['other', 'x'].map((name) => ({ name, context: { cluster: 'c', user: 'u', namespace: name } })),
      },
    })
    expect(found.getCurrentCluster()).toMatchObject({ server: 'https://c.test' })
    expect(found.getCurrentUser()).toMatchObject({ token: 'u' })
    expect(found.getContextObject('x')).toMatchObject({ namespace: 'x' })
    expect(found.completed).toBeUndefined()
  })

  test('authenticates the requests of other clients as client-node does', async () => {
    const found = find({ user: { username: 'me', password: 'secret' } })
    const options: RequestOptions = {}
    await found.applyToHTTPSOptions(options)
    expect(options).toMatchObject({ auth: 'me:secret', agent: expect.any(Agent) })
    const request = new RequestContext('https://c.test/api', HttpMethod.GET)
    await found.applySecurityAuthentication(request as never)
    expect(request.getHeaders()).toEqual({ Authorization: `Basic ${base64('me:secret')}` })
  })

  test('of a Pod connects as with client-node, which stays unused', async () => {
    const serviceAccountDirectory = folderWith({ token: 'first', 'ca.crt': 'ca', namespace: 'ops' })
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
    const found = findKubeConfig({ env, serviceAccountDirectory })
    const settings = async () => {
      const { headers, server, tls } = await resolveConnectionSettings(found, systemClock)
      return { ...headers, server: server.href, ca: String(tls.ca) }
    }
    const expected = { server: 'https://10.0.0.1/', ca: 'ca' }
    expect(await settings()).toEqual({ ...expected, Authorization: 'Bearer first' })
    writeFileSync(join(serviceAccountDirectory, 'token'), 'second')
    expect(await settings()).toEqual({ ...expected, Authorization: 'Bearer second' })
    expect(found.completed).toBeUndefined()
    expect(found.getContextObject(found.getCurrentContext())).toMatchObject({ namespace: 'ops' })
  })

  test('follows its file, and keeps its state while that is half written', async () => {
    const folder = folderWith({ kubeconfig: textOf({ user: { token: 'first' } }) })
    const path = join(folder, 'kubeconfig')
    const found = findKubeConfig({ env: {}, kubeConfigPath: path })
    const token = async () => (await resolveConnectionSettings(found, systemClock)).headers['Authorization']
    expect(await token()).toBe('Bearer first')
    writeFileSync(path, '{ clusters: [')
    expect(await token()).toBe('Bearer first')
    writeFileSync(path, textOf({ user: { token: 'second' } }))
    expect(await token()).toBe('Bearer second')
    expect(found.completed).toBeUndefined()
  })

  test.each([
    ['a CA', { cluster: { 'certificate-authority': 'missing' } }],
    ['a certificate', { user: { 'client-certificate': 'missing' } }],
    ['a token', { user: { tokenFile: 'missing' } }],
  ])('fails as with client-node when the file of %s is missing', async (_, entries) => {
    const found = find(entries)
    const [own, expected] = await Promise.allSettled([
      resolveConnectionSettings(found, systemClock),
      resolveConnectionSettings(found.complete(), systemClock),
    ])
    expect(own).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('ENOENT') } })
    expect(own).toEqual(expected)
  })
})

describe('client-node decides about', () => {
  test.each<readonly [string, string]>([
    ['a credential plugin', textOf({ user: { exec: { command: 'plugin' } } })],
    ['an auth provider', textOf({ user: { 'auth-provider': { name: 'oidc' } } })],
    ['impersonation', textOf({ user: { token: 't', as: 'other' } })],
    ['a proxy', textOf({ cluster: { 'proxy-url': 'http://proxy.test' } })],
    ['an unknown key of a cluster', textOf({ cluster: { 'disable-compression': true } })],
    ['an unknown key of a user', textOf({ user: { tokens: 't' } })],
    ['an unknown key of a context', textOf({ context: { realm: 'r' } })],
    ['an unknown key of the file', textOf({ document: { realm: 'r' } })],
    ['a name that every object inherits', textOf({ user: { toString: 't' } })],
    ['a token that is a number', textOf({ user: { token: 12 } })],
    ['a field that is null', textOf({ user: { token: null } })],
    ['a switch that is a text', textOf({ cluster: { 'insecure-skip-tls-verify': 'true' } })],
    ['an entry without a name', textOf({ document: { users: [{ user: {} }] } })],
    ['an entry without a body', textOf({ document: { users: [{ name: 'u' }] } })],
    ['a cluster without a server', textOf({ cluster: { server: '' } })],
    ['a context without a cluster', textOf({ context: { cluster: '' } })],
    ['a list that is none', textOf({ document: { users: {} } })],
    ['a file that is no mapping', '[]'],
    ['an empty file', ''],
    ['a file that is not YAML', '{ clusters: ['],
    ['an entry whose name is empty', textOf({ document: { users: [{ name: '', user: {} }] } })],
    ['an entry whose name is a number', textOf({ document: { users: [{ name: 1, user: {} }] } })],
    ['an entry with more than a name and a body', textOf({ document: { users: [{ name: 'u', user: {}, x: 1 }] } })],
    ['an entry that is a text', textOf({ document: { users: ['u'] } })],
    ['one entry of two', textOf({ document: { users: [{ name: 'u', user: {} }, 'u'] } })],
    ['a list of clusters that is none', textOf({ document: { clusters: 'c' } })],
    ['a list of contexts that is none', textOf({ document: { contexts: 'c' } })],
    ...['apiVersion', 'kind', 'current-context'].map((key): [string, string] => [
      `a number as ${key}`,
      textOf({ document: { [key]: 1 } }),
    ]),
    ...[
      'server',
      'certificate-authority',
      'certificate-authority-data',
      'insecure-skip-tls-verify',
      'tls-server-name',
    ].map((key): [string, string] => [`a number as ${key} of a cluster`, textOf({ cluster: { [key]: 1 } })]),
    ...[
      'token',
      'token-file',
      'tokenFile',
      'username',
      'password',
      'client-certificate',
      'client-certificate-data',
      'client-key',
      'client-key-data',
    ].map((key): [string, string] => [`a number as ${key} of a user`, textOf({ user: { [key]: 1 } })]),
    ...['cluster', 'user', 'namespace'].map((key): [string, string] => [
      `a number as ${key} of a context`,
      textOf({ context: { [key]: 1 } }),
    ]),
  ])('%s', (_, text) => {
    expect(readPlainKubeConfig(text, '/folder')).toBeUndefined()
  })

  test('a proxy of the environment', async () => {
    const found = find({ user: { token: 't' } }, { HTTPS_PROXY: 'http://proxy.test:1' })
    expect(await resolveConnectionSettings(found, systemClock)).toMatchObject({
      headers: { Authorization: 'Bearer t' },
      proxyUrl: 'http://proxy.test:1',
    })
    expect(found.completed).toBeDefined()
  })

  test('plain HTTP to another machine, which it refuses', async () => {
    const settings = resolveConnectionSettings(find({ cluster: { server: 'http://c.test' } }), systemClock)
    await expect(settings).rejects.toThrow('HTTP protocol is not allowed')
  })
})

describe('a kubeconfig that was completed', () => {
  test('decides from then on: its context counts for the traffic of leases', async () => {
    const document = {
      users: ['u', 'v'].map((name) => ({ name, user: { token: `token of ${name}` } })),
      contexts: ['u', 'v'].map((user) => ({ name: user, context: { cluster: 'c', user } })),
      'current-context': 'u',
    }
    const found = find({ document })
    const headers = async () => (await resolveConnectionSettings(found, systemClock)).headers
    expect(await headers()).toMatchObject({ Authorization: 'Bearer token of u' })
    found.complete().setCurrentContext('v')
    expect(found.getCurrentContext()).toBe('v')
    expect(await headers()).toMatchObject({ Authorization: 'Bearer token of v' })
  })

  test('is one KubeConfig, with what was read last', () => {
    const found = find({ user: { token: 't' } })
    expect(found.complete()).toBe(found.complete())
    expect(found.complete()).toBeInstanceOf(KubeConfig)
    expect(loadKubeConfig({ env: {}, kubeConfigPath: join(folderWith({ k: textOf({}) }), 'k') })).toBeInstanceOf(
      KubeConfig,
    )
  })
})

/** client-node would read the file that `token-file` names; the loader adds it afterwards. */
function withoutTokenFile({ user, ...entries }: Entries): Entries {
  const { 'token-file': _, ...rest } = { 'token-file': undefined, ...user }
  return { ...entries, user: rest }
}

/** Without what is null or undefined, which client-node leaves in place of missing fields. */
function withoutNothing(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, field: unknown) => (field === null ? undefined : field)))
}
