import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { importClientNode } from '#client-node'
import { currentUser, reload, withdraw } from '../src/client/credentials.ts'
import { type ExecCredential, runExecPlugin } from '../src/client/exec-credential.ts'
import { KubeConfigError } from '../src/client/kubeconfig/kube-config-error.ts'
import { RELOAD } from '../src/client/kubeconfig/loaded-kube-config.ts'
import { ManualClock } from './support/manual-clock.ts'

vi.mock(import('../src/client/exec-credential.ts'), () => ({ runExecPlugin: vi.fn() }))
vi.mock(import('#client-node'), async (original) => ({ ...(await original()), importClientNode: vi.fn() as never }))

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0]

const CLUSTER = { name: 'c', server: 'https://one:6443', skipTLSVerify: false }
const TOKEN: ExecCredential = { token: 'plugged', cert: undefined, key: undefined, expiresAt: undefined }

let clock: ManualClock

beforeEach(() => {
  clock = new ManualClock()
  vi.mocked(runExecPlugin).mockReset().mockResolvedValue(TOKEN)
})

/** A kubeconfig with one user. */
function configOf(user: Partial<User> | null, more: object = {}) {
  const users: User[] = user === null ? [] : [{ name: 'me', ...user }]
  return { users, getCurrentUser: () => users[0] ?? null, ...more }
}

const userOf = async (user: Partial<User>, more: object = {}) =>
  (await currentUser(configOf(user, more), CLUSTER, clock)).user

describe('the current user of a kubeconfig', () => {
  test('is nobody where there is none', async () => {
    expect(await currentUser(configOf(null), CLUSTER, clock)).toEqual({ user: { name: '' }, issued: undefined })
  })

  test('is as it is found without a plugin, a token file or a provider', async () => {
    const user = { name: 'me', token: 't', certFile: 'c', exec: null, authProvider: null }
    expect(await currentUser(configOf(user), CLUSTER, clock)).toEqual({ user, issued: undefined })
  })

  test('is reloaded where the kubeconfig follows its files', () => {
    const reloaded = vi.fn()
    reload({ [RELOAD]: reloaded } as unknown as KubeConfig)
    expect(reloaded).toHaveBeenCalledOnce()
    expect(() => reload(configOf(null) as unknown as KubeConfig)).not.toThrow()
  })
})

describe('a user with a token file', () => {
  const provider = (tokenFile: string) => ({ name: 'tokenFile', config: { tokenFile } })

  function fileWith(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-token-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'token'), text)
    return join(folder, 'token')
  }

  test('has the token that the file holds, in place of its own', async () => {
    const user = { token: 'old', username: 'u', authProvider: provider(fileWith(' new \n')) }
    expect(await currentUser(configOf(user), CLUSTER, clock)).toEqual({
      user: { name: 'me', username: 'u', token: 'new' },
      issued: undefined,
    })
  })

  test('fails where the file is empty or cannot be read', async () => {
    const path = fileWith('\n')
    await expect(userOf({ authProvider: provider(path) })).rejects.toThrow(
      expect.objectContaining({
        message: `The token file ${path} of user \`me\` is empty`,
        constructor: KubeConfigError,
      }),
    )
    await expect(userOf({ authProvider: provider(`${path}.none`) })).rejects.toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^The token file of user `me` cannot be read: ENOENT/) as string,
        cause: expect.objectContaining({ code: 'ENOENT' }) as object,
        constructor: KubeConfigError,
      }),
    )
  })
})

describe('a user with a plugin', () => {
  const EXEC = { command: 'login' }

  test.each([
    ['of its own', { exec: EXEC }],
    ['of its provider', { authProvider: { name: 'exec', config: { exec: EXEC } } }],
  ])('has what the plugin %s gives', async (_, given) => {
    const { user, issued } = await currentUser(configOf({ ...given, username: 'u', certFile: 'f' }), CLUSTER, clock)
    expect(runExecPlugin).toHaveBeenCalledExactlyOnceWith({ user: 'me', exec: EXEC, cluster: CLUSTER })
    expect(user).toEqual({ name: 'me', username: 'u', certFile: 'f', token: 'plugged' })
    expect(await issued?.credential).toBe(TOKEN)
    expect(issued?.since).toBe(0)
  })

  test.each<[string, Partial<ExecCredential>, object]>([
    ['a certificate with its key', { cert: 'cert', key: 'key' }, { certData: 'Y2VydA==', keyData: 'a2V5' }],
    ['a certificate alone', { cert: 'cert' }, { certFile: 'c', keyFile: 'k' }],
    ['a key alone', { key: 'key' }, { certFile: 'c', keyFile: 'k' }],
  ])('has %s of the plugin, in place of files, or the files', async (_, output, expected) => {
    vi.mocked(runExecPlugin).mockResolvedValue({ ...TOKEN, token: undefined, ...output })
    const user = await userOf({ exec: EXEC, token: 'own', certFile: 'c', keyFile: 'k' })
    expect(user).toEqual({ name: 'me', token: 'own', ...expected })
  })

  test('has no files where it has none', async () => {
    expect(Object.keys(await userOf({ exec: EXEC }))).toEqual(['name', 'token'])
  })

  test('runs it again when its output has expired', async () => {
    vi.mocked(runExecPlugin).mockResolvedValue({ ...TOKEN, expiresAt: clock.wallTime() + 1000 })
    const config = configOf({ exec: EXEC })
    const ask = () => currentUser(config, CLUSTER, clock)
    const [first, same] = await Promise.all([ask(), ask()])
    expect(same.issued).toBe(first.issued)
    clock.advance(999)
    await ask()
    expect(runExecPlugin).toHaveBeenCalledTimes(1)
    clock.advance(1)
    const next = await ask()
    expect(runExecPlugin).toHaveBeenCalledTimes(2)
    expect([next.issued === first.issued, next.issued?.since]).toEqual([false, 1000])
  })

  test('runs it once where two find that it has expired', async () => {
    const config = configOf({ exec: EXEC })
    vi.mocked(runExecPlugin).mockResolvedValue({ ...TOKEN, expiresAt: clock.wallTime() + 1000 })
    await currentUser(config, CLUSTER, clock)
    clock.advance(1000)
    vi.mocked(runExecPlugin).mockResolvedValue(TOKEN)
    await Promise.all([1, 2, 3].map(() => currentUser(config, CLUSTER, clock)))
    expect(runExecPlugin).toHaveBeenCalledTimes(2)
  })

  test('runs another one for another user, another command or another server', async () => {
    const config = configOf({ exec: EXEC })
    const [user] = config.users
    if (user === undefined) throw new Error('Expected a user')
    await currentUser(config, CLUSTER, clock)
    await currentUser(config, { ...CLUSTER, server: 'https://two:6443' }, clock)
    Object.assign(user, { exec: { command: 'other' } })
    await currentUser(config, { ...CLUSTER, server: 'https://two:6443' }, clock)
    Object.assign(user, { name: 'you' })
    await currentUser(config, { ...CLUSTER, server: 'https://two:6443' }, clock)
    expect(runExecPlugin).toHaveBeenCalledTimes(4)
    await currentUser(config, { ...CLUSTER, server: 'https://two:6443' }, clock)
    expect(runExecPlugin).toHaveBeenCalledTimes(4)
  })

  test('runs it again after it has failed', async () => {
    const config = configOf({ exec: EXEC })
    const failure = new KubeConfigError('no')
    vi.mocked(runExecPlugin).mockRejectedValueOnce(failure)
    await expect(currentUser(config, CLUSTER, clock)).rejects.toBe(failure)
    expect((await currentUser(config, CLUSTER, clock)).user.token).toBe('plugged')
  })

  test('keeps the output of a later run when an earlier one fails', async () => {
    const config = configOf({ exec: EXEC })
    const earlier = Promise.withResolvers<ExecCredential>()
    vi.mocked(runExecPlugin).mockReturnValueOnce(earlier.promise)
    const failing = currentUser(config, CLUSTER, clock)
    const other = { ...CLUSTER, server: 'https://two:6443' }
    await currentUser(config, other, clock)
    earlier.reject(new KubeConfigError('no'))
    await expect(failing).rejects.toThrow('no')
    expect((await currentUser(config, other, clock)).user.token).toBe('plugged')
    expect(runExecPlugin).toHaveBeenCalledTimes(2)
  })

  test('runs it again after the server has refused its output, but not within a second', async () => {
    const config = configOf({ exec: EXEC })
    const { issued } = await currentUser(config, CLUSTER, clock)
    clock.advance(999)
    expect(withdraw(config, issued, clock)).toBe(false)
    await currentUser(config, CLUSTER, clock)
    expect(runExecPlugin).toHaveBeenCalledTimes(1)
    clock.advance(1)
    expect(withdraw(config, issued, clock)).toBe(true)
    await currentUser(config, CLUSTER, clock)
    expect(runExecPlugin).toHaveBeenCalledTimes(2)
    // Somebody else has withdrawn it, and it has run again since.
    expect(withdraw(config, issued, clock)).toBe(true)
    await currentUser(config, CLUSTER, clock)
    expect(runExecPlugin).toHaveBeenCalledTimes(2)
    expect(withdraw(config, undefined, clock)).toBe(false)
  })
})

describe('a user with a provider', () => {
  /** The authenticators of client-node, of which one knows the provider `known`. */
  function authenticators(apply: Authenticator['applyAuthentication']): void {
    const one: Authenticator = {
      isAuthProvider: (user) => user.authProvider?.name === 'known',
      applyAuthentication: apply,
    }
    vi.mocked(importClientNode).mockResolvedValue({
      KubeConfig: class {
        authenticators = [{ isAuthProvider: () => false, applyAuthentication: async () => {} }, one]
      },
    } as never)
  }
  const answering = (authorization: string | undefined) =>
    authenticators(async (_, options) => {
      Object.assign(options, { headers: { Authorization: authorization } })
    })
  const KNOWN = { authProvider: { name: 'known', config: {} } }

  test('is left to an authenticator of the program', async () => {
    const own: Authenticator = { isAuthProvider: (user) => user.name === 'me', applyAuthentication: async () => {} }
    const user = { name: 'me', ...KNOWN }
    expect(await userOf(KNOWN, { custom_authenticators: [own] })).toEqual(user)
    answering('Bearer t')
    const other = { ...own, isAuthProvider: () => false }
    expect(await userOf(KNOWN, { custom_authenticators: [other] })).toEqual({ name: 'me', token: 't' })
  })

  test.each(['Bearer  t ', 'Bearer t\n', 't'])('has the token that client-node gives: %j', async (given) => {
    answering(given)
    expect(await userOf({ ...KNOWN, username: 'u', token: 'old' })).toEqual({ name: 'me', username: 'u', token: 't' })
  })

  test('has the token that client-node sets as one of the headers of a request', async () => {
    authenticators(async (_, options) => void Object.assign(options.headers ?? {}, { Authorization: 'Bearer t' }))
    expect(await userOf(KNOWN)).toEqual({ name: 'me', token: 't' })
  })

  test('has a token that holds the word Bearer', async () => {
    answering('a Bearer token')
    expect(await userOf(KNOWN)).toEqual({ name: 'me', token: 'a Bearer token' })
  })

  test.each([undefined, '', 'Bearer ', 'Bearer undefined'])('fails without a token: %j', async (given) => {
    answering(given)
    await expect(userOf(KNOWN)).rejects.toThrow(
      'The `auth-provider` `known` of user `me` gave no token: it is missing, or it has expired and cannot be renewed; log in again',
    )
  })

  test('fails where client-node has no headers', async () => {
    authenticators(async (_, options) => {
      Reflect.deleteProperty(options, 'headers')
    })
    await expect(userOf(KNOWN)).rejects.toThrow('gave no token')
  })

  test.each([
    [{ name: 'unknown' }, 'unknown'],
    [{ config: {} }, ''],
  ])('fails where client-node does not know it: %j', async (authProvider, name) => {
    answering('Bearer t')
    await expect(userOf({ authProvider })).rejects.toThrow(
      `The \`auth-provider\` \`${name}\` of user \`me\` is not supported; use an \`exec\` plugin`,
    )
  })

  test.each<[unknown, string]>([
    [Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new TypeError('secret'), 'TypeError'],
    ['secret', 'string'],
  ])('fails without what client-node said: %s', async (failure, why) => {
    authenticators(() => Promise.reject(failure))
    await expect(userOf(KNOWN)).rejects.toThrow(
      expect.objectContaining({
        constructor: KubeConfigError,
        message: `The \`auth-provider\` \`known\` of user \`me\` failed (${why}); log in again, or use an \`exec\` plugin`,
      }),
    )
  })

  test('keeps what client-node renews, and the output of its command goes nowhere', async () => {
    const seen: unknown[] = []
    authenticators(async (user, options) => {
      const { config } = user.authProvider as { readonly config: Record<string, unknown> }
      seen.push({ ...config })
      config['access-token'] = 'new'
      options.headers = { Authorization: 'Bearer t' }
    })
    for (const args of [{ 'cmd-args': 'print' }, {}, { 'cmd-args': 7 }]) {
      const config: Record<string, unknown> = { 'cmd-path': '/bin/tool', ...args }
      await userOf({ authProvider: { name: 'known', config } })
      expect(config).toEqual({ 'cmd-path': '/bin/tool', ...args, 'access-token': 'new' })
    }
    const plain: Record<string, unknown> = { expiry: 'x' }
    await userOf({ authProvider: { name: 'known', config: plain } })
    expect(plain).toEqual({ expiry: 'x', 'access-token': 'new' })
    expect(seen).toEqual([
      { 'cmd-path': '/bin/tool', 'cmd-args': `print 2>${devNull}` },
      { 'cmd-path': '/bin/tool', 'cmd-args': ` 2>${devNull}` },
      { 'cmd-path': '/bin/tool', 'cmd-args': ` 2>${devNull}` },
      { expiry: 'x' },
    ])
  })
})
