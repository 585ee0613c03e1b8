import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { TraceLog } from '../src/trace-log.ts'

vi.mock('node:fs', { spy: true })

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A log in a folder of its own, and what its file holds. */
function logWith() {
  const failed = vi.fn()
  onTestFinished(() => expect(failed).not.toHaveBeenCalled())
  const folder = mkdtempSync(join(tmpdir(), 'tenure-trace-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.jsonl')
  return { log: new TraceLog(path, failed), written: () => readFileSync(path, 'utf8') }
}

test('an urgent line is in the file at once, after the lines that waited', () => {
  const { log, written } = logWith()
  log.add('1\n', false)
  expect(written()).toBe('')
  log.add('2\n', true)
  expect(written()).toBe('1\n2\n')
  log.close()
})

test('other lines wait for 100 ms', () => {
  const { log, written } = logWith()
  log.add('1\n', false)
  vi.advanceTimersByTime(99)
  log.add('2\n', false)
  expect(written()).toBe('')
  vi.advanceTimersByTime(1)
  expect(written()).toBe('1\n2\n')
  log.close()
})

test('lines that wait are in the file when it is closed, and keep no process alive', () => {
  const { log, written } = logWith()
  log.add('1\n', false)
  log.close()
  expect(written()).toBe('1\n')
  expect(vi.getTimerCount()).toBe(0)
})

test('lines wait together as long as they fit, by three bytes for each character', () => {
  const { log, written } = logWith()
  log.add('1', false)
  log.add('2'.repeat(21_845), false)
  expect(written()).toBe('')
  log.add('3', false)
  expect(written()).toBe('')
  log.add('4'.repeat(14_564), false)
  expect(written()).toBe(`1${'2'.repeat(21_845)}3`)
  log.close()
  expect(written()).toHaveLength(1 + 21_845 + 1 + 14_564)
})

test('lines of any length and any character are written whole and in order', () => {
  const { log, written } = logWith()
  const lines = [1, 20_000, 3, 70_000, 21_000, 21_000].map((length, i) => `${'ä'.repeat(length)}${i}\n`)
  for (const line of lines) log.add(line, false)
  log.close()
  expect(written()).toBe(lines.join(''))
})

test('a file that exists is left alone: the next number counts, and after ten thousand of them none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-trace-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.jsonl')
  for (const name of [path, `${path}.1`]) writeFileSync(name, 'old')
  new TraceLog(path, vi.fn()).close()
  expect([path, `${path}.1`, `${path}.2`].map((name) => readFileSync(name, 'utf8'))).toEqual(['old', 'old', ''])
  expect(statSync(`${path}.2`).mode & 0o777).toBe(0o600)
  const open = vi.mocked(openSync).mockClear()
  open.mockImplementation(() => {
    throw Object.assign(new Error('exists'), { code: 'EEXIST' })
  })
  onTestFinished(() => open.mockRestore())
  expect(() => new TraceLog(path, vi.fn())).toThrow(
    `Expected \`TENURE_TRACE\` to name a new file, got \`${path}\`, which exists with 10000 numbers. Remove old traces`,
  )
  expect(open).toHaveBeenCalledTimes(10_000)
  expect(open.mock.calls.at(-1)).toEqual([`${path}.9999`, 'ax', 0o600])
})

test('a later write that fails is logged once, and the file is closed', () => {
  const failed = vi.fn()
  const folder = mkdtempSync(join(tmpdir(), 'tenure-trace-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = new TraceLog(join(folder, 'a.jsonl'), failed)
  log.add('1\n', false)
  const full = new Error('full')
  vi.mocked(writeSync).mockImplementation(() => {
    throw full
  })
  onTestFinished(() => vi.mocked(writeSync).mockRestore())
  const close = vi.mocked(closeSync).mockClear()
  expect(() => log.add('2\n', true)).toThrow(full)
  log.add('3\n', false)
  vi.advanceTimersByTime(100)
  expect(failed.mock.calls).toEqual([[full]])
  log.close()
  expect(failed).toHaveBeenCalledOnce()
  expect(close).toHaveBeenCalledOnce()
})
