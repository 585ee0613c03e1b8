import { Agent } from 'node:http'
import { KubeConfig, type User } from '@kubernetes/client-node'
import { describe, expect, test, vi } from 'vitest'
import { resolveConnectionSettings } from '../src/client/connection-settings.ts'
import { FoundKubeConfig } from '../src/client/kubeconfig/found-kube-config.ts'
import { KubeConfigError } from '../src/client/kubeconfig/kube-config-error.ts'
import { RELOAD } from '../src/client/kubeconfig/loaded-kube-config.ts'
import { ManualClock } from './support/manual-clock.ts'

const clock = new ManualClock()
const base64 = (text: string) => Buffer.from(text).toString('base64')

interface Given {
  readonly cluster?: object
  readonly user?: Partial<User>
}

/** A kubeconfig of client-node. */
function clientNodeConfig({ cluster, user }: Given = {}): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'c', server: 'https://one:6443', skipTLSVerify: false, ...cluster },
    { name: 'me', ...user },
  )
  return kubeConfig
}

/** The same as it was found, without client-node. */
function foundConfig({ cluster, user }: Given = {}): FoundKubeConfig {
  return new FoundKubeConfig(
    {
      clusters: [{ name: 'c', server: 'https://one:6443', skipTLSVerify: false, ...cluster }],
      users: [{ name: 'me', ...user }],
      contexts: [{ name: 'x', cluster: 'c', user: 'me' }],
      currentContext: 'x',
    },
    () => undefined,
  )
}

const KINDS = [
  ['of client-node', clientNodeConfig],
  ['that was found', foundConfig],
] as const

describe.each(KINDS)('a kubeconfig %s', (_, config) => {
  test('says where to connect, with which headers and which TLS material', async () => {
    const material = { certData: base64('cert'), keyData: base64('key'), token: 't' }
    const cluster = { caData: base64('ca'), tlsServerName: 'two', skipTLSVerify: true }
    const { view, ...settings } = await resolveConnectionSettings(config({ cluster, user: material }), clock)
    expect(settings).toEqual({
      server: new URL('https://one:6443'),
      headers: { Authorization: 'Bearer t' },
      auth: undefined,
      tls: {
        ca: Buffer.from('ca'),
        cert: Buffer.from('cert'),
        key: Buffer.from('key'),
        servername: 'two',
        rejectUnauthorized: false,
      },
      proxyUrl: undefined,
      proxyAgent: undefined,
      issued: undefined,
    })
    expect(view().getCurrentCluster()).toMatchObject(cluster)
    expect(view().getCurrentUser()).toMatchObject({ name: 'me', token: 't' })
  })

  test('has a password in place of a header', async () => {
    const settings = await resolveConnectionSettings(config({ user: { username: 'a', password: 'b' } }), clock)
    expect([settings.auth, settings.headers]).toEqual(['a:b', {}])
  })

  test('has an agent of its own for a proxy', async () => {
    const kubeConfig = config({ cluster: { proxyUrl: 'http://proxy.test:1' } })
    const [first, second] = await Promise.all([1, 2].map(() => resolveConnectionSettings(kubeConfig, clock)))
    expect(first?.proxyUrl).toBe('http://proxy.test:1')
    expect(first?.proxyAgent).toBeInstanceOf(Agent)
    expect(second?.proxyAgent).not.toBe(first?.proxyAgent)
  })

  test.each(['http://localhost:1', 'http://127.0.0.1:1', 'http://127.255.1.20', 'http://[::1]:1'])(
    'may have plain HTTP on this machine: %s',
    async (server) => {
      const { tls } = await resolveConnectionSettings(config({ cluster: { server } }), clock)
      expect(tls).toEqual({ rejectUnauthorized: false })
    },
  )

  test.each([
    'http://one:8080',
    'http://128.0.0.1',
    'http://10.127.0.1',
    'http://127.0.0.1.test',
    'http://x127.0.0.1.test',
    'http://[::2]:1',
    'http://localhost.test',
  ])('may not have plain HTTP to another machine: %s', async (server) => {
    await expect(resolveConnectionSettings(config({ cluster: { server } }), clock)).rejects.toThrow(
      'HTTP protocol is not allowed',
    )
  })

  test('keeps the check of the certificate of a server on this machine with HTTPS', async () => {
    const { tls } = await resolveConnectionSettings(config({ cluster: { server: 'https://localhost:1' } }), clock)
    expect(tls).toEqual({})
  })

  test('does not quote a token that no header can hold', async () => {
    await expect(resolveConnectionSettings(config({ user: { token: 'a\u0000b' } }), clock)).rejects.toThrow(
      expect.objectContaining({
        constructor: KubeConfigError,
        message: 'The credentials of the kubeconfig hold characters that the header Authorization cannot',
      }),
    )
  })

  test('is refused without a usable server', async () => {
    await expect(resolveConnectionSettings(config({ cluster: { server: 'ftp://one' } }), clock)).rejects.toThrow(
      'begins with neither `https:` nor `http:`',
    )
  })
})

describe('a kubeconfig', () => {
  test('is refused without a cluster', async () => {
    await expect(resolveConnectionSettings(new KubeConfig(), clock)).rejects.toThrow(
      expect.objectContaining({
        constructor: KubeConfigError,
        message: 'The kubeconfig has no cluster for its current context',
      }),
    )
  })

  test('is read again for every new settings, and its view is not', async () => {
    const kubeConfig = clientNodeConfig()
    const reload = vi.fn()
    Object.assign(kubeConfig, { [RELOAD]: reload })
    const { view } = await resolveConnectionSettings(kubeConfig, clock)
    expect(reload).toHaveBeenCalledOnce()
    Reflect.get(view(), RELOAD)()
    expect(reload).toHaveBeenCalledOnce()
    expect(Reflect.get(view(), 'agentCache')).toEqual(new Map())
  })

  test('makes no agent for HTTPS without a proxy', async () => {
    const kubeConfig = clientNodeConfig()
    const createAgent = vi.spyOn(kubeConfig as unknown as { createAgent: () => unknown }, 'createAgent')
    await resolveConnectionSettings(kubeConfig, clock)
    expect(createAgent).not.toHaveBeenCalled()
    const through = clientNodeConfig({ cluster: { proxyUrl: 'http://proxy.test:1' } })
    const createProxy = vi.spyOn(through as unknown as { createAgent: () => unknown }, 'createAgent')
    await resolveConnectionSettings(through, clock)
    expect(createProxy).toHaveBeenCalled()
  })

  test('has headers as texts without space around them, and none without a value', async () => {
    const kubeConfig = clientNodeConfig()
    const headers = { one: ' 1 ', number: 2, none: undefined }
    kubeConfig.applyToHTTPSOptions = async (options) => void Object.assign(options, { headers })
    expect((await resolveConnectionSettings(kubeConfig, clock)).headers).toEqual({ one: '1', number: '2' })
    kubeConfig.applyToHTTPSOptions = async (options) => void Object.assign(options, { headers: ['a', 'b'] })
    expect((await resolveConnectionSettings(kubeConfig, clock)).headers).toEqual({})
    kubeConfig.applyToHTTPSOptions = async () => {}
    expect((await resolveConnectionSettings(kubeConfig, clock)).headers).toEqual({})
  })

  test('has every kind of TLS material that client-node sets, and nothing else', async () => {
    const kubeConfig = clientNodeConfig()
    const tls = {
      ca: 'a',
      cert: 'b',
      key: 'c',
      pfx: 'd',
      passphrase: 'e',
      servername: 'f',
      rejectUnauthorized: true,
    }
    kubeConfig.applyToHTTPSOptions = async (options) => void Object.assign(options, { ...tls, other: 1 })
    expect((await resolveConnectionSettings(kubeConfig, clock)).tls).toEqual(tls)
  })

  test('has no key of TLS material without a value, which would take the place of a default', async () => {
    const kubeConfig = clientNodeConfig()
    kubeConfig.applyToHTTPSOptions = async (options) => void Object.assign(options, { rejectUnauthorized: undefined })
    expect((await resolveConnectionSettings(kubeConfig, clock)).tls).toStrictEqual({})
  })

  test('that was completed decides from then on', async () => {
    const found = foundConfig({ user: { token: 'found' } })
    const completed = found.complete()
    completed.users = [{ name: 'me', token: 'completed' }]
    expect((await resolveConnectionSettings(found, clock)).headers).toEqual({ Authorization: 'Bearer completed' })
  })

  test('that was found is completed for the view only', async () => {
    const found = foundConfig({ user: { token: 't' } })
    const { view } = await resolveConnectionSettings(found, clock)
    expect(found.completed).toBeUndefined()
    expect(view().getCurrentCluster()?.server).toBe('https://one:6443')
    expect(found.completed).toBeDefined()
  })
})
