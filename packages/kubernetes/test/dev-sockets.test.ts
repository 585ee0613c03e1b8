import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { systemClock } from '@tenure/core/internal'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { devFolder, isPrivateFolder, pidOfSocket, stateFolder } from '../src/client/kubeconfig/dev-folder.ts'
import { askDev, connectToDev } from '../src/client/kubeconfig/dev-sockets.ts'
import { KubeConfigError } from '../src/client/kubeconfig/kube-config-error.ts'

vi.mock(import('node:process'), async (original) => {
  const actual = await original()
  return { ...actual, getuid: vi.fn(() => actual.getuid?.()) as never }
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** A folder that only this user may enter. */
function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o700)
  return folder
}

/** A `tenure dev` that hears lines, and answers each with this text. No answer: it ends. */
async function dev(folder: string, pid: number, answer: string | undefined) {
  const heard: string[] = []
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    socket.on('data', (chunk) => {
      heard.push(String(chunk))
      if (answer === undefined) socket.end()
      else socket.write(answer)
    })
  })
  server.listen(join(folder, `${pid}.sock`))
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return heard
}

async function connected(answer: string | undefined) {
  const folder = privateFolder()
  const heard = await dev(folder, 7, answer)
  const [connection] = await connectToDev(folder)
  const { socket } = connection ?? {}
  if (socket === undefined) throw new Error('Expected a connection')
  onTestFinished(() => void socket.destroy())
  return { socket, heard }
}

describe('the folder of a running `tenure dev`', () => {
  test.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/me' }, '/state/tenure'],
    [{ XDG_STATE_HOME: '', HOME: '/home/me' }, '/home/me/.local/state/tenure'],
    [{ HOME: '/home/me' }, '/home/me/.local/state/tenure'],
    [{ HOME: '' }, undefined],
    [{}, undefined],
  ])('is in the state of its user: %j', (env, folder) => {
    expect(stateFolder(env)).toBe(folder)
    expect(devFolder(env)).toBe(folder && `${folder}/dev`)
  })

  test.each([
    ['12.sock', 12],
    ['1234567890.sock', 1_234_567_890],
    ['12345678901.sock', undefined],
    ['.sock', undefined],
    ['a.sock', undefined],
    ['x12.sock', undefined],
    ['12.socket', undefined],
    ['12xsock', undefined],
    ['12', undefined],
  ])('has sockets that are named by their process: %s', (file, pid) => {
    expect(pidOfSocket(file)).toBe(pid)
  })

  test.each([
    [0o700, true],
    [0o500, true],
    [0o750, false],
    [0o705, false],
    [0o701, false],
    [0o710, false],
  ])('is private to its user with the mode %o: %s', (mode, is) => {
    const folder = privateFolder()
    chmodSync(folder, mode)
    expect(isPrivateFolder(folder)).toBe(is)
  })

  test('is not private as a file, and not where it belongs to another user', () => {
    const folder = privateFolder()
    writeFileSync(join(folder, 'file'), '', { mode: 0o600 })
    expect(isPrivateFolder(join(folder, 'file'))).toBe(false)
    vi.mocked(getuid as () => number).mockReturnValueOnce(4_000_000)
    expect(isPrivateFolder(folder)).toBe(false)
    expect(() => isPrivateFolder(join(folder, 'missing'))).toThrow('ENOENT')
  })
})

describe('a program that looks for a running `tenure dev`', () => {
  test('finds none without a folder', async () => {
    expect(await connectToDev(join(privateFolder(), 'missing'))).toEqual([])
  })

  test('does not use a folder that others may enter', async () => {
    const folder = privateFolder()
    chmodSync(folder, 0o755)
    await expect(connectToDev(folder)).rejects.toThrow(
      expect.objectContaining({
        constructor: KubeConfigError,
        message: `TENURE_DEV=1 does not use ${folder}: it must be a folder that only its owner, this user, can enter`,
      }),
    )
  })

  test('fails where the folder cannot be read', async () => {
    const folder = privateFolder()
    writeFileSync(join(folder, 'file'), '')
    await expect(connectToDev(join(folder, 'file', 'dev'))).rejects.toThrow('ENOTDIR')
  })

  test('connects to each that runs, and knows those that have ended', async () => {
    const folder = privateFolder()
    await dev(folder, 7, '{}')
    writeFileSync(join(folder, '8.sock'), '')
    writeFileSync(join(folder, 'notes'), '')
    mkdirSync(join(folder, 'x9.sock'))
    const unref = vi.spyOn(Socket.prototype, 'unref')
    const connections = await connectToDev(folder)
    const sockets = connections.map(({ socket }) => socket)
    expect(connections.map(({ pid, socket }) => [pid, socket?.readyState])).toEqual([
      [7, 'open'],
      [8, undefined],
    ])
    expect(unref.mock.contexts).toContain(sockets[0])
    // An error of the connection later does not end the process.
    sockets[0]?.emit('error', new Error('reset'))
    sockets[0]?.destroy()
  })
})

describe('a question to a running `tenure dev`', () => {
  test('is a line of JSON, and so is its answer', async () => {
    const { socket, heard } = await connected('{"port":1}\n')
    const [ref, unref] = [vi.spyOn(socket, 'ref'), vi.spyOn(socket, 'unref')]
    expect(await askDev(socket, { about: 'web-1', kill: true })).toEqual({ port: 1 })
    expect(heard).toEqual(['{"about":"web-1","kill":true}\n'])
    // The process waits for the answer, and not for the connection.
    expect([ref.mock.calls.length, unref.mock.calls.length]).toEqual([1, 1])
    expect(unref.mock.invocationCallOrder[0]).toBeGreaterThan(ref.mock.invocationCallOrder[0] ?? 0)
    expect(socket.isPaused()).toBe(false)
  })

  test.each([
    ['{"error":"there is no replica web-1"}\n', 'there is no replica web-1'],
    ['[]\n', 'its answer is malformed'],
    ['null\n', 'its answer is malformed'],
    ['{\n', 'JSON'],
    [undefined, 'it has ended'],
  ])('fails with %j', async (answer, message) => {
    const { socket } = await connected(answer)
    await expect(askDev(socket, { about: 'web-1' })).rejects.toThrow(message)
  })

  test('fails after 5 s without an answer, and leaves no timer', async () => {
    const { socket } = await connected('')
    const cancel = vi.fn()
    let delay: number | undefined
    vi.spyOn(systemClock, 'setTimer').mockImplementation((delayMs, callback) => {
      delay = delayMs
      queueMicrotask(callback)
      return { cancel }
    })
    await expect(askDev(socket, { about: 'web-1' })).rejects.toThrow('no answer within 5000 ms')
    expect(delay).toBe(5000)
    expect(cancel).toHaveBeenCalledOnce()
  })
})
