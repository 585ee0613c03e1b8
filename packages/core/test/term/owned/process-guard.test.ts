import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { processEntry, processTable } from '../../../src/term/owned/process-table.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-guard-'))
})
afterEach(async () => {
  for (const pid of (await pids()).filter(runs)) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const COUNT = 12
const LEADER = `
import { spawn } from 'node:child_process'
import { OwnedProcesses } from '@tenure/core/internal'
const family = 'for each in ' + 'x '.repeat(${COUNT}) + '; do (setsid sh "$0" &); done; wait'
new OwnedProcesses({ defer() {} }).start(() => spawn('sh', ['-c', family, process.argv[1]], { stdio: 'ignore' }))
setInterval(() => {}, 1e6)
`

const runs = (pid: number): boolean => processEntry(pid)?.runs === true

/** The processes in sessions of their own that have begun. */
async function pids(): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'pids'), 'utf8').catch(() => '')
  return text.split('\n').slice(0, -1).map(Number)
}

/** The shell of a guard, as the process that it guards sees it. */
class FakeShell extends EventEmitter {
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  readonly lines: string[] = []
  readonly unreffed: string[] = []
  readonly stdin = Object.assign(new EventEmitter(), {
    writable: true,
    write: (text: string) => this.lines.push(text),
    end: (text: string) => this.lines.push(`${text}(end)`),
    unref: () => this.unreffed.push('stdin'),
  })

  unref(): void {
    this.unreffed.push('shell')
  }
}

describe('A guard', () => {
  const { platform, pid } = process
  let shells: FakeShell[] = []
  let spawned: unknown[][] = []
  let hasShell = true
  let module: typeof import('../../../src/term/owned/process-guard.ts')

  beforeEach(async () => {
    shells = []
    spawned = []
    hasShell = true
    vi.resetModules()
    vi.doMock('node:child_process', () => ({
      spawn: (...args: unknown[]) => {
        spawned.push(args)
        const shell = new FakeShell()
        shells.push(shell)
        return shell
      },
    }))
    vi.doMock('node:fs', () => ({ existsSync: (path: string) => path === '/bin/sh' && hasShell }))
    module = await import('../../../src/term/owned/process-guard.ts')
  })

  afterEach(() => {
    Object.defineProperty(process, 'platform', { value: platform })
    Object.defineProperty(process, 'pid', { value: pid })
    vi.restoreAllMocks()
    vi.doUnmock('node:child_process')
    vi.doUnmock('node:fs')
    vi.resetModules()
  })

  test('is a shell in a session of its own, which keeps this process not alive', () => {
    const guard = new module.ProcessGuard('TOKEN')
    expect(spawned).toEqual([
      [
        '/bin/sh',
        ['-c', expect.stringContaining('/proc/[0-9]*'), 'tenure-guard'],
        { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
      ],
    ])
    const [shell] = shells
    expect(shell?.unreffed).toEqual(['shell', 'stdin'])
    guard.add(7)
    guard.delete(7)
    guard.close()
    expect(shell?.lines).toEqual(['=TOKEN\n', '+7\n', '-7\n', 'done\n(end)'])
  })

  test('that is gone, or could not be started, gets nothing and disturbs nobody', () => {
    const guard = new module.ProcessGuard('TOKEN')
    const [shell] = shells
    if (shell !== undefined) shell.stdin.writable = false
    guard.add(7)
    expect(shell?.lines).toEqual(['=TOKEN\n'])
    expect(shell?.emit('error', new Error('EAGAIN'))).toBe(true)
    expect(shell?.stdin.emit('error', new Error('EPIPE'))).toBe(true)
  })

  test('needs a standard input that can be left alone only where that is possible', () => {
    vi.spyOn(Object, 'assign').mockImplementationOnce((target: object, more: object) =>
      Object.defineProperties(target, { ...Object.getOwnPropertyDescriptors(more), unref: { value: undefined } }),
    )
    expect(new module.ProcessGuard('TOKEN')).toBeDefined()
    expect(shells[0]?.unreffed).toEqual(['shell'])
  })

  test.each([
    ['on Windows', 'win32', pid],
    ['for PID 1 of a container', 'linux', 1],
  ])('is not needed %s', (_, system, own) => {
    Object.defineProperty(process, 'platform', { value: system })
    Object.defineProperty(process, 'pid', { value: own })
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const guard = new module.ProcessGuard('TOKEN')
    guard.add(7)
    guard.close()
    module.prepareProcessGuard()()
    expect([shells, warn.mock.calls]).toEqual([[], []])
  })

  test('is not possible without a shell, which is a warning of the process', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    hasShell = false
    const guard = new module.ProcessGuard('TOKEN')
    guard.add(7)
    guard.close()
    expect(shells).toEqual([])
    expect(warn.mock.calls).toEqual([
      [
        'There is no /bin/sh: if this process is killed, the child processes of its term keep running',
        {
          code: 'TENURE_NO_GUARD',
          detail: 'Add a shell to the image, or run this process as PID 1 of its container.',
        },
      ],
    ])
  })

  test('of the next run may be started before, once, and is taken by that run', () => {
    const discard = module.prepareProcessGuard()
    module.prepareProcessGuard()
    expect(shells).toHaveLength(1)
    const guard = new module.ProcessGuard('TOKEN')
    expect(shells).toHaveLength(1)
    discard()
    expect(shells[0]?.lines).toEqual(['=TOKEN\n'])
    expect(new module.ProcessGuard('OTHER')).toBeDefined()
    expect(shells).toHaveLength(2)
    guard.close()
  })

  test('that was started before and is not taken is ended, once', () => {
    const discard = module.prepareProcessGuard()
    discard()
    discard()
    expect(shells[0]?.lines).toEqual(['done\n(end)'])
    module.prepareProcessGuard()
    discard()
    expect([shells.length, shells[1]?.lines]).toEqual([2, []])
  })

  test.each([
    ['exited', { exitCode: 0 }],
    ['was killed', { signalCode: 'SIGKILL' as const }],
  ])('that was started before and %s is replaced', (_, end) => {
    module.prepareProcessGuard()
    Object.assign(shells[0] ?? {}, end)
    expect(new module.ProcessGuard('TOKEN')).toBeDefined()
    expect(shells.map(({ lines }) => lines)).toEqual([[], ['=TOKEN\n']])
  })
})

test.runIf(process.platform === 'linux')(
  'The guard of a killed leader also kills processes that start another program, again and again, while the guard searches',
  async () => {
    const program = join(folder, 'again.sh')
    await writeFile(program, `[ -n "$AGAIN" ] || echo $$ >> '${folder}/pids'\nexport AGAIN=1\nexec sh "$0"\n`)
    const flags = ['--conditions=@tenure/source', '--input-type=module', '-e', LEADER, program]
    // A small environment: the guard cannot read a large one before the next program starts.
    const env = { PATH: process.env['PATH'] }
    const leader = spawn(process.execPath, flags, { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const begun = await vi.waitFor(
      async () => {
        const found = await pids()
        expect(found).toHaveLength(COUNT)
        return found
      },
      { timeout: 20_000, interval: 10 },
    )
    // The guard, which goes on searching for a moment, and the first process of the family.
    const own = Array.from(processTable()).flatMap((part) => part.filter(({ parent }) => parent === leader.pid))
    leader.kill('SIGKILL')
    await once(leader, 'exit')
    const all = [...begun, ...own.map(({ pid }) => pid)]
    await vi.waitFor(() => expect(all.filter(runs)).toEqual([]), { timeout: 20_000, interval: 10 })
  },
  60_000,
)
