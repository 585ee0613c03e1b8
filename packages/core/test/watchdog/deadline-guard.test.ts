import { EventEmitter } from 'node:events'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkerOptions } from 'node:worker_threads'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import { DeadlineBoard } from '../../src/watchdog/deadline-board.ts'
import { takeMarker, type WatchdogTask } from '../../src/watchdog/watchdog-marker.ts'
import type { WatchdogDiedError, WatchdogStart } from '../../src/watchdog/watchdog.ts'

/** The thread of a watchdog, as its starter sees it. */
class FakeWorker extends EventEmitter {
  static onCreated: (worker: FakeWorker) => void = () => {}
  static fails: Error | undefined
  readonly options: WorkerOptions
  readonly calls: string[] = []

  constructor(_program: URL, options: WorkerOptions) {
    super()
    if (FakeWorker.fails !== undefined) throw FakeWorker.fails
    this.options = options
    FakeWorker.onCreated(this)
  }

  ref(): void {
    this.calls.push('ref')
  }

  unref(): void {
    this.calls.push('unref')
  }
}

const ERROR = new Error('no memory')

afterEach(() => {
  FakeWorker.fails = undefined
  vi.restoreAllMocks()
  vi.doUnmock('node:worker_threads')
  vi.doUnmock('../../src/ports/suspension.ts')
  vi.resetModules()
})

/** Starts a watchdog with a thread that answers with this event. */
async function started(
  options: Partial<WatchdogStart> = {},
  [event, value]: readonly [string, unknown] = ['message', 'x'],
) {
  vi.resetModules()
  vi.doMock('node:worker_threads', () => ({ Worker: FakeWorker }))
  vi.doMock('../../src/ports/suspension.ts', () => ({ machineSuspension: undefined }))
  vi.spyOn(process.hrtime, 'bigint').mockReturnValue(1_000_000_000n)
  const { Watchdog } = await import('../../src/watchdog/watchdog.ts')
  const clock = new VirtualClock()
  const died: WatchdogDiedError[] = []
  const onDied = (error: WatchdogDiedError) => void died.push(error)
  const created = Promise.withResolvers<FakeWorker>()
  FakeWorker.onCreated = created.resolve
  const starting = Watchdog.start({ names: ['a', 'b'], clock, logger: silentLogger, onDied, ...options })
  const worker = await Promise.race([created.promise, starting.then(() => created.promise)])
  worker.emit(event, value)
  const watchdog = await starting
  const task = worker.options.workerData as WatchdogTask
  return { watchdog, worker, clock, died, task, board: new DeadlineBoard(task.memory) }
}

describe('A watchdog', () => {
  test('starts a small thread with a name, which keeps no process alive', async () => {
    const { worker, task, board } = await started()
    expect(worker.options).toEqual({
      workerData: { memory: expect.any(SharedArrayBuffer), names: ['a', 'b'], markerFile: undefined },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
      name: 'tenure-watchdog',
    })
    expect([task.names, board.size, worker.calls]).toEqual([['a', 'b'], 2, ['unref']])
  })

  test('does not start where the thread fails, or cannot be created', async () => {
    await expect(started({}, ['error', ERROR])).rejects.toMatchObject({
      code: 'BAD_OPTIONS',
      message: 'The watchdog thread could not be started: no memory',
      cause: ERROR,
    })
    FakeWorker.fails = ERROR
    await expect(started()).rejects.toMatchObject({
      code: 'BAD_OPTIONS',
      message:
        'The option `watchdog` needs a worker thread, which this host does not allow (with `node --permission`, add ' +
        '`--allow-worker`): no memory',
      cause: ERROR,
    })
  })

  test('says once that its thread has ended by itself, and why', async () => {
    const { worker, died } = await started()
    worker.emit('error', ERROR)
    worker.emit('exit', 1)
    expect(died).toMatchObject([
      { code: 'WATCHDOG_DIED', message: 'The watchdog thread has ended by itself', cause: ERROR },
    ])
    const other = await started()
    other.worker.emit('exit', 1)
    expect(other.died).toHaveLength(1)
    expect(other.died[0]?.cause).toBeUndefined()
  })

  test('ends its thread once, and has stopped when that is gone', async () => {
    const { watchdog, worker, board, died } = await started()
    let isStopped = false
    const stopping = watchdog.stop().then(() => (isStopped = true))
    await watchdog.stop()
    expect([board.isClosed, board.rings, worker.calls, isStopped]).toEqual([true, 1n, ['unref', 'ref'], false])
    worker.emit('exit', 0)
    await stopping
    expect(died).toEqual([])
  })
})

describe('The guard of a lease', () => {
  test('sets its own deadline, by the time that is left on the clock of the manager', async () => {
    const { watchdog, clock, board } = await started()
    await clock.advance(5000)
    watchdog.guard('b').hold(5000.5)
    expect(board.earliest()).toEqual({ index: 1, deadline: 1_000_500_000n })
    watchdog.guard('b').lift()
    expect(board.earliest()).toBeUndefined()
  })

  test('wakes the thread for a deadline that is new or earlier, and for no other', async () => {
    const { watchdog, board } = await started()
    const guard = watchdog.guard('a')
    const rings = [1000, 2000, 2000, 1500].map((validUntil) => (guard.hold(validUntil), board.rings))
    expect(rings).toEqual([1n, 1n, 1n, 2n])
    guard.lift()
    guard.hold(9000)
    expect(board.rings).toBe(3n)
  })
})

describe('The marker of a watchdog', () => {
  const marker = { name: 'a', pid: 7, overdueMs: 1.5, firedAt: '2026-01-01T12:00:00.000Z' }

  /** A file with this text in a folder of its own; undefined: no file. */
  async function withFile(text: string | undefined, use: (file: string) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-marker-'))
    const file = join(folder, 'marker')
    if (text !== undefined) await writeFile(file, text)
    await use(file)
    await expect(access(file)).rejects.toThrow('ENOENT')
    await rm(folder, { recursive: true })
  }

  test('is read once', () =>
    withFile(JSON.stringify(marker), async (file) => {
      expect(await takeMarker(file)).toEqual(marker)
    }))

  test.each([undefined, '', '{"name":"jani'])('tells nothing where its text is %j', (text) =>
    withFile(text, async (file) => {
      expect(await takeMarker(file)).toBeUndefined()
    }),
  )

  test('of the process before is logged as an error, and the next one is removed at the end', () =>
    withFile(JSON.stringify(marker), async (markerFile) => {
      const lines: unknown[] = []
      const logger: Logger = { ...silentLogger, error: (...line) => void lines.push(line) }
      const { watchdog, worker, task } = await started({ markerFile, logger })
      expect(task.markerFile).toBe(markerFile)
      expect(lines).toEqual([
        [
          { event: 'watchdog-fired', lease: 'a', overdueMs: 1.5, killedPid: 7, firedAt: marker.firedAt },
          'the watchdog ended the process before this one: its event loop had not confirmed the lease a in time',
        ],
      ])
      await writeFile(markerFile, '')
      const stopped = watchdog.stop()
      worker.emit('exit', 0)
      await stopped
    }))

  test('may be missing at the start and at the end', () =>
    withFile(undefined, async (markerFile) => {
      const lines: unknown[] = []
      const logger: Logger = { ...silentLogger, error: (...line) => void lines.push(line) }
      const { watchdog, worker } = await started({ markerFile, logger })
      const stopped = watchdog.stop()
      worker.emit('exit', 0)
      await stopped
      expect(lines).toEqual([])
    }))
})
