import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { HttpMethod, RequestContext } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KubeConfigError } from '../src/client/kubeconfig/kube-config-error.ts'
import { findKubeConfig, followKubeConfig, loadKubeConfig } from '../src/client/kubeconfig/load-kube-config.ts'
import { inClusterConfig, inClusterNamespace } from '../src/client/kubeconfig/service-account.ts'

/** A fresh folder with these files in it. */
function folderWith(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

function kubeConfigText(name: string, currentContext: string | null = name): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `https://${name}.test` } }],
    users: [{ name, user: { token: `token of ${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    ...(currentContext === null ? {} : { 'current-context': currentContext }),
  })
}

const serviceAccount = { token: 'sa-token', 'ca.crt': 'sa-ca', namespace: 'ops\n' }
const clusterAddress = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const nowhere = '/nonexistent/serviceaccount'

function serverOf(options: Parameters<typeof loadKubeConfig>[0]): string | undefined {
  return loadKubeConfig({ serviceAccountDirectory: nowhere, ...options }).getCurrentCluster()?.server
}

describe('the kubeconfig', () => {
  test('is that of the given path, before everything else', () => {
    const folder = folderWith({ given: kubeConfigText('given'), env: kubeConfigText('env') })
    const env = { KUBECONFIG: join(folder, 'env'), HOME: folder }
    expect(serverOf({ env, kubeConfigPath: join(folder, 'given') })).toBe('https://given.test')
  })

  test('uses the context that is named, even if the files name no current one', () => {
    const folder = folderWith({ a: kubeConfigText('a', null), b: kubeConfigText('b', null) })
    const env = { KUBECONFIG: [join(folder, 'a'), join(folder, 'b')].join(delimiter) }
    expect(serverOf({ env, context: 'b' })).toBe('https://b.test')
    expect(() => loadKubeConfig({ env, context: 'c' })).toThrow('has no context `c`. It has: a, b')
  })

  test('is that of KUBECONFIG, before the service account', () => {
    const folder = folderWith({ env: kubeConfigText('env'), ...serviceAccount })
    const env = { ...clusterAddress, KUBECONFIG: join(folder, 'env') }
    expect(serverOf({ env, serviceAccountDirectory: folder })).toBe('https://env.test')
  })

  test('is that of the service account in a Pod, before the home directory', () => {
    const folder = folderWith({ '.kube/config': kubeConfigText('home'), ...serviceAccount })
    const env = { ...clusterAddress, HOME: folder }
    const kubeConfig = loadKubeConfig({ env, serviceAccountDirectory: folder })
    expect(kubeConfig.getCurrentCluster()).toMatchObject({
      server: 'https://10.0.0.1:443',
      caFile: join(folder, 'ca.crt'),
    })
    expect(kubeConfig.getCurrentUser()?.authProvider).toMatchObject({ config: { tokenFile: join(folder, 'token') } })
    expect(kubeConfig.getContextObject(kubeConfig.getCurrentContext())?.namespace).toBe('ops')
  })

  test('of a Pod authenticates with the token that the file holds', async () => {
    const folder = folderWith(serviceAccount)
    const kubeConfig = loadKubeConfig({ env: clusterAddress, serviceAccountDirectory: folder })
    const options: Parameters<typeof kubeConfig.applyToHTTPSOptions>[0] = {}
    await kubeConfig.applyToHTTPSOptions(options)
    expect(options.headers).toMatchObject({ Authorization: 'Bearer sa-token' })
    expect(String(options.ca)).toBe('sa-ca')
  })

  test('of a Pod brackets an IPv6 address', () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' }
    expect(serverOf({ env, serviceAccountDirectory: folderWith(serviceAccount) })).toBe('https://[fd00::1]:6443')
  })

  test('is that of the home directory where there is no Pod', () => {
    const folder = folderWith({ '.kube/config': kubeConfigText('home') })
    expect(serverOf({ env: { HOME: folder } })).toBe('https://home.test')
  })

  test('is merged from the files of KUBECONFIG: missing ones are skipped, the first entry of a name counts', () => {
    const first = kubeConfigText('shared', null)
    const second = kubeConfigText('shared').replace('https://shared.test', 'https://other.test')
    const folder = folderWith({ first, second, third: kubeConfigText('third') })
    const paths = ['missing', 'first', 'second', 'third'].map((path) => join(folder, path))
    const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: paths.join(delimiter) }, serviceAccountDirectory: nowhere })
    expect(kubeConfig.getCurrentCluster()?.server).toBe('https://shared.test')
    expect(kubeConfig.getClusters().map(({ name }) => name)).toEqual(['shared', 'third'])
  })

  test('is an error that says what was looked for, where there is none', () => {
    const folder = folderWith()
    const load = () => loadKubeConfig({ env: { HOME: folder }, serviceAccountDirectory: nowhere })
    expect(load).toThrow(KubeConfigError)
    expect(load).toThrow(
      /KUBECONFIG is not set.*KUBERNETES_SERVICE_HOST.*serviceaccount\/token.*\.kube\/config does not exist/,
    )
  })

  test('is never a default address: a file that was named but is missing is an error', () => {
    const env = { KUBECONFIG: '/nonexistent/kubeconfig', HOME: folderWith({ '.kube/config': kubeConfigText('home') }) }
    expect(() => serverOf({ env })).toThrow(/named by KUBECONFIG does not exist: \/nonexistent\/kubeconfig/)
    expect(() => serverOf({ env, kubeConfigPath: '/nonexistent/given' })).toThrow(KubeConfigError)
  })

  test.each([
    ['not YAML', '{ clusters: ['],
    ['empty', ''],
    ['a list', '[]'],
  ])('is an error that names the file when it is %s', (_, text) => {
    const path = join(folderWith({ broken: text }), 'broken')
    expect(() => serverOf({ env: {}, kubeConfigPath: path })).toThrow(KubeConfigError)
    expect(() => serverOf({ env: {}, kubeConfigPath: path })).toThrow(path)
  })

  test('is an error when its current context has no cluster', () => {
    const path = join(folderWith({ odd: kubeConfigText('a', 'b') }), 'odd')
    expect(() => serverOf({ env: {}, kubeConfigPath: path })).toThrow(
      `The kubeconfig ${path} has no cluster for its current context \`b\``,
    )
    const none = join(folderWith({ none: kubeConfigText('a', null) }), 'none')
    const env = { KUBECONFIG: [path, none].join(delimiter) }
    writeFileSync(path, kubeConfigText('a', null))
    expect(() => serverOf({ env })).toThrow(
      `The kubeconfig ${path}${delimiter}${none} has no cluster for its current context \`\``,
    )
  })

  test('is an error with the name of the place where it was looked for', () => {
    expect(() => serverOf({ env: {}, kubeConfigPath: '/nonexistent/given' })).toThrow(
      'The kubeconfig named by the given path does not exist: /nonexistent/given',
    )
    const env = { KUBECONFIG: ['/nonexistent/a', '/nonexistent/b'].join(delimiter) }
    expect(() => serverOf({ env })).toThrow(
      `The kubeconfig named by KUBECONFIG does not exist: /nonexistent/a${delimiter}/nonexistent/b`,
    )
    expect(() => loadKubeConfig({ env: { HOME: '/nonexistent/home' } })).toThrow(
      'Found no kubeconfig: KUBECONFIG is not set, this is not a Pod (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or ' +
        '/var/run/secrets/kubernetes.io/serviceaccount/token is missing), and /nonexistent/home/.kube/config does not exist',
    )
  })

  test('is an error that lists the contexts, of which there may be none', () => {
    const folder = folderWith({ file: JSON.stringify({ clusters: [] }) })
    expect(() => loadKubeConfig({ env: {}, kubeConfigPath: join(folder, 'file'), context: 'a' })).toThrow(
      'The kubeconfig has no context `a`. It has: none',
    )
  })

  test('is not looked for in KUBECONFIG where that lists nothing', () => {
    const folder = folderWith({ '.kube/config': kubeConfigText('home') })
    expect(serverOf({ env: { HOME: folder, KUBECONFIG: '' } })).toBe('https://home.test')
    expect(serverOf({ env: { HOME: folder, KUBECONFIG: delimiter } })).toBe('https://home.test')
  })

  test('of a Pod does not count where a context is named', () => {
    const folder = folderWith({ '.kube/config': kubeConfigText('home'), ...serviceAccount })
    const env = { ...clusterAddress, HOME: folder }
    expect(serverOf({ env, serviceAccountDirectory: folder, context: 'home' })).toBe('https://home.test')
  })

  test('has the users, the contexts and the current context of all files', () => {
    const folder = folderWith({ a: kubeConfigText('a'), b: kubeConfigText('b'), again: kubeConfigText('a', null) })
    const paths = ['a', 'b', 'again'].map((path) => join(folder, path))
    const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: paths.join(delimiter) } })
    const names = [kubeConfig.getClusters(), kubeConfig.getUsers(), kubeConfig.getContexts()].map((entries) =>
      entries.map(({ name }) => name),
    )
    expect(names).toEqual(names.map(() => ['a', 'b']))
    expect(kubeConfig.getCurrentContext()).toBe('a')
  })

  test('has the proxy of the environment, unless it names one itself', () => {
    const env = { HTTPS_PROXY: 'http://env.test:1' }
    const clusters = [{ name: 'a', cluster: { server: 'https://a.test', 'proxy-url': 'http://own.test:1' } }]
    const own = JSON.stringify({ ...JSON.parse(kubeConfigText('a')), clusters })
    const folder = folderWith({ plain: kubeConfigText('a'), own, ...serviceAccount })
    const proxyOf = (options: Parameters<typeof loadKubeConfig>[0]) =>
      loadKubeConfig({ ...options, serviceAccountDirectory: folder }).getCurrentCluster()?.proxyUrl
    expect(proxyOf({ env, kubeConfigPath: join(folder, 'plain') })).toBe('http://env.test:1')
    expect(proxyOf({ env, kubeConfigPath: join(folder, 'own') })).toBe('http://own.test:1')
    expect(proxyOf({ env: {}, kubeConfigPath: join(folder, 'plain') })).toBeUndefined()
    expect(proxyOf({ env: { ...env, ...clusterAddress } })).toBe('http://env.test:1')
    const { clusters: plain } = loadKubeConfig({ env: {}, kubeConfigPath: join(folder, 'plain') })
    expect(plain[0]).not.toHaveProperty('proxyUrl')
  })

  test.each(['env', 'kubeConfigPath', 'context', 'serviceAccountDirectory'])('has the option %s', (option) => {
    expect(() => loadKubeConfig({ [`${option}Q`]: 1 })).toThrow(
      `Unknown option \`${option}Q\` in \`loadKubeConfig()\`; did you mean \`${option}\`?`,
    )
  })
})

describe('the server of a kubeconfig', () => {
  const load = (cluster: object) => {
    const text = JSON.stringify({ ...JSON.parse(kubeConfigText('a')), clusters: [{ name: 'a', cluster }] })
    return loadKubeConfig({ env: {}, kubeConfigPath: join(folderWith({ file: text }), 'file') })
  }

  test.each([
    ['nonsense', 'The cluster `a` has a `server` that is not a URL'],
    ['ftp://a.test', 'The cluster `a` has a `server` that begins with neither `https:` nor `http:`'],
    ['xhttp://a.test', 'The cluster `a` has a `server` that begins with neither `https:` nor `http:`'],
    ...['https://me@a.test', 'https://:secret@a.test', 'http://me:secret@a.test'].map((server) => [
      server,
      'The cluster `a` has credentials in its `server`, which Tenure never sends; move them to `username` and `password` of the user',
    ]),
  ])('is refused, and not quoted: %s', (server, message) => {
    expect(() => load({ server })).toThrow(expect.objectContaining({ message, constructor: KubeConfigError }))
  })

  test.each(['http:', 'https:', 'socks:', 'socks4:', 'socks4a:', 'socks5:', 'socks5h:'])(
    'may have a proxy of the scheme %s',
    (scheme) => {
      const proxyUrl = `${scheme}//proxy.test:1`
      const kubeConfig = load({ server: 'http://a.test', 'proxy-url': proxyUrl })
      expect(kubeConfig.getCurrentCluster()).toMatchObject({ server: 'http://a.test', proxyUrl })
    },
  )

  test.each(['nonsense', 'ftp://me:secret@proxy.test'])('may not have the proxy %s', (proxyUrl) => {
    expect(() => load({ server: 'https://a.test', 'proxy-url': proxyUrl })).toThrow(
      expect.objectContaining({
        message:
          'The cluster `a` has an unsupported proxy; its URL must begin with one of http:, https:, socks:, socks4:, socks4a:, socks5:, socks5h:',
      }),
    )
  })
})

describe('a kubeconfig that is rewritten', () => {
  const tokenOf = async (kubeConfig: ReturnType<typeof loadKubeConfig>) => {
    const options: Parameters<typeof kubeConfig.applyToHTTPSOptions>[0] = {}
    await kubeConfig.applyToHTTPSOptions(options)
    return Reflect.get(options.headers ?? {}, 'Authorization') as unknown
  }

  test('is followed by what was loaded from it: users, clusters and the current context', async () => {
    const path = join(folderWith({ file: kubeConfigText('first') }), 'file')
    const kubeConfig = loadKubeConfig({ env: {}, kubeConfigPath: path })
    expect(await tokenOf(kubeConfig)).toBe('Bearer token of first')
    writeFileSync(path, kubeConfigText('second'))
    expect(await tokenOf(kubeConfig)).toBe('Bearer token of second')
    expect(kubeConfig.getCurrentCluster()?.server).toBe('https://second.test')
  })

  test('is followed by the requests of the clients of client-node', async () => {
    const path = join(folderWith({ file: kubeConfigText('first') }), 'file')
    const kubeConfig = loadKubeConfig({ env: {}, kubeConfigPath: path })
    const tokenOfRequest = async () => {
      const request = new RequestContext('https://a.test/version', HttpMethod.GET)
      await kubeConfig.applySecurityAuthentication(request)
      return request.getHeaders()['Authorization']
    }
    expect(await tokenOfRequest()).toBe('Bearer token of first')
    writeFileSync(path, kubeConfigText('second'))
    expect(await tokenOfRequest()).toBe('Bearer token of second')
  })

  test.each([
    ['half written', '{ clusters: ['],
    ['empty', ''],
    ['without a cluster', 'users: []'],
  ])('counts as it was while it is %s', async (_, text) => {
    const path = join(folderWith({ file: kubeConfigText('first') }), 'file')
    const kubeConfig = loadKubeConfig({ env: {}, kubeConfigPath: path })
    writeFileSync(path, text)
    expect(await tokenOf(kubeConfig)).toBe('Bearer token of first')
    rmSync(path)
    expect(await tokenOf(kubeConfig)).toBe('Bearer token of first')
    writeFileSync(path, kubeConfigText('second'))
    expect(await tokenOf(kubeConfig)).toBe('Bearer token of second')
  })

  test('leaves a context that was set in between as it is', async () => {
    const path = join(folderWith({ file: kubeConfigText('first') }), 'file')
    const kubeConfig = loadKubeConfig({ env: {}, kubeConfigPath: path })
    kubeConfig.setCurrentContext('elsewhere')
    writeFileSync(path, kubeConfigText('second'))
    await tokenOf(kubeConfig)
    expect(kubeConfig.getCurrentContext()).toBe('elsewhere')
  })
})

describe('a kubeconfig of several files', () => {
  test('is followed where one of them changes', () => {
    const folder = folderWith({ a: kubeConfigText('a'), b: kubeConfigText('b') })
    const env = { KUBECONFIG: [join(folder, 'a'), join(folder, 'b')].join(delimiter) }
    const found = findKubeConfig({ env })
    writeFileSync(join(folder, 'b'), kubeConfigText('c'))
    found.reload()
    expect(found.users.map(({ name }) => name)).toEqual(['a', 'c'])
  })

  test('is the same while none of them changes, and once after a change', () => {
    const folder = folderWith({ a: kubeConfigText('a') })
    const found = findKubeConfig({ env: {}, kubeConfigPath: join(folder, 'a') })
    const { users } = found
    found.reload()
    expect(found.users).toBe(users)
    writeFileSync(join(folder, 'a'), kubeConfigText('b'))
    found.reload()
    const changed = found.users
    expect(changed).not.toBe(users)
    found.reload()
    expect(found.users).toBe(changed)
  })

  test('that is followed by its path is that of the path at the moment', () => {
    const folder = folderWith({ a: kubeConfigText('a'), b: kubeConfigText('b') })
    let path = join(folder, 'a')
    const found = followKubeConfig(() => path, {})
    expect(found.getCurrentCluster()?.server).toBe('https://a.test')
    path = join(folder, 'b')
    found.reload()
    expect(found.getCurrentCluster()?.server).toBe('https://b.test')
    path = join(folder, 'missing')
    found.reload()
    expect(found.getCurrentCluster()?.server).toBe('https://b.test')
    expect(() => followKubeConfig(() => path, {})).toThrow('named by the given path')
  })
})

describe('a file that cannot be read', () => {
  const messageOf = (text: string): string => {
    const path = join(folderWith({ file: text }), 'file')
    try {
      serverOf({ env: {}, kubeConfigPath: path })
      return 'read'
    } catch (error) {
      return (error as Error).message.replace(path, 'FILE')
    }
  }

  test('is named, with the reason', () => {
    const folder = folderWith({ 'folder/file': '' })
    const path = join(folder, 'folder')
    const error = (() => {
      try {
        return loadKubeConfig({ env: {}, kubeConfigPath: path })
      } catch (thrown) {
        return thrown as KubeConfigError
      }
    })()
    expect(error).toMatchObject({
      message: expect.stringContaining(`The kubeconfig ${path} cannot be read: EISDIR`) as string,
      cause: { code: 'EISDIR' },
    })
  })

  test('has its place where it is not valid YAML', () => {
    expect(messageOf('a: 1\nb: { secret: [')).toBe(
      'The kubeconfig FILE cannot be read: it is not valid YAML at line 2, column 15',
    )
  })

  test('has no place where the parser names none', () => {
    expect(messageOf('')).toBe('The kubeconfig FILE cannot be read: it is not valid YAML')
  })

  test.each(['[]', 'text'])('is none where it is no mapping: %j', (text) => {
    expect(messageOf(text)).toBe('The kubeconfig FILE cannot be read: it is empty or not a mapping')
  })

  test('has the reason of client-node', () => {
    expect(messageOf(JSON.stringify({ users: [{ user: {} }] }))).toMatch(/^The kubeconfig FILE cannot be read: ./)
  })
})

describe('a user of a kubeconfig', () => {
  const userOf = (user: object) => {
    const text = JSON.stringify({ ...JSON.parse(kubeConfigText('a')), users: [{ name: 'a', user }] })
    const folder = folderWith({ 'config/file': text })
    const kubeConfig = loadKubeConfig({ env: {}, kubeConfigPath: join(folder, 'config/file') })
    return { folder: join(folder, 'config'), user: kubeConfig.getCurrentUser() }
  }

  test.each(['tokenFile', 'token-file'])(
    'has the token of its %s, relative to the kubeconfig, before another',
    (key) => {
      const { folder, user } = userOf({ token: 'old', [key]: 'token' })
      expect(user?.authProvider).toMatchObject({ config: { tokenFile: join(folder, 'token') } })
      expect(user?.token).toBeUndefined()
    },
  )

  test('has a plugin with a path that is relative to the kubeconfig, and one without a path from PATH', () => {
    const { folder, user } = userOf({ exec: { command: './bin/plugin' } })
    expect(user?.exec).toMatchObject({ command: join(folder, 'bin/plugin') })
    expect(userOf({ exec: { command: 'plugin' } }).user?.exec).toMatchObject({ command: 'plugin' })
  })

  test('that client-node reads has its token file as well, and keeps what else it has', () => {
    const user = { as: 'x', token: 'old', 'token-file': 'token' }
    const { folder, user: read } = userOf(user)
    expect(read).toMatchObject({
      impersonateUser: 'x',
      authProvider: { name: 'tokenFile', config: { tokenFile: join(folder, 'token') } },
    })
    expect(read).not.toHaveProperty('token')
    expect(userOf({ as: 'x', token: 'own' }).user).toMatchObject({ impersonateUser: 'x', token: 'own' })
    expect(userOf({ as: 'x' }).user).not.toHaveProperty('token')
  })

  test('has its auth provider, unless it has a token file', () => {
    const provider = { name: 'oidc', config: { 'client-id': 'c' } }
    expect(userOf({ 'auth-provider': provider }).user).toMatchObject({ authProvider: provider })
    const { user } = userOf({ 'auth-provider': provider, tokenFile: 'token' })
    expect(user).toMatchObject({ authProvider: { name: 'tokenFile' } })
  })

  test.each(['as-uid', 'as-groups', 'as-user-extra'])(
    'is refused with %s, which would be left out of its requests',
    (key) => {
      expect(() => userOf({ token: 't', as: 'x', [key]: [] })).toThrow(
        `has the key \`${key}\` in user \`a\`, which is not supported`,
      )
    },
  )
})

describe('the kubeconfig of the Pod', () => {
  test('is that of its service account', () => {
    const folder = folderWith(serviceAccount)
    expect(inClusterConfig(clusterAddress, folder)).toEqual({
      clusters: [
        { name: 'in-cluster', server: 'https://10.0.0.1:443', caFile: join(folder, 'ca.crt'), skipTLSVerify: false },
      ],
      users: [
        { name: 'in-cluster', authProvider: { name: 'tokenFile', config: { tokenFile: join(folder, 'token') } } },
      ],
      contexts: [{ name: 'in-cluster', cluster: 'in-cluster', user: 'in-cluster', namespace: 'ops' }],
      currentContext: 'in-cluster',
    })
    rmSync(join(folder, 'namespace'))
    expect(inClusterConfig(clusterAddress, folder)?.contexts).toEqual([
      { name: 'in-cluster', cluster: 'in-cluster', user: 'in-cluster' },
    ])
  })

  test.each([
    ['an address', { KUBERNETES_SERVICE_HOST: '' }, 'none'],
    ['a port', { KUBERNETES_SERVICE_PORT: '' }, 'none'],
    ['a token', {}, 'token'],
  ])('is none without %s', (_, env, missing) => {
    const folder = folderWith(serviceAccount)
    rmSync(join(folder, missing), { force: true })
    expect(inClusterConfig({ ...clusterAddress, ...env }, folder)).toBeUndefined()
  })
})

describe('the namespace of the Pod', () => {
  test('has the option serviceAccountDirectory', () => {
    expect(() => inClusterNamespace({ serviceAccountDirectoryQ: '' } as object)).toThrow(
      'Unknown option `serviceAccountDirectoryQ` in `inClusterNamespace()`; did you mean `serviceAccountDirectory`?',
    )
  })

  test('is what the service account says', () => {
    expect(inClusterNamespace({ serviceAccountDirectory: folderWith(serviceAccount) })).toBe('ops')
  })

  test('is unknown outside a Pod', () => {
    expect(inClusterNamespace({ serviceAccountDirectory: nowhere })).toBeUndefined()
    expect(inClusterNamespace({ serviceAccountDirectory: folderWith({ namespace: '\n' }) })).toBeUndefined()
  })
})
