import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { child, type ChildOptions } from '../../../src/term/owned/child-process.ts'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'
import { fakeFamily, type FakeFamilyOptions } from './fake-family.ts'

/** A process without a process. */
class FakeChild extends EventEmitter {
  readonly pid: number | undefined
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  readonly stdio: (EventEmitter | null)[]
  readonly #log: unknown[]

  constructor(log: unknown[], pid: number | undefined) {
    super()
    this.pid = pid
    this.#log = log
    const stream = () => Object.assign(new EventEmitter(), { destroy: () => void log.push('destroy') })
    this.stdio = [stream(), null, stream()]
  }

  kill(signal: string): void {
    this.#log.push(signal)
  }

  exits(exitCode: number | null, signalCode: NodeJS.Signals | null = null): void {
    this.exitCode = exitCode
    this.signalCode = signalCode
    this.emit('exit', exitCode, signalCode)
  }

  closes(exitCode: number | null, signalCode: NodeJS.Signals | null = null): void {
    this.exits(exitCode, signalCode)
    this.emit('close', exitCode, signalCode)
  }
}

/** A term with one child. */
function withChild(options: ChildOptions = {}, family: FakeFamilyOptions & { readonly pid?: number | undefined } = {}) {
  const { term, clock, failures, left } = freshTerm()
  const log: unknown[] = []
  const state = fakeFamily(term, log, family)
  const fake = new FakeChild(log, 'pid' in family ? family.pid : 7)
  const start = () => child(term, 'job', { start: () => fake as unknown as ChildProcess, options })
  const waitsOn = () => term.scope.liveTasks().map((task) => [task.name, task.waitsOn])
  return { term, clock, failures, left, log, state, fake, start, waitsOn }
}

const { versions } = process
afterEach(() => {
  Object.defineProperty(process, 'versions', { value: versions })
})

describe('A child of a term', () => {
  test('is a task until it has closed, and leaves nothing', async () => {
    const { clock, failures, left, log, fake, start, waitsOn } = withChild()
    expect(start()).toBe(fake)
    expect(waitsOn()).toEqual([['child job', 'process 7']])
    fake.exits(0)
    await clock.runAllMicrotasks()
    expect(waitsOn()).toHaveLength(1)
    fake.closes(0)
    await clock.runAllMicrotasks()
    expect([log, failures, left()]).toEqual([['forget'], [], NOTHING])
    expect(['error', 'close', 'exit'].map((event) => fake.listenerCount(event))).toEqual([0, 0, 0])
  })

  test.each([
    [3, null, '`job` ended before its term: exit code 3'],
    [null, 'SIGSEGV', '`job` ended before its term: killed by SIGSEGV'],
  ] as const)('that ends with code %s and signal %s fails', async (exitCode, signal, message) => {
    const { clock, failures, fake, start } = withChild()
    start()
    fake.closes(exitCode, signal)
    await clock.runAllMicrotasks()
    expect(failures).toMatchObject([{ code: 'OWNED_EXIT', exitCode, signal, message }])
  })

  test('that cannot be started fails with that error', async () => {
    const { clock, failures, left, fake, start } = withChild({}, { pid: undefined })
    const error = new Error('ENOENT')
    start()
    fake.emit('error', error)
    await clock.runAllMicrotasks()
    expect([failures, left()]).toEqual([[error], NOTHING])
  })

  test('that cannot be started keeps no listener of a term that ended meanwhile', async () => {
    const { term, failures, fake, start } = withChild({}, { pid: undefined })
    start()
    term.end(ENDED)
    fake.emit('error', new Error('ENOENT'))
    await term.scope.join()
    expect([failures, fake.listenerCount('exit')]).toEqual([[], 0])
  })

  test('may report errors while it runs', async () => {
    const { clock, failures, fake, start, waitsOn } = withChild()
    start()
    fake.emit('error', new Error('kill EPERM'))
    await clock.runAllMicrotasks()
    expect([failures, waitsOn().length]).toEqual([[], 1])
    fake.closes(0)
    await clock.runAllMicrotasks()
    expect(failures).toEqual([])
  })

  test('that ends badly because the term ends is no failure', async () => {
    const { term, failures, fake, start } = withChild()
    start()
    term.end(ENDED)
    fake.closes(null, 'SIGTERM')
    await term.scope.join()
    expect(failures).toEqual([])
  })

  test('calls nothing of the user once the time of the term is up', async () => {
    const { term, clock, fake, start } = withChild()
    start()
    const heard: string[] = []
    fake.on('message', () => heard.push('message'))
    fake.stdio[0]?.on('data', () => heard.push('data'))
    Object.assign(term, { admits: () => false })
    expect([fake.emit('message'), fake.stdio[0]?.emit('data')]).toEqual([false, false])
    expect(heard).toEqual([])
    fake.closes(0)
    await clock.runAllMicrotasks()
    expect([fake, ...fake.stdio].filter((emitter) => emitter !== null && Object.hasOwn(emitter, 'emit'))).toEqual([])
  })
})

describe('A child of a term that ends', () => {
  test('is asked to stop, after its descendants were found, and they are asked once it has exited', async () => {
    const { term, log, left, fake, start, waitsOn } = withChild()
    start()
    term.end(ENDED)
    expect(log).toEqual(['search', 'SIGTERM'])
    expect(waitsOn()).toEqual([['child job', 'process 7 to close after SIGTERM']])
    fake.closes(0)
    await term.scope.join()
    expect([log, left()]).toEqual([['search', 'SIGTERM', 'SIGTERM to the family', 'forget'], NOTHING])
  })

  test('gets the signal of the options', () => {
    const { term, log, fake, start, waitsOn } = withChild({ stopSignal: 'SIGINT' })
    start()
    term.end(ENDED)
    expect(log).toEqual(['search', 'SIGINT'])
    expect(waitsOn()).toEqual([['child job', 'process 7 to close after SIGINT']])
    fake.closes(0)
  })

  test.each([
    ['exited', 0, null],
    ['was killed', null, 'SIGKILL'],
  ] as const)('that %s before gets no signal, and its descendants are asked at once', (_, exitCode, signal) => {
    const { term, log, fake, start } = withChild()
    start()
    fake.exits(exitCode, signal)
    term.end(ENDED)
    expect(log).toEqual(['search', 'SIGTERM to the family'])
    fake.closes(exitCode, signal)
  })

  test('is killed after its grace, with its family, and its streams are destroyed when it has exited', async () => {
    const { term, clock, log, fake, start, waitsOn } = withChild({ killAfterMs: 500 })
    start()
    term.end(ENDED)
    await clock.advance(499)
    expect(log).toEqual(['search', 'SIGTERM'])
    await clock.advance(1)
    expect(log.slice(2)).toEqual(['SIGKILL', 'SIGKILL to the family'])
    expect(waitsOn()).toEqual([['child job', 'process 7 to close after SIGKILL']])
    fake.exits(null, 'SIGKILL')
    expect(log.slice(4)).toEqual(['destroy', 'destroy'])
    fake.closes(null, 'SIGKILL')
    await term.scope.join()
  })

  test('is killed by the hard abort, and its streams are destroyed at once where it has exited', async () => {
    const { term, clock, log, fake, start } = withChild()
    start()
    term.end(ENDED)
    fake.exits(0)
    // Without `killAfterMs` there is no timer.
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(60_000)
    expect(log).toEqual(['search', 'SIGTERM', 'SIGTERM to the family'])
    term.hardAbort(ENDED)
    expect(log.slice(3)).toEqual(['SIGKILL', 'SIGKILL to the family', 'destroy', 'destroy'])
    fake.closes(0)
    await term.scope.join()
  })

  test('leaves no timer when it ends within its grace', async () => {
    const { term, left, fake, start } = withChild({ killAfterMs: 500 })
    start()
    term.end(ENDED)
    expect(left().timers).toBe(1)
    fake.closes(0)
    await term.scope.join()
    expect(left()).toEqual(NOTHING)
  })
})

test('The options of a child have no other keys', () => {
  const { start, fake, left } = withChild({ stopSingal: 'SIGINT' } as ChildOptions)
  expect(start).toThrow('`term.child()`')
  expect([fake.eventNames(), left()]).toEqual([[], NOTHING])
})

describe('What `start` returns', () => {
  const message =
    "Expected `start` of `term.child('job', start)` to start the child process that it returns, got process 7, which was started before. Call `spawn()` in `start`"

  test('is refused, and killed, where it was not started there', () => {
    const { log, left, start } = withChild({}, { reportsChild: false })
    expect(start).toThrow(message)
    expect([log, left().tasks]).toEqual([['SIGKILL to the family'], 0])
  })

  test.each(['bun', 'deno'])('is taken for a child on %s, which reports none', async (name) => {
    Object.defineProperty(process, 'versions', { value: { ...versions, [name]: '1' } })
    const { clock, fake, start } = withChild({}, { reportsChild: false })
    expect(start()).toBe(fake)
    fake.closes(0)
    await clock.runAllMicrotasks()
  })
})
