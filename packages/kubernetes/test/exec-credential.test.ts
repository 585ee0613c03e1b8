import { execFile, type ExecFileOptions } from 'node:child_process'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type ExecCredential, runExecPlugin } from '../src/client/exec-credential.ts'
import { KubeConfigError } from '../src/client/kubeconfig/kube-config-error.ts'
import type { JsonObject } from '../src/json-object.ts'

vi.mock(import('node:child_process'), async (original) => ({ ...(await original()), execFile: vi.fn() as never }))

afterEach(() => vi.mocked(execFile).mockReset())

type Done = (error: object | null, stdout: string) => void

/** Stands for the program of a plugin: what it was started with, and how it ends. */
function plugin(outcome: string | object) {
  const stdin = { end: vi.fn() }
  const started: { command: string; args: readonly string[]; options: ExecFileOptions }[] = []
  vi.mocked(execFile).mockImplementation(((command: string, args: string[], options: ExecFileOptions, done: Done) => {
    started.push({ command, args, options })
    if (typeof outcome === 'string') queueMicrotask(() => done(null, outcome))
    else queueMicrotask(() => done(outcome, ''))
    return { stdin }
  }) as never)
  return { started, stdin }
}

const cluster = {
  name: 'c',
  server: 'https://one:6443',
  skipTLSVerify: false,
  tlsServerName: 'two',
  caData: 'Y2E=',
  proxyUrl: 'http://p',
}

const run = (exec: JsonObject): Promise<ExecCredential> => runExecPlugin({ user: 'me', exec, cluster })

const printed = (status: object) => JSON.stringify({ kind: 'ExecCredential', status })

const infoIn = (options: ExecFileOptions | undefined) =>
  JSON.parse(options?.env?.['KUBERNETES_EXEC_INFO'] ?? '') as unknown

describe('a credential plugin', () => {
  test('runs without a terminal, with its arguments and its environment', async () => {
    const { started, stdin } = plugin(printed({ token: 't' }))
    const env = [{ name: 'A', value: 'b' }, { name: 'C' }, { value: 'nameless' }, 'x']
    await run({ command: 'login', args: ['--as', 7], env })
    expect(started).toMatchObject([
      { command: 'login', args: ['--as', '7'], options: { timeout: 60_000, maxBuffer: 1_048_576 } },
    ])
    const { KUBERNETES_EXEC_INFO: _, ...rest } = started[0]?.options.env ?? {}
    expect(rest).toEqual({ ...process.env, A: 'b', C: '', '': 'nameless' })
    expect(infoIn(started[0]?.options)).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false },
    })
    expect(stdin.end).toHaveBeenCalledOnce()
  })

  test('hears of its version and of the cluster if it asks for that', async () => {
    const { started } = plugin(printed({ token: 't' }))
    await run({ command: 'login', apiVersion: 'client.authentication.k8s.io/v1beta1', provideClusterInfo: true })
    expect(infoIn(started[0]?.options)).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: 'https://one:6443',
          'tls-server-name': 'two',
          'insecure-skip-tls-verify': false,
          'certificate-authority-data': 'Y2E=',
          'proxy-url': 'http://p',
        },
      },
    })
    expect(started[0]?.args).toEqual([])
  })

  test.each([
    [{ token: 't' }, { token: 't' }],
    [
      { clientCertificateData: 'c', clientKeyData: 'k', expirationTimestamp: '2026-01-01T00:00:00Z' },
      { cert: 'c', key: 'k', expiresAt: Date.UTC(2026, 0, 1) },
    ],
    [
      { token: 't', clientCertificateData: 'c', expirationTimestamp: 'soon' },
      { token: 't', cert: 'c' },
    ],
  ])('gives a token, or a certificate with its key: %j', async (status, expected) => {
    plugin(printed(status))
    expect(await run({ command: 'login' })).toEqual({
      token: undefined,
      cert: undefined,
      key: undefined,
      expiresAt: undefined,
      ...expected,
    })
  })

  test.each([
    '',
    'x',
    '[]',
    '{}',
    printed({}),
    printed({ token: '' }),
    printed({ token: 1 }),
    printed({ clientCertificateData: 'c' }),
    printed({ clientKeyData: 'k' }),
  ])('that prints neither is at fault, and its output is not quoted: %s', async (output) => {
    plugin(output)
    const error: unknown = await run({ command: 'login' }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(KubeConfigError)
    expect(String(error)).toContain(
      'The credential plugin `login` of user `me` printed no ExecCredential with a token or a certificate',
    )
  })

  test.each([
    [{ code: 'ENOENT' }, 'the command does not exist'],
    [{ code: null, killed: true, signal: 'SIGTERM' }, 'it did not end within 60000 ms'],
    [{ code: null, killed: false, signal: 'SIGKILL' }, 'it was ended by SIGKILL'],
    [{ code: 3, killed: false, signal: null }, 'it exited with code 3'],
    [{ code: 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', killed: true, signal: null }, 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'],
  ])('that fails with %j says so without what it printed', async (failure, why) => {
    plugin({ message: 'Command failed: login secret', ...failure })
    await expect(run({ command: 'login' })).rejects.toThrow(
      `The credential plugin \`login\` of user \`me\` failed: ${why}; run it by hand to see what it prints`,
    )
  })

  test('needs a command, and no terminal', async () => {
    const { started } = plugin(printed({ token: 't' }))
    await expect(run({})).rejects.toThrow('The user `me` has an `exec` without a `command`')
    await expect(run({ command: '' })).rejects.toThrow('The user `me` has an `exec` without a `command`')
    await expect(run({ command: 'login', interactiveMode: 'Always' })).rejects.toThrow(
      'The credential plugin `login` of user `me` needs a terminal (`interactiveMode: Always`), but this process has none',
    )
    expect(started).toEqual([])
  })
})
