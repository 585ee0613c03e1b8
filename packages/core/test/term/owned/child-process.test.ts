import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { watchForLeaks } from '../../../../testing/src/leaks/watch-for-leaks.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { processEntry } from '../../../src/term/owned/process-table.ts'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm } from '../../support/fresh-term.ts'

/** A process that prints a line when it is ready. */
const script = (source: string) => () => spawn(process.execPath, ['-e', `${source}; console.log('ready')`])

const SLEEPS = 'setInterval(() => {}, 1000)'
const IGNORES_SIGTERM = `process.on('SIGTERM', () => {}); ${SLEEPS}`

describe('term.child', () => {
  test('asks a process to stop when the term ends, waits until it has closed, and leaves nothing', async () => {
    // On Node 22 the first AsyncLocalStorage enables a hook for good.
    const leaks = watchForLeaks({ retained: false, ignore: { kinds: ['async-hook'] } })
    const { term, failures } = freshTerm()
    const child = term.child('sleeper', script(SLEEPS))
    await once(child.stdout, 'data')
    expect(term.scope.liveTasks()).toMatchObject([
      {
        name: 'child sleeper',
        waitsOn: `process ${child.pid}`,
        spawnedAt: expect.stringContaining('child-process.test.ts'),
      },
    ])
    term.end(ENDED)
    await term.scope.join()
    expect([child.signalCode, child.stdout.destroyed, child.listenerCount('error')]).toEqual(['SIGTERM', true, 0])
    expect(failures).toEqual([])
    await leaks.assertNone()
  })

  test('kills a process that does not stop, after its grace', async () => {
    const { term } = freshTerm({ clock: systemClock })
    const child = term.child('deaf', script(IGNORES_SIGTERM), { killAfterMs: 20 })
    await once(child.stdout, 'data')
    term.end(ENDED)
    await term.scope.join()
    expect(child.signalCode).toBe('SIGKILL')
  })

  test('kills a process at the hard abort, with its own children that hold its streams open', async () => {
    const { term } = freshTerm()
    const grandchild = `require('node:child_process').spawn('sleep', ['60'], { stdio: 'inherit' })`
    const child = term.child(
      'parent',
      script(`process.on('SIGTERM', () => {}); const g = ${grandchild}; console.log(g.pid); ${SLEEPS}`),
    )
    const pid = Number.parseInt(String((await once(child.stdout, 'data'))[0]), 10)
    term.end(ENDED)
    expect(term.scope.liveTasks()).toMatchObject([{ waitsOn: `process ${child.pid} to close after SIGTERM` }])
    term.hardAbort(ENDED)
    await term.scope.join()
    expect([child.signalCode, processEntry(pid)?.runs ?? false]).toEqual(['SIGKILL', false])
  })

  test('sends the signal that was asked for', async () => {
    const { term } = freshTerm()
    const child = term.child('sleeper', script(SLEEPS), { stopSignal: 'SIGINT' })
    await once(child.stdout, 'data')
    term.end(ENDED)
    await term.scope.join()
    expect(child.signalCode).toBe('SIGINT')
  })

  test('is over when the process ends well by itself', async () => {
    const { term, failures } = freshTerm()
    const child = term.child('quick', script(''))
    await once(child, 'close')
    await new Promise((resolve) => setImmediate(resolve))
    expect([term.taskCount, failures]).toEqual([0, []])
  })

  test('fails the controller when the process ends badly, or cannot be started', async () => {
    const { term, failures } = freshTerm()
    const bad = term.child('bad', () => spawn(process.execPath, ['-e', 'process.exit(3)']))
    await once(bad, 'close')
    const killed = term.child('killed', script(SLEEPS))
    killed.kill('SIGKILL')
    await once(killed, 'close')
    const missing = term.child('missing', () => spawn('/nonexistent/program'))
    await once(missing, 'error').catch(() => {})
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toMatchObject([
      { code: 'OWNED_EXIT', exitCode: 3, message: '`bad` ended before its term: exit code 3' },
      { code: 'OWNED_EXIT', signal: 'SIGKILL' },
      { code: 'ENOENT' },
    ])
    expect(term.taskCount).toBe(0)
  })

  test('is refused once the term has ended, and starts nothing; so are options that make no sense', () => {
    const { term } = freshTerm()
    let started = 0
    const start = () => {
      started += 1
      return script('')()
    }
    expect(() => term.child('bad', start, { killAfterMs: -1 })).toThrow('Expected `killAfterMs`')
    expect(() => term.child('bad', start, { graceMs: 1 } as object)).toThrow('Unknown option `graceMs`')
    term.end(ENDED)
    expect(() => term.child('late', start)).toThrow(ScopeClosedError)
    expect(started).toBe(0)
  })

  test('throws what starting throws, and tracks nothing', () => {
    const { term } = freshTerm()
    expect(() =>
      term.child('bad', () => {
        throw new Error('no fork')
      }),
    ).toThrow('no fork')
    expect(term.taskCount).toBe(0)
  })
})

test('term.child refuses a `stopSignal` that is none, before it starts anything', () => {
  const { term } = freshTerm()
  const start = (): ChildProcess => expect.fail('it was started')
  const stopSignal = 'SIGSTOPP' as NodeJS.Signals
  expect(() => term.child('c', start, { stopSignal })).toThrow(
    /^Expected `stopSignal` to be one of .*SIGTERM.*, got `SIGSTOPP`/,
  )
})
