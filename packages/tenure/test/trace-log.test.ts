import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { TraceLog } from '../src/trace-log.ts'

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

test('lines of any length and any character are written whole and in order', () => {
  const { log, written } = logWith()
  const lines = [1, 20_000, 3, 70_000, 21_000, 21_000].map((length, i) => `${'ä'.repeat(length)}${i}\n`)
  for (const line of lines) log.add(line, false)
  log.close()
  expect(written()).toBe(lines.join(''))
})
