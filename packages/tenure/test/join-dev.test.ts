import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { silentLogger } from '@tenure/core/internal'
import { KubeConfigError } from '@tenure/kubernetes'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { joinDev } from '../src/join-dev.ts'

const REMEDY = 'Start `npx tenure dev` first, or unset TENURE_DEV'
const greeting = { identity: 'a', pid: 7, opsPort: 8081 }

let home = ''
let folder = ''
const servers: Server[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tenure-home-'))
  folder = join(home, 'tenure/dev')
})

afterEach(async () => {
  vi.useRealTimers()
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
  await rm(home, { recursive: true })
})

const open = async () => mkdir(folder, { recursive: true, mode: 0o700 })

/** A `tenure dev` with this PID that answers the first line with `answer`; undefined for none. */
async function runDev(
  pid: number,
  answer: string | undefined,
  take: (line: string, socket: Socket) => void = () => {},
) {
  await open()
  const server = createServer((socket) => {
    socket.once('data', (data: Buffer) => {
      take(data.toString(), socket)
      if (answer !== undefined) socket.write(answer)
    })
    socket.on('end', () => socket.end())
  })
  server.listen(join(folder, `${pid}.sock`))
  await once(server, 'listening')
  servers.push(server)
}

const joined = () => joinDev({ XDG_STATE_HOME: home }, greeting, silentLogger)

/** The error of a process that cannot join. */
async function failure(): Promise<unknown> {
  const error: unknown = await joined().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(KubeConfigError)
  return error
}

test('a process greets the one that runs, gets a kubeconfig, and has joined until it leaves', async () => {
  const left = Promise.withResolvers<void>()
  const lines: string[] = []
  await runDev(11, `${JSON.stringify({ kubeConfigPath: '/k' })}\n`, (line, socket) => {
    lines.push(line)
    socket.once('close', () => left.resolve())
  })
  const dev = await joined()
  expect(dev.kubeConfigPath).toBe('/k')
  expect(lines).toEqual([`${JSON.stringify(greeting)}\n`])
  await dev.leave()
  await left.promise
})

test('without a home directory there is none', async () => {
  await expect(joinDev({}, greeting, silentLogger)).rejects.toThrow(
    'TENURE_DEV=1 finds `tenure dev` in the home directory, but HOME is not set',
  )
})

test.each([
  ['no folder', async () => {}],
  ['an empty folder', open],
  [
    'other files only',
    async () => {
      await open()
      for (const name of ['x.sock', '12.sock.bak', '12345678901.sock']) await writeFile(join(folder, name), '')
    },
  ],
])('with %s there is none that runs, and the message says how to start one', async (_what, make) => {
  await make()
  expect(await failure()).toMatchObject({
    message: `TENURE_DEV=1 found no running \`tenure dev\`: ${folder} has no socket. ${REMEDY}`,
  })
})

test('those that have ended and left a socket are named', async () => {
  await open()
  for (const pid of [21, 22]) await writeFile(join(folder, `${pid}.sock`), '')
  expect(await failure()).toMatchObject({
    message: `TENURE_DEV=1 found no running \`tenure dev\`: PID 21, PID 22 has ended, and left a socket in ${folder}. ${REMEDY}`,
  })
})

test('of several that run none is chosen: the message names them', async () => {
  for (const pid of [31, 32]) await runDev(pid, '{}\n')
  expect(await failure()).toMatchObject({
    message:
      'TENURE_DEV=1 found 2 running `tenure dev`: PID 31, PID 32. Set KUBECONFIG to the file that one of them printed',
  })
})

test.each([
  ['refuses', '{"error":"too many"}\n', 'too many'],
  ['answers without a kubeconfig', '{}\n', 'it gave no kubeconfig'],
  ['answers with something else', '[]\n', 'its answer is malformed'],
])('a `tenure dev` that %s cannot be joined', async (_what, answer, why) => {
  const closed = Promise.withResolvers<string>()
  await runDev(41, answer, (_line, socket) => closed.resolve(text(socket)))
  expect(await failure()).toMatchObject({
    message: `Could not join \`tenure dev\` with PID 41: ${why}`,
    cause: { message: why },
  })
  await closed.promise
})

test('a `tenure dev` that ends instead of an answer cannot be joined', async () => {
  await runDev(51, undefined, (_line, socket) => socket.destroy())
  expect(await failure()).toMatchObject({ message: 'Could not join `tenure dev` with PID 51: it has ended' })
})

test('a `tenure dev` that does not answer within 5 s cannot be joined', async () => {
  const asked = Promise.withResolvers<void>()
  await runDev(61, undefined, () => asked.resolve())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const failed = failure()
  await asked.promise
  vi.advanceTimersByTime(4999)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await failed).toMatchObject({ message: 'Could not join `tenure dev` with PID 61: no answer within 5000 ms' })
})

test('a folder that other users can enter is not used', async () => {
  await open()
  await chmod(folder, 0o755)
  await expect(joined()).rejects.toThrow(
    `TENURE_DEV=1 does not use ${folder}: it must be a folder that only its owner, this user, can enter`,
  )
  await rm(folder, { recursive: true })
  await writeFile(folder, '', { mode: 0o600 })
  await expect(joined()).rejects.toThrow('it must be a folder')
})
