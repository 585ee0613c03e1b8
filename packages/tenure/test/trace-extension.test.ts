import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
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

function managerWith(path: string, warnings: string[] = []) {
  const store = new MemoryLeaseStore()
  const say = () => {}
  const logger: Logger = {
    debug: say,
    info: say,
    error: say,
    warn: (_, text) => void warnings.push(text),
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
  expect(String(failure)).toContain('TENURE_TRACE')
  expect(String(failure)).toContain(path)
})

test('a disk that is full ends the trace with one warning, and nothing else', async () => {
  const warnings: string[] = []
  vi.mocked(writeSync).mockImplementation(() => {
    throw new Error('ENOSPC: no space left on device')
  })
  onTestFinished(() => {
    vi.mocked(writeSync).mockRestore()
  })
  const manager = managerWith(join(folder(), 'a.jsonl'), warnings)
  const leading = new Promise<void>((resolve) => {
    manager.on(({ kind }) => kind === 'term-began' && resolve())
  })
  const running = manager.start()
  await leading
  await manager.stop()
  await running
  expect(warnings.filter((text) => text.includes('trace'))).toHaveLength(1)
  expect(channel(TRACE_CHANNEL).hasSubscribers).toBe(false)
})
