/** Secrets in every input of a replica. None may appear in logs, errors, metrics, health answers, or on the server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { gatedFetch, type Logger } from '@tenure/core'
import { gated, loadKubeConfig } from '@tenure/kubernetes'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { Controller, createManager, type Term } from 'tenure'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Part of every secret, so that any of them is found. */
const SECRET = 'hunter2secret'
const base64 = (text: string) => Buffer.from(text).toString('base64')
/** However it may be written. */
const TRACES = [SECRET, base64(SECRET).slice(0, 12), base64(`u:${SECRET}`), encodeURIComponent(SECRET)]

let controlPlane: ControlPlane
let caCert: string
let files = 0
const root = mkdtempSync(join(tmpdir(), 'tenure-secrets-'))

beforeAll(async () => {
  controlPlane = await startControlPlane()
  ;({ caCert } = controlPlane.access({ name: 'replica' }))
})
afterAll(async () => {
  await controlPlane.stop()
  rmSync(root, { recursive: true, maxRetries: 5 })
})

function file(content: string, mode = 0o600): string {
  const path = join(root, String(++files))
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

const script = (body: string) => file(`#!/bin/sh\n${body}\n`, 0o700)

function kubeConfigText(user: object, cluster: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: controlPlane.url, 'certificate-authority-data': base64(caCert), ...cluster } },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
}

/** All that a value can show of itself. */
function shown(value: unknown): string {
  const texts = [
    inspect(value, { depth: Infinity, showHidden: true, maxStringLength: Infinity, maxArrayLength: Infinity }),
  ]
  for (let error = value; error instanceof Error; error = error.cause)
    texts.push(error.message, error.stack ?? '', String(error))
  return texts.join('\n')
}

function tracesIn(text: string): string[] {
  return TRACES.filter((trace) => text.includes(trace))
}

function listeningLogger(
  lines: string[],
  heard: (event: unknown, fields: Readonly<Record<string, unknown>>) => void,
): Logger {
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push(
      shown(fields),
      message,
      JSON.stringify(fields, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
    for (const value of Object.values(fields)) if (value instanceof Error) lines.push(shown(value))
    heard(fields['event'], fields)
  }
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger }
  return logger
}

interface Heard {
  readonly lines: readonly string[]
  /** Whether it led. */
  readonly led: boolean
}

/** Runs a replica until it leads or was refused twice, and returns all that it said anywhere. */
async function listenTo(name: string, kubeConfig: KubeConfig): Promise<Heard> {
  const lines: string[] = []
  const enough = Promise.withResolvers<void>()
  const listening = Promise.withResolvers<number>()
  let refused = 0
  let led = false
  const logger = listeningLogger(lines, (event, fields) => {
    if (event === 'ops-listening') listening.resolve(Number(fields['port']))
    if (fields['err'] !== undefined && ++refused === 2) enough.resolve()
  })
  class Work extends Controller {
    readonly name = 'work'
    async run(term: Term): Promise<void> {
      led = true
      enough.resolve()
      if (!term.signal.aborted) await once(term.signal, 'abort')
    }
  }
  const manager = createManager({
    lease: { name, namespace: 'default' },
    kubeConfig,
    ops: { port: 0, host: '127.0.0.1' },
    signals: false,
    logger,
    env: {},
    argv: [],
  })
  manager.register(() => new Work())
  manager.on((event) => void lines.push(shown(event)))
  const ended = manager.start()
  ended.catch((error: unknown) => {
    lines.push(shown(error))
    enough.resolve()
    listening.reject(error)
  })
  const port = await listening.promise
  await enough.promise
  for (const path of ['livez?verbose', 'readyz?verbose', 'healthz?verbose', 'metrics']) {
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`)
    lines.push(await answer.text())
  }
  lines.push(shown(manager.state))
  await manager.stop()
  await ended.catch(() => {})
  return { lines, led }
}

describe('a secret in a kubeconfig that cannot be used', () => {
  const token = `    token: ${SECRET}`
  const head = 'apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n'
  test.each([
    ['beside a tab', `${head}${token}\n\tbroken`],
    ['before an open bracket', `${head}${token}\n    exec: [`],
    ['after a wrong indentation', `${head}   x: 1\n${token}`],
    ['given twice', `${head}${token}\n${token}`],
    ['as an alias', `${head}    token: *${SECRET}`],
    ['as a tag', `${head}    token: !${SECRET} x`],
    ['with a colon in it', `${head}${token}: x: y`],
    ['in an open quote', `${head}    token: "${SECRET}`],
    ['with an unknown escape', `${head}    token: "${SECRET}\\q"`],
    ['alone in the file', SECRET],
    ['in a list', `- ${SECRET}`],
    ['in a user without a name', `users:\n- user:\n${token}`],
    ['in the address of the server', 'server'],
    ['in an address that is none', 'no-url'],
    ['in the address of a proxy that is none', 'no-proxy'],
    ['in a proxy of a kind that is not supported', 'ftp'],
    ['beside a key that is not supported', 'as-groups'],
  ])('is not quoted: %s', (_what, text) => {
    const special: Record<string, string> = {
      server: kubeConfigText({}, { server: `https://u:${SECRET}@127.0.0.1:1` }),
      'no-url': kubeConfigText({}, { server: `https://u:${SECRET}@[` }),
      'no-proxy': kubeConfigText({}, { 'proxy-url': `http://u:${SECRET}@[` }),
      ftp: kubeConfigText({}, { 'proxy-url': `ftp://u:${SECRET}@127.0.0.1` }),
      'as-groups': kubeConfigText({ token: SECRET, 'as-groups': [SECRET] }),
    }
    const path = file(special[text] ?? text)
    let thrown: unknown
    try {
      loadKubeConfig({ kubeConfigPath: path, env: {} })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'BAD_KUBECONFIG' })
    expect(tracesIn(shown(thrown))).toEqual([])
  })
})

describe('a secret that a replica was given', () => {
  const azure = (config: object) => ({
    'auth-provider': { name: 'azure', config: { 'token-key': '{.t}', 'expiry-key': '{.e}', ...config } },
  })
  const USERS: readonly [string, () => string][] = [
    ['a token that is refused', () => kubeConfigText({ token: SECRET })],
    ['a token that no header can hold', () => kubeConfigText({ token: `${SECRET}\n${SECRET}\u0000` })],
    ['a token file that no header can hold', () => kubeConfigText({ tokenFile: file(`${SECRET}\n${SECRET}`) })],
    ['a password', () => kubeConfigText({ username: 'u', password: SECRET })],
    [
      'a key that is none',
      () => kubeConfigText({ 'client-certificate-data': base64(SECRET), 'client-key-data': base64(SECRET) }),
    ],
    [
      'what a failing plugin prints',
      () => kubeConfigText({ exec: { command: script(`echo ${SECRET}; echo ${SECRET} >&2; exit 3`) } }),
    ],
    [
      'what a plugin prints that is not JSON',
      () => kubeConfigText({ exec: { command: script(`echo '{"token": ${SECRET}'`) } }),
    ],
    [
      'arguments and environment of a plugin that is missing',
      () =>
        kubeConfigText({
          exec: { command: '/nonexistent/plugin', args: [SECRET], env: [{ name: 'S', value: SECRET }] },
        }),
    ],
    [
      'what a plugin prints before a signal ends it',
      () => kubeConfigText({ exec: { command: script(`echo ${SECRET} >&2; kill -9 $$`) } }),
    ],
    [
      'what the command of an auth-provider prints',
      () =>
        kubeConfigText(azure({ 'cmd-path': script(`echo ${SECRET}; echo ${SECRET} >&2; exit 1`), 'cmd-args': SECRET })),
    ],
    [
      'an id-token that is none',
      () =>
        kubeConfigText({
          'auth-provider': { name: 'oidc', config: { 'id-token': `${SECRET}.${SECRET}.x`, 'client-secret': SECRET } },
        }),
    ],
    [
      'a refresh token that nobody takes',
      () =>
        kubeConfigText({
          'auth-provider': {
            name: 'oidc',
            config: {
              'id-token': `e30.${Buffer.from('{"exp":1}').toString('base64url')}.x`,
              'client-id': 'c',
              'client-secret': SECRET,
              'refresh-token': SECRET,
              'idp-issuer-url': `https://u:${SECRET}@127.0.0.1:1`,
            },
          },
        }),
    ],
    [
      'the password of a proxy',
      () => kubeConfigText({ token: SECRET }, { 'proxy-url': `http://u:${SECRET}@127.0.0.1:1` }),
    ],
    [
      'the password of a SOCKS proxy',
      () => kubeConfigText({ token: SECRET }, { 'proxy-url': `socks5://u:${SECRET}@127.0.0.1:1` }),
    ],
  ]

  test('comes out nowhere when the server cannot be reached with it', async () => {
    const heard = await Promise.all(
      USERS.map(async ([what, make], index) => {
        const kubeConfig = loadKubeConfig({ kubeConfigPath: file(make()), env: {} })
        const { lines, led } = await listenTo(`refused-${index}`, kubeConfig)
        return {
          what,
          led,
          traces: tracesIn(lines.join('\n')),
          lines: lines.filter((line) => tracesIn(line).length > 0).slice(0, 1),
        }
      }),
    )
    expect(heard.filter(({ led, traces }) => led || traces.length > 0)).toEqual([])
  })

  test('comes not even out of the standard error output, and not out of the gated clients', async () => {
    const loading = `import { loadKubeConfig, gated } from '@tenure/kubernetes'
      import { CoreV1Api } from '@kubernetes/client-node'
      import { inspect } from 'node:util'
      const term = { epoch: 1n, isHeld: () => true, gateSignal: new AbortController().signal }
      for (const kubeConfigPath of process.argv.slice(1)) {
        const client = gated(term, loadKubeConfig({ kubeConfigPath })).makeApiClient(CoreV1Api)
        for (const act of ['createNamespacedConfigMap', 'listNamespacedConfigMap'])
          await client[act]({ namespace: 'default', body: {} }).catch((error) => console.log(inspect(error, { depth: 99, showHidden: true })))
      }`
    const paths = USERS.map(([, make]) => file(make()))
    const args = ['--conditions=@tenure/source', '--input-type=module', '-e', loading, ...paths]
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    const lines = `${stdout}\n${stderr}`.split('\n')
    expect(lines.filter((line) => tracesIn(line).length > 0)).toEqual([])
    expect(stdout.match(/Error/g)?.length).toBeGreaterThan(2 * USERS.length - 1)
  })

  test('comes out nowhere when it is in a kubeconfig that was made by hand', async () => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser(
      { name: 'c', server: `https://u:${SECRET}@127.0.0.1:1`, skipTLSVerify: false },
      { name: 'u', token: SECRET },
    )
    const { lines } = await listenTo('by-hand', kubeConfig)
    expect(tracesIn(lines.join('\n'))).toEqual([])
    expect(lines.join('\n')).toContain('has credentials in its `server`')
  })

  test('comes out nowhere when it serves, and leaves nothing on the server', async () => {
    const kubeConfigPath = file(controlPlane.adminKubeConfig())
    const kubeConfig = loadKubeConfig({ kubeConfigPath, env: { HTTPS_PROXY: `http://u:${SECRET}@127.0.0.1:1` } })
    const { key } = controlPlane.access({ name: 'admin', groups: ['system:masters'] })
    const { lines, led } = await listenTo('serving', kubeConfig)
    expect(led).toBe(true)
    const stored = await Promise.all(
      ['/api/v1/namespaces/default/events', '/apis/coordination.k8s.io/v1/namespaces/default/leases'].map(
        async (path) => (await controlPlane.request(path)).text,
      ),
    )
    expect(stored.join()).toContain('became leader')
    const said = [...lines, ...stored].join('\n')
    const secrets = [...TRACES, key, key.split('\n')[1] ?? key, base64(key)]
    expect(secrets.filter((secret) => said.includes(secret))).toEqual([])
  })
})

describe('a secret in a write that is refused', () => {
  const closed = { epoch: 1n, isHeld: () => false, gateSignal: AbortSignal.abort() }

  test('is not in the refusal of gatedFetch()', async () => {
    const url = `https://u:${SECRET}@service.test/charges?token=${SECRET}#${SECRET}`
    const headers = { authorization: SECRET }
    const refusals: unknown[] = []
    const options = { onRefusal: (refusal: unknown) => void refusals.push(refusal) }
    const [outcome] = await Promise.allSettled([
      gatedFetch(closed, undefined, options)(url, { method: 'POST', headers, body: SECRET }),
    ])
    expect(outcome).toMatchObject({ reason: { code: 'WRITE_GATE_CLOSED', url: 'https://service.test/charges' } })
    expect(tracesIn(shown(outcome) + shown(refusals))).toEqual([])
  })

  test('is not in the refusal of a gated client', async () => {
    const kubeConfig = loadKubeConfig({ kubeConfigPath: file(kubeConfigText({ token: SECRET })), env: {} })
    const body = { metadata: { name: 'x' }, stringData: { password: SECRET } }
    const client = gated(closed, kubeConfig).makeApiClient(CoreV1Api)
    const [outcome] = await Promise.allSettled([client.createNamespacedSecret({ namespace: 'default', body })])
    expect(outcome).toMatchObject({ reason: { code: 'WRITE_GATE_CLOSED' } })
    expect(tracesIn(shown(outcome))).toEqual([])
  })
})
