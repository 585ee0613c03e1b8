import { channel } from 'node:diagnostics_channel'
import { closeSync, existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, MemoryLeaseStore, OptionsError } from '@tenure/core'
import { TRACE_CHANNEL } from '@tenure/core/internal'
import { createManager } from 'tenure'
import { expect, onTestFinished, test, vi } from 'vitest'

vi.mock('node:fs', { spy: true })

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-trace-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

function managerWith(path: string, warnings: [object, string][] = []) {
  const store = new MemoryLeaseStore()
  const say = () => {}
  const logger: Logger = {
    debug: say,
    info: say,
    error: say,
    warn: (fields, text) => void warnings.push([fields, text]),
    child: () => logger,
  }
  return createManager({
    lease: { name: 'a' },
    lock: () => store.lock('a'),
    ops: false,
    signals: false,
    argv: [],
    env: { TENURE_TRACE: path },
    logger,
  })
}

test('a trace that cannot be opened is a wrong option: the message names the variable and the path', async () => {
  const path = join(folder(), 'missing', 'a.jsonl')
  const failure = await managerWith(path)
    .start()
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(OptionsError)
  expect(failure).toMatchObject({
    message: expect.stringContaining(
      `Expected \`TENURE_TRACE\` to name a file that can be written, got \`${path}\`: ENOENT`,
    ),
    cause: { code: 'ENOENT' },
  })
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(false)
})

test('a disk that is full ends the trace with one warning, and nothing else', async () => {
  const warnings: [object, string][] = []
  const full = new Error('ENOSPC: no space left on device')
  vi.mocked(writeSync).mockImplementation(() => {
    throw full
  })
  onTestFinished(() => {
    vi.mocked(writeSync).mockRestore()
  })
  const path = join(folder(), 'a.jsonl')
  const manager = managerWith(path, warnings)
  let isTracing: boolean | undefined
  manager.on(({ kind }) => {
    if (kind === 'term-began') isTracing = channel(TRACE_CHANNEL).hasSubscribers
  })
  await leadOnce(manager)
  expect(isTracing).toBe(false)
  expect(warnings.filter(([, text]) => text.includes('trace'))).toEqual([
    [{ event: 'trace-ended', path, err: full }, `the trace in ${path} ends here: ENOSPC: no space left on device`],
  ])
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(false)
})

/** Runs a manager until it leads, and stops it. */
async function leadOnce(manager: ReturnType<typeof managerWith>): Promise<void> {
  const leading = new Promise<void>((resolve) => {
    manager.on(({ kind }) => kind === 'term-began' && resolve())
  })
  const running = manager.start()
  await leading
  await manager.stop()
  await running
}

/** The lines of a trace. */
const linesOf = (path: string): readonly Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const BOOT = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

test('every start makes a new file, whose head names the clock of the machine', async () => {
  const path = join(folder(), 'a.jsonl')
  const listeners = process.listenerCount('exit')
  const machineMs = () => Number(process.hrtime.bigint()) / 1e6
  const before = machineMs()
  await leadOnce(managerWith(path))
  const after = machineMs()
  await leadOnce(managerWith(path))
  const times = linesOf(path).flatMap(({ m }) => (typeof m === 'number' ? [m] : []))
  expect(times.length).toBeGreaterThan(2)
  expect(times.filter((time) => time < before - 1 || time > after + 1)).toEqual([])
  expect(linesOf(path).length).toBeGreaterThan(3)
  expect(linesOf(`${path}.1`).length).toBeGreaterThan(3)
  expect(linesOf(path)[0]).toMatchObject({ machine: `${BOOT} ${readlinkSync('/proc/self/ns/time')}` })
  expect(process.listenerCount('exit')).toBe(listeners)
})

test.each([
  ['has no time namespaces', '/proc/self/ns/time', BOOT],
  ['does not say when it was started', '/proc/sys/kernel/random/boot_id', hostname()],
])('on a system that %s the clock is named by what there is', async (_what, missing, expected) => {
  const [read, readLink] = [vi.mocked(readFileSync), vi.mocked(readlinkSync)]
  const link = readlinkSync('/proc/self/ns/time')
  const unless =
    (text: string) =>
    (path: unknown): never => {
      if (path === missing) throw new Error('ENOENT')
      return text as never
    }
  read.mockImplementation(unless(`${BOOT}\n`))
  readLink.mockImplementation(unless(link))
  onTestFinished(() => {
    read.mockRestore()
    readLink.mockRestore()
  })
  const path = join(folder(), 'a.jsonl')
  await leadOnce(managerWith(path))
  read.mockRestore()
  expect(linesOf(path)[0]).toMatchObject({ machine: expected })
})

test('the end of the process ends the trace: what waits is in its file', async () => {
  const path = join(folder(), 'a.jsonl')
  const manager = managerWith(path)
  const others = process.rawListeners('exit')
  const leading = new Promise<void>((resolve) => {
    manager.on(({ kind }) => kind === 'term-began' && resolve())
  })
  const running = manager.start()
  await leading
  // The manager closes it once more: here, the process goes on.
  vi.mocked(closeSync).mockImplementationOnce(() => {})
  for (const listener of process.rawListeners('exit').filter((one) => !others.includes(one))) listener.call(process, 0)
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(false)
  expect(linesOf(path).length).toBeGreaterThan(3)
  await manager.stop()
  await running
})

test('managers of one process share a trace, which lasts until the last of them stops', async () => {
  const path = join(folder(), 'a.jsonl')
  const [first, second] = [managerWith(path), managerWith(path)]
  const leading = new Promise<void>((resolve) => {
    first.on(({ kind }) => kind === 'term-began' && resolve())
  })
  const running = [first.start()]
  await leading
  running.push(second.start())
  await first.stop()
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(true)
  await second.stop()
  await Promise.all(running)
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(false)
  expect(existsSync(`${path}.1`)).toBe(false)
})
