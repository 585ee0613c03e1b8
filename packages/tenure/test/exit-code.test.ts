import { writeSync } from 'node:fs'
import { runInThisContext } from 'node:vm'
import { LeadershipLostError, MemoryLeaseStore, OptionsError, WedgedError } from '@tenure/core'
import { KubeConfigError } from '@tenure/kubernetes'
import { createManager, exitCodeOf, type ProcessManager } from 'tenure'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { exitProcess, exitWithCodeUnlessHandled } from '../src/exit-code.ts'

vi.mock('node:fs', { spy: true })

describe('The exit code of an error', () => {
  it.each([
    ['wrong option', new OptionsError('x'), 2],
    ['wrong kubeconfig', new KubeConfigError('x'), 2],
    ['lost lease', new LeadershipLostError('x'), 10],
    ['wedged drain', new WedgedError('janitor', []), 11],
    ['other error', new Error('x'), 1],
    ['thrown text', 'x', 1],
    ['several errors, of which the worst counts', new AggregateError([new Error('x'), new OptionsError('y')]), 2],
    ['no error in particular', new AggregateError([]), 1],
  ])('%s', (_what, error, code) => {
    expect(exitCodeOf(error)).toBe(code)
  })
})

/** What Node does for an error that nobody catches: it tells the monitors, and then the listeners of the exit. */
function dieOf(error: unknown): number | string | null | undefined {
  const before = process.exitCode
  const others = process.rawListeners('exit')
  for (const listener of process.rawListeners('uncaughtExceptionMonitor')) listener.call(process, error)
  for (const listener of process.rawListeners('exit').filter((one) => !others.includes(one))) {
    process.removeListener('exit', listener as () => void)
    listener.call(process, 1)
  }
  const code = process.exitCode
  process.exitCode = before
  return code === before ? undefined : code
}

describe('An error of the manager that nobody catches', () => {
  it('sets the exit code, whichever of several errors it is', async () => {
    const errors = [new OptionsError('a'), new WedgedError('janitor', [])]
    for (const error of errors) exitWithCodeUnlessHandled(error)
    expect(errors.map(dieOf)).toEqual([2, 11])
    await new Promise(setImmediate)
  })

  it('sets the exit code also after another one was caught', async () => {
    const died = Promise.withResolvers<unknown>()
    exitWithCodeUnlessHandled(new OptionsError('a'))
    // After Node has decided about the first one, and before it decides about the second one.
    setImmediate(() => died.resolve(dieOf(second)))
    const second = new WedgedError('janitor', [])
    exitWithCodeUnlessHandled(second)
    expect(await died.promise).toBe(11)
    await new Promise(setImmediate)
  })

  it('is forgotten once it is known to be caught, and other errors are not looked at', async () => {
    const error = new OptionsError('a')
    exitWithCodeUnlessHandled(error)
    expect(dieOf(new OptionsError('another'))).toBeUndefined()
    await new Promise(setImmediate)
    expect(dieOf(error)).toBeUndefined()
    expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(0)
  })
})

describe('process.exit() while this process leads', () => {
  const written: string[] = []
  const otherListeners = () => process.rawListeners('exit')
  beforeEach(() => {
    written.length = 0
    vi.mocked(writeSync).mockImplementation((descriptor, text) => {
      written.push(`${descriptor}: ${String(text)}`)
      return 1
    })
  })
  afterEach(() => vi.mocked(writeSync).mockRestore())

  /** Runs a manager that leads these leases, and gives the listener of the exit that it has. */
  async function whileLeading(
    leases: readonly string[],
    use: (onExit: (code: number) => void, manager: ProcessManager) => unknown,
  ): Promise<void> {
    const store = new MemoryLeaseStore()
    const others = otherListeners()
    const manager = createManager({
      lease: { name: leases[0] ?? 'janitor' },
      lock: ({ name }) => store.lock(name),
      ops: false,
      signals: false,
      env: {},
      argv: [],
      logLevel: 'silent',
    })
    for (const name of leases.slice(1)) manager.candidacy({ name })
    const isLeading = Promise.all(
      manager.candidacies.map((candidacy) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        manager.on((event) => event.kind === 'term-began' && event.lease === candidacy.lease && resolve())
        return promise
      }),
    )
    const running = manager.start()
    if (leases.length > 0) await isLeading
    const [listener] = otherListeners().filter((one) => !others.includes(one))
    await use((code) => void listener?.call(process, code), manager)
    await manager.stop()
    await running
  }

  /** Calls the listener from a function of this name, as Node does in `process.exit()`. */
  const namedExit = (onExit: (code: number) => void) =>
    function exit(code: number): void {
      onExit(code)
    }

  it('is said with its code, its place and the leases that are left to expire', async () => {
    await whileLeading(['janitor', 'sweeper'], (onExit) => namedExit(onExit)(3))
    expect(written).toHaveLength(1)
    expect(written[0]).toMatch(
      /^2: Tenure: process\.exit\(3\) was called at (file:)?\/\S+exit-code\.test\.ts:\d+:\d+ while this process leads `janitor`, `sweeper`: the lease is left to expire\. Stop with `await manager\.stop\(\)`, which releases it\n$/,
    )
  })

  it('is said without its place if that is not known', async () => {
    await whileLeading(['janitor'], (onExit) => [0].map(namedExit(onExit)))
    expect(written).toEqual([
      expect.stringMatching(/^2: Tenure: process\.exit\(0\) was called while this process leads/),
    ])
  })

  it.each([
    ['/app/main.js', ' at /app/main.js:2:30'],
    ['file:///app/main.js', ' at file:///app/main.js:2:30'],
    ['C:\\app\\main.js', ' at C:\\app\\main.js:2:30'],
    ['main.js', ''],
    ['node:internal/timers', ''],
  ])('is said with its place in the file %s', async (filename, place) => {
    const script = runInThisContext(`(exit) =>\n${' '.repeat(29)}exit(4)`, { filename })
    await whileLeading(['janitor'], (onExit) => (script as (exit: (code: number) => void) => void)(namedExit(onExit)))
    expect(written).toHaveLength(1)
    expect(written[0]).toContain(`process.exit(4) was called${place} while this process leads`)
  })

  it('is said with the place of the eval() that calls it', async () => {
    const script = runInThisContext('(exit) => { eval("exit(4)") }', { filename: '/app/main.js' })
    await whileLeading(['janitor'], (onExit) => (script as (exit: (code: number) => void) => void)(namedExit(onExit)))
    expect(written).toEqual([
      expect.stringMatching(
        /^2: Tenure: process\.exit\(4\) was called at \/app\/main\.js:1:13 while this process leads/,
      ),
    ])
  })

  const ofTenure = () => otherListeners().filter(({ name }) => name === 'onExit')

  it('is said as long as a manager runs, also where it was started twice or another one has stopped', async () => {
    await whileLeading(['janitor'], async (onExit, manager) => {
      await expect(manager.start()).rejects.toThrow()
      await whileLeading([], () => {})
      expect(ofTenure()).toHaveLength(1)
      namedExit(onExit)(3)
    })
    expect(written).toHaveLength(1)
    expect(ofTenure()).toEqual([])
  })

  it('is not said if this process leads nothing', async () => {
    await whileLeading([], (onExit) => namedExit(onExit)(3))
    expect(written).toEqual([])
  })

  it('is not said if something else ends the process, if Tenure does, or if standard error is closed', async () => {
    await whileLeading(['janitor'], (onExit) => {
      onExit(0)
      vi.spyOn(process, 'exit').mockImplementationOnce(((code: number) => onExit(code)) as never)
      namedExit(() => exitProcess(1))(1)
      expect(written).toEqual([])
      // Where a test catches the end of the process, the next one may be that of the program.
      namedExit(onExit)(3)
      expect(written).toHaveLength(1)
      vi.mocked(writeSync).mockImplementation(() => {
        throw new Error('EPIPE')
      })
      expect(() => namedExit(onExit)(3)).not.toThrow()
    })
  })
})
