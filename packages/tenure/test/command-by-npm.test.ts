import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { npmArguments } from '../src/find-command.ts'

vi.mock('node:child_process', () => ({ spawn: vi.fn() }))
vi.mock('../src/find-command.ts', { spy: true })

const { exitCode, argv, platform } = process
const kill = vi.fn()
let npm = new EventEmitter()

beforeEach(async () => {
  const { findCommand } = await import('../src/find-command.ts')
  vi.mocked(findCommand).mockReturnValue(undefined)
  npm = Object.assign(new EventEmitter(), { kill })
  vi.mocked(spawn)
    .mockReset()
    .mockReturnValue(npm as ChildProcess)
  kill.mockReset()
  process.argv = ['node', 'tenure', 'status', '-A']
})

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  Object.assign(process, { exitCode, argv })
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  vi.resetModules()
})

test.each([
  ['linux', false],
  ['win32', true],
] as const)('where no command is installed, npm runs it: on %s with a shell: %s', async (value, shell) => {
  Object.defineProperty(process, 'platform', { value })
  await import('../src/command.ts')
  expect(spawn).toHaveBeenCalledExactlyOnceWith('npm', npmArguments(['status', '-A']), { stdio: 'inherit', shell })
})

test('the command is looked for in the project first, and beside this package then', async () => {
  await import('../src/command.ts')
  const { findCommand } = await import('../src/find-command.ts')
  expect(findCommand).toHaveBeenCalledExactlyOnceWith([process.cwd(), join(import.meta.dirname, '../src')])
})

test('a command that is installed runs in this process, and npm does not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-command-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'main.mjs')
  writeFileSync(path, 'process.exitCode = 7')
  const { findCommand } = await import('../src/find-command.ts')
  vi.mocked(findCommand).mockReturnValue(path)
  await import('../src/command.ts')
  expect(process.exitCode).toBe(7)
  expect(spawn).not.toHaveBeenCalled()
})

test.each([
  [5, 5],
  [0, 0],
  [null, 1],
])('if npm exits with %s, the code is %s', async (code, expected) => {
  await import('../src/command.ts')
  npm.emit('exit', code)
  expect(process.exitCode).toBe(expected)
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s goes to npm', async (signal) => {
  await import('../src/command.ts')
  process.emit(signal, signal)
  expect(kill).toHaveBeenCalledExactlyOnceWith(signal)
})

test('without npm the message says what to install', async () => {
  using write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  await import('../src/command.ts')
  npm.emit('error', new Error('spawn npm ENOENT'))
  expect(write.mock.calls).toEqual([
    ['Could not run npm to fetch @tenure/cli: spawn npm ENOENT. Run `npm install --save-dev @tenure/cli`.\n'],
  ])
  expect(process.exitCode).toBe(1)
})
