import { constants } from 'node:os'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { WatchdogTask } from '../../src/watchdog/watchdog-marker.ts'

const { platform, pid } = process

/** What the thread did, in order. */
let log: unknown[] = []
/** The time of the board, in nanoseconds. */
let now = 0n

beforeEach(() => {
  log = []
  now = 1_000_000_000n
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1, 12) })
})

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const path of ['node:worker_threads', 'node:fs', 'node:os', '../../src/ports/suspension.ts']) vi.doUnmock(path)
  vi.resetModules()
})

interface Thread {
  /** What is guarded, and its deadline in milliseconds from now. */
  readonly deadlines?: Readonly<Record<string, number>>
  readonly markerFile?: string
  readonly system?: string
  /** Whether the machine knows of its suspensions. @default true */
  readonly countsSuspensions?: boolean
  /** What fails. */
  readonly broken?: 'priority' | 'marker'
  /** Whether the deadline is lifted between the look at it and the claim. */
  readonly liftsAtClaim?: boolean
  /** What happens at each wait, after it has lasted as long as it may. @default the board is closed */
  readonly onWait?: readonly ((board: Board) => void)[]
}

type Board = InstanceType<(typeof import('../../src/watchdog/deadline-board.ts'))['DeadlineBoard']>

/** Runs the program of the thread here, until its board is closed. What it takes of Node is noted and has no effect. */
async function run(thread: Thread): Promise<void> {
  const { deadlines = {}, markerFile, system = 'linux', countsSuspensions = true, broken, onWait = [] } = thread
  const lift = function (this: Board, index: number): boolean {
    this.set(index, 0n)
    return false
  }
  const note =
    (name: string, fails = false) =>
    (...args: unknown[]) => {
      log.push([name, ...args])
      if (fails) throw new Error(`broken: ${name}`)
      return 7
    }
  Object.defineProperty(process, 'platform', { value: system })
  const machineSuspension = countsSuspensions ? { aheadMs: () => 0, settle: note('settle') } : undefined
  vi.resetModules()
  vi.doMock('../../src/ports/suspension.ts', () => ({ machineSuspension, SUSPENSION_CHECK_MS: 100 }))
  const { DeadlineBoard } = await import('../../src/watchdog/deadline-board.ts')
  const names = Object.keys(deadlines)
  const board = new DeadlineBoard(names.length)
  names.forEach((name, index) => board.set(index, now + BigInt((deadlines[name] as number) * 1e6)))
  const workerData: WatchdogTask = { memory: board.memory, names, markerFile }
  const writeSync = note('write', broken === 'marker')
  vi.doMock('node:worker_threads', () => ({ parentPort: { postMessage: note('post') }, workerData }))
  vi.doMock('node:fs', () => ({ openSync: note('open'), writeSync }))
  vi.doMock('node:os', () => ({ constants, setPriority: note('priority', broken === 'priority') }))
  const events = [...onWait]
  vi.spyOn(DeadlineBoard.prototype, 'now').mockImplementation(() => now)
  vi.spyOn(DeadlineBoard.prototype, 'wait').mockImplementation((rings, timeoutMs) => {
    log.push(['wait', rings, timeoutMs])
    if (timeoutMs !== undefined && timeoutMs !== Infinity) now += BigInt(timeoutMs * 1e6)
    const event = events.shift() ?? (() => board.close())
    event(board)
  })
  if (thread.liftsAtClaim === true) vi.spyOn(DeadlineBoard.prototype, 'claim').mockImplementationOnce(lift)
  vi.spyOn(process, 'kill').mockImplementation((target, signal) => {
    log.push(['kill', target, signal])
    board.close()
    return true
  })
  await import('../../src/watchdog/watchdog-worker.ts')
}

const START = [['priority', constants.priority.PRIORITY_HIGHEST], ['settle'], ['post', 'watching', []]]

describe('The watchdog thread', () => {
  test('takes precedence, reports that it watches, and waits for the bell while nothing is guarded', async () => {
    await run({})
    expect(log).toEqual([...START, ['wait', 0n, undefined]])
  })

  test('takes no precedence on other systems, and goes on where it may not', async () => {
    await run({ system: 'darwin' })
    expect(log).toEqual([...START.slice(1), ['wait', 0n, undefined]])
    log = []
    await run({ broken: 'priority' })
    expect(log).toEqual([...START, ['wait', 0n, undefined]])
  })

  test('waits until the earliest deadline, and looks every 100 ms whether the machine was suspended', async () => {
    await run({ deadlines: { a: 500, b: 130.5 } })
    expect(log).toEqual([...START, ['wait', 0n, 100]])
    log = []
    const nothing = () => {}
    await run({ deadlines: { a: 500, b: 130.5 }, onWait: [nothing, nothing] })
    expect(log.slice(START.length)).toEqual([
      ['wait', 0n, 100],
      ['wait', 0n, 30.5],
      ['kill', pid, 'SIGKILL'],
    ])
  })

  test('waits for the whole time where the monotonic clock goes on during a suspension', async () => {
    await run({ deadlines: { a: 5000 }, countsSuspensions: false })
    expect(log).toEqual([START[0], START[2], ['wait', 0n, 5000]])
  })

  test('waits again where the deadline has moved on, and hears a bell that rang in the meantime', async () => {
    const prolong = (board: Board) => {
      board.set(0, now + 60_000_000n)
      board.ring()
    }
    await run({ deadlines: { a: 50 }, onWait: [prolong] })
    expect(log.slice(START.length)).toEqual([
      ['wait', 0n, 50],
      ['wait', 1n, 60],
    ])
  })

  test('kills nothing for a deadline that is lifted while it looks, or before', async () => {
    await run({ deadlines: { a: 0 }, liftsAtClaim: true })
    expect(log).toEqual([...START, ['wait', 0n, undefined]])
    log = []
    await run({ deadlines: { a: 50 }, onWait: [(board) => board.set(0, 0n)] })
    expect(log.slice(START.length)).toEqual([
      ['wait', 0n, 50],
      ['wait', 0n, undefined],
    ])
  })

  test('kills the process at the deadline, and writes the marker before', async () => {
    await run({ deadlines: { a: 5000, b: 0 }, markerFile: '/tmp/marker' })
    const marker = JSON.stringify({ name: 'b', pid, overdueMs: 0, firedAt: '2026-01-01T12:00:00.000Z' })
    expect(log).toEqual([['open', '/tmp/marker', 'w', 0o600], ...START, ['write', 7, marker], ['kill', pid, 'SIGKILL']])
  })

  test('says in the marker how late it is, and kills the process although it cannot write that', async () => {
    await run({ deadlines: { a: -1.5 }, markerFile: '/tmp/marker', broken: 'marker' })
    const marker = JSON.stringify({ name: 'a', pid, overdueMs: 1.5, firedAt: '2026-01-01T12:00:00.000Z' })
    expect(log.slice(-2)).toEqual([
      ['write', 7, marker],
      ['kill', pid, 'SIGKILL'],
    ])
  })
})
