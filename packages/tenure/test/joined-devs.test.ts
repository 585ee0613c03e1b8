import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Logger } from '@tenure/core'
import { silentLogger, systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { joinDev, type JoinedDev } from '../src/join-dev.ts'

const greeting = { identity: 'a', pid: 7 }

let home = ''
let folder = ''
const devs = new Set<Dev>()

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tenure-home-'))
  folder = join(home, 'tenure/dev')
  await mkdir(folder, { recursive: true, mode: 0o700 })
})

afterEach(async () => {
  vi.restoreAllMocks()
  for (const dev of devs) await dev.end()
  await rm(home, { recursive: true })
})

/** A `tenure dev` that says which project it serves, and gives each process a kubeconfig. */
class Dev {
  readonly pid: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** What it was asked. */
  readonly lines: unknown[] = []
  /** Resolves when a process has closed its connection. */
  readonly left = Promise.withResolvers<void>()
  /** What it answers to a process that joins. */
  answer: object
  /** Called when a process wants to join. */
  onGreeting = (): void => {}

  private constructor(pid: number, project?: string) {
    this.pid = pid
    this.answer = { kubeConfigPath: `/kubeconfig-of-${pid}`, project }
    this.#server = createServer((socket) => {
      this.#sockets.add(socket.on('close', () => this.left.resolve()))
      createInterface({ input: socket }).on('line', (line) => {
        const request = JSON.parse(line) as object
        this.lines.push(request)
        if (!('about' in request)) this.onGreeting()
        socket.write(`${JSON.stringify('about' in request ? { project } : this.answer)}\n`)
      })
    })
  }

  static async start(pid: number, project?: string): Promise<Dev> {
    const dev = new Dev(pid, project)
    dev.#server.listen(join(folder, `${pid}.sock`))
    await once(dev.#server, 'listening')
    devs.add(dev)
    return dev
  }

  async end(): Promise<void> {
    devs.delete(this)
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }
}

interface Pause {
  readonly delayMs: number
  readonly end: () => void
  readonly isCancelled: () => boolean
}

/** Lets no pause between two looks end by itself. The returned function resolves with the next pause. */
function holdPauses(): () => Promise<Pause> {
  const real = { ...systemClock }
  const begun: ((pause: Pause) => void)[] = []
  const pauses = Array.from({ length: 20 }, () => {
    const { promise, resolve } = Promise.withResolvers<Pause>()
    begun.push(resolve)
    return promise
  })
  vi.spyOn(systemClock, 'setTimer').mockImplementation((delayMs, end) => {
    // The time for an answer.
    if (delayMs === 5000) return real.setTimer(delayMs, end)
    let isCancelled = false
    begun.shift()?.({ delayMs, end, isCancelled: () => isCancelled })
    return { cancel: () => (isCancelled = true) }
  })
  return async () => (await pauses.shift()) ?? expect.fail('too many pauses')
}

type Line = readonly [fields: Readonly<Record<string, unknown>>, message: string]

/** The log lines of a process, and a promise of the line that says that it has joined the next one. */
function listen() {
  const lines: Line[] = []
  const joined = Promise.withResolvers<void>()
  const logger: Logger = {
    ...silentLogger,
    warn: (...line) => void lines.push(line),
    info: (...line) => {
      lines.push(line)
      joined.resolve()
    },
  }
  return { logger, lines, joined: joined.promise }
}

const joins = (logger: Logger): Promise<JoinedDev> => joinDev({ XDG_STATE_HOME: home }, greeting, logger)

const ended = (pid: number): Line => [
  { event: 'dev-ended', pid },
  `\`tenure dev\` with PID ${pid} has ended, and its API server with it. This process joins the next \`tenure dev\``,
]
const joinedNext = (pid: number): Line => [{ event: 'dev-joined', pid }, `joined \`tenure dev\` with PID ${pid}`]
const awaited = (what: string): Line => [
  { event: 'dev-awaited' },
  `waiting: this process joins \`tenure dev\` when ${what}`,
]

test('when the `tenure dev` of a process ends, it joins the one of the same project, and leaves the others alone', async () => {
  const { logger, lines, joined } = listen()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  expect(dev.kubeConfigPath).toBe('/kubeconfig-of-12')
  const other = await Dev.start(11, '/other')
  const same = await Dev.start(13, '/own')
  const third = await Dev.start(14, '/third')
  await first.end()
  await joined
  expect(dev.kubeConfigPath).toBe('/kubeconfig-of-13')
  expect(lines).toEqual([ended(12), joinedNext(13)])
  expect(same.lines).toEqual([{ about: '' }, greeting])
  await Promise.all([other.left.promise, third.left.promise])
  expect([other.lines, third.lines]).toEqual([[{ about: '' }], [{ about: '' }]])
  await dev.leave()
  await same.left.promise
})

test('a process looks every 500 ms for a `tenure dev` that starts, and says nothing meanwhile', async () => {
  const { logger, lines, joined } = listen()
  const nextPause = holdPauses()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  await first.end()
  for (let look = 0; look < 3; look += 1) {
    const pause = await nextPause()
    expect(pause.delayMs).toBe(500)
    pause.end()
  }
  const pause = await nextPause()
  await Dev.start(13, '/other')
  pause.end()
  await joined
  expect(dev.kubeConfigPath).toBe('/kubeconfig-of-13')
  expect(lines).toEqual([ended(12), joinedNext(13)])
  await dev.leave()
})

test('a process says once what it waits for, when that has not passed by the next look, and again when it changes', async () => {
  const { logger, lines } = listen()
  const nextPause = holdPauses()
  const looks = async (count: number): Promise<Pause> => {
    for (let look = 1; look < count; look += 1) (await nextPause()).end()
    return nextPause()
  }
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  const other = await Dev.start(13, '/other')
  await first.end()
  let pause = await looks(1)
  expect(lines).toEqual([ended(12)])
  const forOther = 'one serves /own: PID 13 ran before, for another project'
  pause.end()
  pause = await looks(3)
  expect(lines).toEqual([ended(12), awaited(forOther)])
  await other.end()
  pause.end()
  pause = await looks(1)
  expect(lines).toHaveLength(2)
  await Dev.start(13, '/other')
  pause.end()
  pause = await looks(2)
  expect(lines).toHaveLength(2)
  await Promise.all([...devs].map((running) => running.end()))
  pause.end()
  pause = await looks(3)
  expect(lines).toEqual([ended(12), awaited(forOther), awaited('one starts')])
  await dev.leave()
  expect(pause.isCancelled()).toBe(true)
})

test('a process that leaves while it waits joins none that starts', async () => {
  const { logger, lines } = listen()
  const nextPause = holdPauses()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  await first.end()
  const pause = await nextPause()
  const next = await Dev.start(13, '/own')
  await dev.leave()
  pause.end()
  expect(next.lines).toEqual([])
  expect(lines).toEqual([ended(12)])
})

test('a process that leaves while it joins closes the connection, and says nothing', async () => {
  const { logger, lines } = listen()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  const next = await Dev.start(13, '/own')
  const left = Promise.withResolvers<void>()
  next.onGreeting = () => left.resolve(dev.leave())
  await first.end()
  await left.promise
  await next.left.promise
  expect(dev.kubeConfigPath).toBe('/kubeconfig-of-12')
  expect(lines).toEqual([ended(12)])
})

test('a process tries again after a `tenure dev` that refuses it, and after a folder that it may not use', async () => {
  const { logger, lines, joined } = listen()
  const nextPause = holdPauses()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  const next = await Dev.start(13, '/own')
  next.answer = { error: 'too many' }
  await first.end()
  let pause = await nextPause()
  await chmod(folder, 0o755)
  pause.end()
  pause = await nextPause()
  expect(lines).toEqual([ended(12)])
  expect(dev.kubeConfigPath).toBe('/kubeconfig-of-12')
  await chmod(folder, 0o700)
  next.answer = { kubeConfigPath: '/another' }
  pause.end()
  await joined
  expect(dev.kubeConfigPath).toBe('/another')
  expect(lines).toEqual([ended(12), joinedNext(13)])
  await dev.leave()
})

test('a process that leaves the `tenure dev` that it has joined says nothing, and looks for no other', async () => {
  const { logger, lines } = listen()
  const first = await Dev.start(12, '/own')
  const dev = await joins(logger)
  const other = await Dev.start(13, '/own')
  await dev.leave()
  await first.left.promise
  expect(lines).toEqual([])
  expect(other.lines).toEqual([])
})
