import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters, styleText } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Terminal } from '../../src/terminal.ts'
import { run, type RunningCommand, startCommand, until } from '../support/command.ts'

let folder = ''

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'tenure-cli-'))))
afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }))

/** Says its pid and its environment, and runs until SIGTERM. It leaves a process behind that ignores SIGTERM. */
const PROGRAM = `
const { spawn } = require('node:child_process')
const stubborn = spawn('/bin/sh', ['-c', 'trap "" TERM; while :; do sleep 0.05; done'], { detached: true, stdio: 'ignore' })
const { TENURE_IDENTITY, TENURE_DEV, TENURE_OPS_PORT, KUBECONFIG } = process.env
console.log(JSON.stringify({ pids: [process.pid, stubborn.pid], TENURE_IDENTITY, TENURE_DEV, TENURE_OPS_PORT, KUBECONFIG }))
process.on('SIGTERM', () => process.exit(0))
setInterval(() => {}, 1e6)
`

/** Stands for the lease `ops/janitor` until SIGTERM. */
const LEADER = `
import { createManager } from 'tenure'
// The leak watch of these tests sets it.
delete process.env.TENURE_LEAK_WATCH
await createManager({ lease: { name: 'janitor', namespace: 'ops' } }).start()
`

interface Started {
  readonly name: string
  readonly pids: readonly number[]
  readonly TENURE_IDENTITY: string
  readonly TENURE_DEV: string
  readonly TENURE_OPS_PORT: string
  readonly KUBECONFIG: string
}

/** The starts that the output tells of. */
function startsIn(out: string): readonly Started[] {
  return [...out.matchAll(/^(replica-\d) \| (\{"pids".*\})$/gm)].map(([, name = '', json = '']) => ({
    ...(JSON.parse(json) as Started),
    name,
  }))
}

function isLeft(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Runs `tenure dev` with keys, until it quits. */
function startDev(name: string, args: readonly string[], given: Partial<Terminal> = {}) {
  let listener: (key: string) => void = () => {}
  const keys = (given: (key: string) => void): (() => void) => {
    listener = given
    return () => {}
  }
  const command = startCommand(['dev', '--kubeconfig', join(folder, name), ...args], { keys, ...given })
  return { ...command, press: (pressed: string) => pressed.split('').forEach((key) => listener(key)) }
}

test('dev runs replicas, each with a kubeconfig and an identity of its own, and leaves nothing behind', async () => {
  const dev = startDev('runs', ['--replicas', '2', '--stop-timeout', '300ms', '--', process.execPath, '-e', PROGRAM])
  await until(() => startsIn(dev.printed.out).length === 2)
  const [first, second] = startsIn(dev.printed.out).toSorted((a, b) => a.name.localeCompare(b.name))
  expect(first).toMatchObject({ TENURE_IDENTITY: expect.stringMatching(/^replica-1_/), TENURE_DEV: '1' })
  expect(second).toMatchObject({ TENURE_IDENTITY: expect.stringMatching(/^replica-2_/) })
  expect(first?.KUBECONFIG).not.toBe(second?.KUBECONFIG)
  expect(first?.TENURE_OPS_PORT).not.toBe(second?.TENURE_OPS_PORT)
  dev.interrupt()
  expect((await dev.done).code).toBe(0)
  const pids = [first, second].flatMap((each) => each?.pids ?? [])
  expect(pids).toHaveLength(4)
  await until(() => !pids.some(isLeft))
  await expect(readFile(first?.KUBECONFIG ?? '')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('dev starts a replica again that was killed, and says so', async () => {
  const dev = startDev('kills', ['--stop-timeout', '300ms', '--', process.execPath, '-e', PROGRAM])
  await until(() => startsIn(dev.printed.out).length === 1)
  dev.press('1k')
  await until(() => startsIn(dev.printed.out).length === 2)
  expect(dev.printed.err).toContain('replica-1 | * was ended by SIGKILL; starts again in')
  dev.press('q')
  expect((await dev.done).code).toBe(0)
})

test('dev --watch restarts the replicas when a file changes', async () => {
  const file = join(folder, 'program.cjs')
  await writeFile(file, PROGRAM)
  const flags = ['--replicas', '2', '--stop-timeout', '300ms', '--watch', file]
  const dev = startDev('watches', [...flags, '--', process.execPath, file])
  await until(() => startsIn(dev.printed.out).length === 2)
  await writeFile(file, `${PROGRAM}// changed`)
  await until(() => startsIn(dev.printed.out).length >= 4)
  expect(dev.printed.err).toContain(`${file} has changed: restarting the replicas, one after the other.`)
  dev.press('q')
  await dev.done
  await rm(file)
})

test('dev moves the leader of its replicas by keys', async () => {
  const program = [process.execPath, '--conditions=@tenure/source', '--input-type=module', '-e', LEADER]
  const dev = startDev('leads', ['--replicas', '2', '--', ...program])
  await until(() => dev.printed.out.includes('"event":"term-began"'))
  const leader = /^(replica-\d) \|.*"event":"term-began"/m.exec(dev.printed.out)?.[1] ?? ''
  const other = leader === 'replica-1' ? 'replica-2' : 'replica-1'
  await until(() => dev.printed.out.includes(`${other} | {`) && dev.printed.out.split('leader-observed').length > 3)
  dev.press('s')
  await until(() => new RegExp(`and ${other}_\\w+ leads. The handover took`).test(dev.printed.out))
  dev.press('c')
  await until(() => dev.printed.err.includes(`${other} | * is cut off from the API server`))
  await until(() => new RegExp(`^${other} .*"event":"request-failed"`, 'm').test(dev.printed.out))
  dev.press(`${other.at(-1)}c`)
  await until(() => dev.printed.err.includes(`${other} | * reaches the API server again`))
  dev.press('q')
  expect((await dev.done).code).toBe(0)
})

/** The address of the page, and what follows it. */
async function pageOf(dev: RunningCommand): Promise<{ readonly port: string; readonly rest: string }> {
  await until(() => dev.printed.out.includes('Press Ctrl-C'))
  const { port = '', rest = '' } =
    /^Page: http:\/\/127\.0\.0\.1:(?<port>\d+)\/#\S+(?<rest>.*)$/m.exec(dev.printed.out)?.groups ?? {}
  return { port, rest }
}

test('dev serves its page on the same port after each start, or says that the port is in use', async () => {
  const first = startDev('page', [])
  const { port, rest } = await pageOf(first)
  // Another `tenure dev` may run on this machine.
  const isInUse = rest === ' (port 8368 is in use)'
  expect([port === '8368', rest]).toEqual(isInUse ? [false, rest] : [true, ''])
  const second = startDev('second-page', [])
  const other = await pageOf(second)
  expect(other.rest).toBe(' (port 8368 is in use)')
  expect(new Set(['8368', port, other.port]).size).toBe(isInUse ? 3 : 2)
  first.interrupt()
  second.interrupt()
  expect([(await first.done).code, (await second.done).code]).toEqual([0, 0])
})

test('dev does not take another port for its page than the given one', async () => {
  const first = startDev('given', ['--page-port', '0'])
  const { port, rest } = await pageOf(first)
  expect(rest).toBe('')
  const { err, code } = await run(['dev', '--kubeconfig', join(folder, 'taken'), '--page-port', port])
  expect([code, err]).toEqual([2, expect.stringContaining(`EADDRINUSE: address already in use 127.0.0.1:${port}`)])
  first.interrupt()
  await first.done
})

/** A program that leads once, and says something of its own. */
const SPEAKER = LEADER.replace('await', 'console.log(JSON.stringify({ level: 30, msg: "my own" }))\nawait')

test.each([
  ['in colours', {}, styleText('green', 'INFO ', { validateStream: false })],
  ['without colours by NO_COLOR', { NO_COLOR: '1' }, ' INFO '],
])('dev in a terminal shows lines of Tenure for people %s, and other lines as they are', async (_how, more, level) => {
  const program = [process.execPath, '--conditions=@tenure/source', '--input-type=module', '-e', SPEAKER]
  const env = { PATH: process.env['PATH'], TERM: 'xterm-256color', ...more }
  const dev = startDev('terminal', ['--', ...program], { columns: 80, env })
  await until(() => dev.printed.out.includes('term began'))
  expect(dev.printed.out).toContain(level)
  expect(stripVTControlCharacters(dev.printed.out)).toMatch(/^replica-1 \| [\d:.]{12} INFO {2}janitor#\d+ term began$/m)
  expect(dev.printed.out).toContain('{"level":30,"msg":"my own"}\n')
  dev.press('q')
  expect((await dev.done).code).toBe(0)
})

test.each([
  [['--replicas', '0', '--', 'true'], 'Expected `--replicas` to be a whole number from 1 to 50, got `0`\n'],
  [['--replicas', '1000', '--', 'true'], 'Expected `--replicas` to be a whole number from 1 to 50, got `1000`\n'],
  [['--replicas', '3'], 'Expected a command after `--replicas`, as in `tenure dev --replicas 3 -- node main.js`\n'],
  [['--', 'no-such-program'], 'Could not start `no-such-program`: there is no such program\n'],
  [['--', '/dev/null'], 'Could not start `/dev/null`: there is no such program\n'],
  [
    ['--stop-timeout', 'soon', '--', 'true'],
    'Expected `--stop-timeout` to be a duration such as `90s` or `2m`, got `soon`\n',
  ],
  [
    ['--watch', '/no/such/path', '--', 'true'],
    "Could not watch /no/such/path: ENOENT: no such file or directory, stat '/no/such/path'\n",
  ],
])('dev %j is refused with code 2 and one line', async (args, message) => {
  const { err, code } = await run(['dev', '--kubeconfig', join(folder, 'refused'), ...args])
  expect([code, err]).toEqual([2, message])
})
