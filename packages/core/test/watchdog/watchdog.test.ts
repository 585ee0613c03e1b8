import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import { OptionsError } from '../../src/options/options-error.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import { DeadlineBoard } from '../../src/watchdog/deadline-board.ts'
import { Watchdog } from '../../src/watchdog/watchdog.ts'

const LEADER = join(import.meta.dirname, 'leader.ts')
let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'tenure-watchdog-'))))
afterAll(() => rm(folder, { recursive: true }))

/** Runs a leader to its end. */
async function lead({ marker = '', blockMs = 0, pauseSeconds = 0, nodeOptions = [] as readonly string[] } = {}) {
  const child = spawn(process.execPath, [...nodeOptions, LEADER, marker, String(blockMs)])
  if (pauseSeconds > 0) {
    const pause = `kill -STOP ${child.pid}; sleep ${pauseSeconds}; kill -CONT ${child.pid}`
    child.stdout.once('data', () => spawn('sh', ['-c', pause]))
  }
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  const lines = stdout.split('\n').slice(0, -1)
  return { code, signal, stderr, pid: child.pid, events: lines.map((line) => JSON.parse(line) as { event: string }) }
}

const watchdogOf = (names: readonly string[]) =>
  Watchdog.start({ names, clock: new VirtualClock(), logger: silentLogger, onDied: () => {} })

describe('a process with a watchdog', () => {
  test('whose event loop is blocked beyond the term is killed; the next start says so once', async () => {
    const marker = join(folder, 'blocked')
    const killed = await lead({ marker, blockMs: 10_000 })
    expect([killed.signal, killed.events.map(({ event }) => event)]).toEqual(['SIGKILL', ['blocking']])
    const next = await lead({ marker })
    expect(next.events).toMatchObject([
      { event: 'watchdog-fired', lease: 'janitor', killedPid: killed.pid, overdueMs: expect.any(Number) },
      { event: 'blocking' },
      { event: 'unblocked' },
      { event: 'returned' },
    ])
    const last = await lead({ marker })
    expect(last.events.map(({ event }) => event)).toEqual(['blocking', 'unblocked', 'returned'])
  })

  test('that was paused beyond the term is killed when it goes on', async () => {
    const marker = join(folder, 'paused')
    const { signal, events, pid } = await lead({ marker, blockMs: 10_000, pauseSeconds: 1.5 })
    expect([signal, events.map(({ event }) => event)]).toEqual(['SIGKILL', ['blocking']])
    const [fired] = (await lead({ marker })).events
    expect(fired).toMatchObject({ event: 'watchdog-fired', killedPid: pid })
    // It was stopped at the deadline. The kill came later.
    expect(fired).toHaveProperty(
      'overdueMs',
      expect.toSatisfy((overdueMs: number) => overdueMs > 100),
    )
  })

  test('whose event loop is blocked for less goes on, ends with code 0 and leaves no file', async () => {
    const { code, events } = await lead({ marker: join(folder, 'short'), blockMs: 100 })
    expect([code, events.map(({ event }) => event)]).toEqual([0, ['blocking', 'unblocked', 'returned']])
    expect(await readdir(folder)).not.toContain('short')
  })

  test('fails at the start where the host forbids worker threads', async () => {
    const { code, stderr, events } = await lead({ nodeOptions: ['--permission', '--allow-fs-read=*'] })
    expect([code, events.filter(({ event }) => event === 'blocking')]).toEqual([1, []])
    expect(stderr).toMatch(/OptionsError: The option `watchdog` needs a worker thread.*--allow-worker/)
  })

  test('fails at the start where the marker file cannot be written', async () => {
    const { code, stderr } = await lead({ marker: join(folder, 'nowhere', 'marker') })
    expect(code).toBe(1)
    expect(stderr).toMatch(/OptionsError: The watchdog thread could not be started.*ENOENT/)
  })

  test('starts over a marker file that was cut short', async () => {
    const marker = join(folder, 'cut')
    await writeFile(marker, '{"name":"jani')
    expect((await lead({ marker })).code).toBe(0)
  })
})

describe('the watchdog thread', () => {
  test('survives ten thousand terms of one process and is gone when the manager has stopped', async () => {
    const before = threads()
    const clock = new VirtualClock()
    const store = new MemoryLeaseStore()
    const manager = new Manager({
      identity: 'me',
      lease: { name: 'lease' },
      clock,
      random: () => 0.5,
      createLock: ({ name }) => store.lock(name),
      watchdog: true,
    })
    const began = Promise.withResolvers<void>()
    const end = manager.on((event) => {
      if (event.kind === 'term-began') began.resolve()
    })
    const running = manager.start()
    await began.promise
    end()
    for (let term = 1; term < 10_000; term++) {
      const steppedDown = manager.stepDown({ cooldownMs: 0 })
      const [, { kind }] = await Promise.all([clock.advance(1), steppedDown])
      expect(kind).toBe('stepped-down')
      while (manager.state.kind !== 'leading') await clock.advance(10)
    }
    expect(threads()).toBe(before + 1)
    await Promise.all([manager.stop(), clock.advance(100)])
    await running
    expect(threads()).toBe(before)
  }, 60_000)

  test('is not started where nobody asked for it', async () => {
    const store = new MemoryLeaseStore()
    const createLock = () => store.lock('lease')
    const manager = new Manager({ identity: 'me', lease: { name: 'lease' }, createLock, watchdog: false })
    const before = threads()
    const running = manager.start()
    expect(threads()).toBe(before)
    await manager.stop()
    await running
  })

  test('does nothing about a guard that was lifted in time', async () => {
    const watchdog = await watchdogOf(['a', 'b'])
    const guard = watchdog.guard('a')
    guard.hold(30)
    guard.hold(60_000)
    watchdog.guard('b').hold(20)
    watchdog.guard('b').lift()
    const board = new DeadlineBoard(1)
    board.wait(board.rings, 60)
    guard.lift()
    await watchdog.stop()
    await watchdog.stop()
  })

  test.each([
    ['a number', 1, /`watchdog`/],
    ['an unknown option', { marker: 'x' }, /`watchdog`.*`markerFile`/],
    ['an empty file name', { markerFile: '' }, /`watchdog\.markerFile` to be the path of a file, got ``/],
  ])('is refused %s as its options', (_what, watchdog, message) => {
    const store = new MemoryLeaseStore()
    const create = () =>
      new Manager({
        identity: 'me',
        lease: { name: 'l' },
        createLock: () => store.lock('l'),
        watchdog: watchdog as never,
      })
    expect(create).toThrow(OptionsError)
    expect(create).toThrow(message)
  })
})

describe('the board of deadlines', () => {
  test('has one clock for all of its views, which never goes back', () => {
    const board = new DeadlineBoard(1)
    const other = new DeadlineBoard(board.memory)
    for (let last = 0n, turn = 0; turn < 1000; turn++) {
      const now = (turn % 2 === 0 ? board : other).now()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
  })

  test('shows the earliest deadline to every reader', () => {
    const board = new DeadlineBoard(3)
    const other = new DeadlineBoard(board.memory)
    expect(other.earliest()).toBeUndefined()
    board.set(0, 30n)
    board.set(2, 20n)
    expect(other.earliest()).toEqual({ index: 2, deadline: 20n })
    expect([other.claim(2, 19n), other.claim(2, 20n)]).toEqual([false, true])
    expect(board.earliest()).toEqual({ index: 0, deadline: 30n })
  })
})

/** How many threads this process has. */
function threads(): number {
  return readdirSync('/proc/self/task').length
}
