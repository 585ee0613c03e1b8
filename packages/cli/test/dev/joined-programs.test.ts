import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { silentLogger } from '@tenure/core/internal'
import { createManager, type Logger, type ProcessManager } from 'tenure'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run, startCommand, until } from '../support/command.ts'

let home = ''
let sockets = ''

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tenure-cli-'))
  sockets = join(home, '.local/state/tenure/dev')
})
afterEach(() => rm(home, { recursive: true, maxRetries: 5 }))

/** Runs `tenure dev` of the user whose home this is. */
async function startDev() {
  const env = { PATH: process.env['PATH'], HOME: home }
  const dev = startCommand(['dev', '--kubeconfig', join(home, 'admin.yaml')], { env })
  await until(() => dev.printed.out.includes('Press Ctrl-C'))
  const [, page = '', token = ''] = /Page: (\S+)\/#(\S+)/.exec(dev.printed.out) ?? []
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const headers = { 'x-tenure-token': token, 'content-type': 'application/json' }
    const answer = await fetch(`${page}/${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    return answer.json()
  }
  const stop = async (): Promise<void> => {
    dev.interrupt()
    expect((await dev.done).code).toBe(0)
  }
  return {
    ...dev,
    ask,
    act: (action: string, replica: string) => ask('actions', { action, replica }),
    stop,
    page,
    token,
  }
}

/** The times of a lease that is soon over. */
const SHORT = { leaseDurationMs: 1000, renewDeadlineMs: 700, retryPeriodMs: 100 }

/** A program that stands for the lease `ops/janitor`. It is not told where the server is. */
function program(
  identity: string,
  env: NodeJS.ProcessEnv = {},
  { logger = silentLogger, ...times }: Partial<typeof SHORT> & { readonly logger?: Logger } = {},
): ProcessManager {
  return createManager({
    env: { HOME: home, TENURE_DEV: '1', ...env },
    argv: [],
    identity,
    lease: { name: 'janitor', namespace: 'ops', ...times },
    logger,
    signals: false,
  })
}

/** The replicas that the page shows to somebody who opens it. */
async function replicasOf({ page, token }: { readonly page: string; readonly token: string }): Promise<unknown> {
  const answer = await fetch(`${page}/events?token=${token}`)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let data: string | undefined
  while (data === undefined) {
    text += (await reader?.read())?.value ?? ''
    data = /^event: snapshot\ndata: (.*)$/m.exec(text)?.[1]
  }
  await reader?.cancel()
  return (JSON.parse(data) as { readonly replicas: unknown }).replicas
}

test('a program with TENURE_DEV=1 finds the running dev, and is shown, explained and cut off by its page', async () => {
  const dev = await startDev()
  const manager = program('one')
  const running = manager.start()
  await until(() => manager.candidacies[0]?.state.kind === 'leading')
  expect(await replicasOf(dev)).toEqual([{ name: 'one', state: 'running', isCutOff: false }])
  expect(await dev.ask('explain?lease=ops/janitor')).toMatchObject({
    sentences: expect.arrayContaining([
      expect.stringMatching(/^one: it leads with epoch \d+/),
      'one: its health checks pass.',
    ]),
  })
  await dev.act('cut', 'one')
  expect(await replicasOf(dev)).toMatchObject([{ name: 'one', isCutOff: true }])
  await dev.act('cut', 'one')
  await manager.stop()
  await running
  await until(() => dev.printed.err.includes('one | * has left'))
  expect(await replicasOf(dev)).toEqual([])
  expect(dev.printed.err.replaceAll(/PID \d+/g, 'PID …')).toBe(
    'one | * has joined with PID …\none | * is cut off from the API server\n' +
      'one | * reaches the API server again\none | * has left\n',
  )
  await dev.stop()
  expect(await readdir(sockets)).toEqual([])
})

test('a program joins the next dev, leads again with a higher epoch, and says so', async () => {
  const said: string[] = []
  const note = (_fields: object, text: string): void => void said.push(text)
  const logger: Logger = { ...silentLogger, info: note, warn: note, child: () => logger }
  const first = await startDev()
  const manager = program('one', {}, { ...SHORT, logger })
  const running = manager.start()
  const epoch = (): bigint => {
    const state = manager.candidacies[0]?.state
    return state?.kind === 'leading' ? state.epoch : 0n
  }
  await until(() => epoch() > 0n)
  const firstEpoch = epoch()
  await first.stop()
  const second = await startDev()
  await until(() => epoch() > firstEpoch)
  expect(await replicasOf(second)).toEqual([{ name: 'one', state: 'running', isCutOff: false }])
  expect(said).toEqual(
    expect.arrayContaining([
      `\`tenure dev\` with PID ${pid} has ended, and its API server with it. This process joins the next \`tenure dev\``,
      `joined \`tenure dev\` with PID ${pid}`,
    ]),
  )
  await manager.stop()
  await running
  await until(() => second.printed.err.includes('one | * has left'))
  await second.stop()
})

test('a program that waits says once what it waits for', async () => {
  const said: string[] = []
  const note = (_fields: object, text: string): void => void said.push(text)
  const logger: Logger = { ...silentLogger, info: note, warn: note, child: () => logger }
  const dev = await startDev()
  const manager = program('one', {}, { ...SHORT, logger })
  const running = manager.start()
  await until(() => dev.printed.err.includes('one | * has joined'))
  const answer = `${JSON.stringify({ isKnown: false, project: '/another/kubeconfig' })}\n`
  const other = createServer((socket) => socket.on('data', () => socket.write(answer)).on('error', () => {}))
  await once(other.listen(join(sockets, '4194304.sock')), 'listening')
  await dev.stop()
  const line = `waiting: this process joins \`tenure dev\` when one serves ${join(home, 'admin.yaml')}: PID 4194304 ran before, for another project`
  await until(() => said.includes(line))
  await manager.stop()
  await running
  expect(said.filter((text) => text === line)).toHaveLength(1)
  other.close()
})

test('a program that waits for the next dev can stop', async () => {
  const dev = await startDev()
  const manager = program('one', {}, SHORT)
  const running = manager.start()
  await until(() => dev.printed.err.includes('one | * has joined'))
  await dev.stop()
  await manager.stop()
  await running
})

test('only its owner can use the socket', async () => {
  const dev = await startDev()
  const modes = [sockets, join(sockets, `${pid}.sock`)].map(async (path) => (await stat(path)).mode & 0o777)
  expect(await Promise.all(modes)).toEqual([0o700, 0o600])
  await dev.stop()
})

test('the page kills and pauses the process of a program that has joined', async () => {
  const dev = await startDev()
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const socket = connect(join(sockets, `${pid}.sock`))
  socket.write(`${JSON.stringify({ identity: 'sleeper', pid: child.pid })}\n`)
  await once(socket, 'data')
  const stateOf = async () => / ([A-Z]) /.exec(await readFile(`/proc/${child.pid}/stat`, 'utf8'))?.[1]
  await dev.act('pause', 'sleeper')
  await until(async () => (await stateOf()) === 'T')
  expect(await replicasOf(dev)).toMatchObject([{ name: 'sleeper', state: 'paused' }])
  await dev.act('pause', 'sleeper')
  await until(async () => (await stateOf()) === 'S')
  await dev.act('kill', 'sleeper')
  expect(await ended).toEqual([null, 'SIGKILL'])
  socket.destroy()
  await dev.stop()
})

test('explain asks a program that has joined, and chaos --kill kills it', async () => {
  const dev = await startDev()
  const env = { PATH: process.env['PATH'], HOME: home }
  const flags = ['-n', 'ops', '--kubeconfig', join(home, 'admin.yaml')]
  const manager = program('one')
  const running = manager.start()
  await until(() => manager.candidacies[0]?.state.kind === 'leading')
  const { out } = await run(['explain', 'janitor', ...flags], { env })
  expect(out).toMatch(/^one: it leads with epoch \d+ and may act for .*\none: its health checks pass\.$/m)
  await manager.stop()
  await running
  // It leads in this process. What is killed stands in for it.
  const leader = program('two', { KUBECONFIG: join(home, 'admin.yaml') })
  const leading = leader.start()
  await until(() => leader.candidacies[0]?.state.kind === 'leading')
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const socket = connect(join(sockets, `${pid}.sock`))
  socket.write(`${JSON.stringify({ identity: 'two', pid: child.pid })}\n`)
  await once(socket, 'data')
  const times = ['--kill', '--times', '1', '--every', '1ms', '--timeout', '50ms']
  const chaos = await run(['chaos', 'janitor', ...times, ...flags], { env, random: () => 0 })
  expect([chaos.code, chaos.out]).toEqual([1, 'Killed two.\n'])
  expect(await ended).toEqual([null, 'SIGKILL'])
  socket.destroy()
  await leader.stop()
  await leading
  await dev.stop()
})

test('a program that sends nonsense gets an error, and does not end dev', async () => {
  const dev = await startDev()
  for (const line of ['nonsense', '{}', '{"identity":"all","pid":-1}']) {
    const socket = connect(join(sockets, `${pid}.sock`))
    socket.write(`${line}\n`)
    expect(JSON.parse(String(await once(socket, 'data')))).toEqual({ error: expect.any(String) })
    socket.destroy()
  }
  expect(await replicasOf(dev)).toEqual([])
  await dev.stop()
})

test('a program names the socket that a killed dev has left, and the next dev removes it', async () => {
  await mkdir(sockets, { recursive: true, mode: 0o700 })
  const stale = join(sockets, '4194305.sock')
  const child = spawn(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(stale)}, () => console.log())`,
  ])
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  await expect(program('one').start()).rejects.toThrow(
    `TENURE_DEV=1 found no running \`tenure dev\`: PID 4194305 has ended, and left a socket in ${sockets}. ` +
      'Start `npx tenure dev` first, or unset TENURE_DEV',
  )
  const dev = await startDev()
  expect(await readdir(sockets)).toEqual([`${pid}.sock`])
  await dev.stop()
})

test('without a running dev, a program with TENURE_DEV=1 says so and does not look for another cluster', async () => {
  const message = `TENURE_DEV=1 found no running \`tenure dev\`: ${sockets} has no socket. Start`
  await expect(program('one').start()).rejects.toThrow(message)
  await expect(program('one', { KUBECONFIG: '/no/such/file' }).start()).rejects.toThrow(message)
  await expect(program('one', { HOME: '' }).start()).rejects.toThrow('but HOME is not set')
})

test('a program does not enter a folder that others can write, and dev does not use it', async () => {
  await mkdir(sockets, { recursive: true })
  await chmod(sockets, 0o777)
  await expect(program('one').start()).rejects.toThrow(`TENURE_DEV=1 does not use ${sockets}: it must be a folder that`)
  const dev = await startDev()
  expect(dev.printed.err).toBe(
    `Programs with TENURE_DEV=1 cannot find this server, only those with KUBECONFIG: other users can enter ${sockets}.\n`,
  )
  expect(dev.printed.out).not.toContain('TENURE_DEV=1')
  await dev.stop()
})

test('of several running ones, KUBECONFIG chooses', async () => {
  const dev = await startDev()
  const other = createServer()
  await once(other.listen(join(sockets, '1234567890.sock')), 'listening')
  await expect(program('one').start()).rejects.toThrow(
    /found 2 running `tenure dev`: PID \d+, PID \d+\. Set KUBECONFIG to the file that one of them printed/,
  )
  const manager = program('one', { KUBECONFIG: join(home, 'admin.yaml') })
  const running = manager.start()
  await until(() => manager.candidacies[0]?.state.kind === 'leading')
  await manager.stop()
  await running
  other.close()
  await dev.stop()
})

test('TENURE_DEV has one value', () => {
  expect(() => program('one', { TENURE_DEV: 'yes' })).toThrow('Expected `TENURE_DEV` to be `1`, or not set, got `yes`')
})
