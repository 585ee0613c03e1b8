import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { watchForLeaks } from '../../../../testing/src/leaks/watch-for-leaks.ts'
import { systemClock } from '../../../src/ports/clock.ts'
import { ProcessFamily } from '../../../src/term/owned/process-family.ts'
import { processEntry } from '../../../src/term/owned/process-table.ts'
import { ENDED, freshTerm } from '../../support/fresh-term.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-descendants-'))
})
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

const runs = (pid: number): boolean => processEntry(pid)?.runs === true
const file = (name: string): string => join(folder, name)
const until = <T>(assert: () => T | Promise<T>): Promise<T> => vi.waitFor(assert, { timeout: 20_000, interval: 5 })
const shell = (script: string) => () => spawn('sh', ['-c', script], { cwd: folder, stdio: 'ignore' })
const bash = (script: string) => () => spawn('bash', ['-c', script], { cwd: folder, stdio: 'ignore' })

/** The pid that a process writes into a file. */
async function pidIn(name: string): Promise<number> {
  return until(async () => {
    const pid = Number(await readFile(file(name), 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  })
}

/** A shell command that writes its pid into a file and sleeps. */
const sleeper = (name: string): string => `sh -c 'echo $$ > ${name}; exec sleep 600'`
const deaf = (name: string): string => `sh -c 'trap "" TERM; echo $$ > ${name}; while :; do sleep 1; done'`

const term = () => freshTerm({ clock: systemClock })

describe.runIf(process.platform === 'linux')('the descendants of a child', () => {
  test('end with it: the commands of a pipeline, and a process in the background', async () => {
    const leaks = watchForLeaks({ retained: false, ignore: { kinds: ['async-hook'] } })
    const { term: own, failures } = term()
    own.child('pipeline', shell(`${sleeper('a')} | ${sleeper('b')} & ${sleeper('c')} | ${sleeper('d')}`))
    const pids = await Promise.all(['a', 'b', 'c', 'd'].map(pidIn))
    own.end(ENDED)
    await own.scope.join()
    expect([pids.filter(runs), failures]).toEqual([[], []])
    await leaks.assertNone()
  })

  test('keep the task alive after the child has exited, and get SIGTERM when the term ends', async () => {
    const { term: own } = term()
    const child = own.child(
      'parent',
      shell(`sh -c 'trap "echo asked > told; exit" TERM; echo $$ > a; while :; do sleep 0.01; done' & sleep 0.1`),
    )
    const pid = await pidIn('a')
    if (child.exitCode === null) await once(child, 'exit')
    await until(() =>
      expect(own.scope.liveTasks()).toMatchObject([{ waitsOn: expect.stringMatching(`^process ${pid}.* to end$`) }]),
    )
    own.end(ENDED)
    await own.scope.join()
    expect([runs(pid), await readFile(file('told'), 'utf8')]).toEqual([false, 'asked\n'])
  })

  test('are killed at the hard abort, or after the grace, when they ignore SIGTERM', async () => {
    const { term: own } = term()
    own.child('hard', shell(`${deaf('a')} & ${deaf('b')}`))
    own.child('grace', shell(`${deaf('c')} & exit 0`), { killAfterMs: 50 })
    const [a, b, c] = await Promise.all([pidIn('a'), pidIn('b'), pidIn('c')])
    own.end(ENDED)
    await until(() => expect([runs(a), runs(b), runs(c)]).toEqual([true, true, false]))
    await until(() => expect(own.scope.liveTasks()).toMatchObject([{ name: 'child hard' }]))
    own.hardAbort(ENDED)
    await own.scope.join()
    expect([a, b].filter(runs)).toEqual([])
  })

  test('are found when they have left the group and the session, and when their parents are gone', async () => {
    const { term: own } = term()
    own.child('daemon', shell(`setsid setsid ${sleeper('a')} & setsid ${deaf('b')} & sleep 0.05`))
    own.child('job control', bash(`set -m; env -i ${sleeper('c')} & sleep 600`))
    const pids = await Promise.all(['a', 'b', 'c'].map(pidIn))
    own.end(ENDED)
    own.hardAbort(ENDED)
    await own.scope.join()
    expect(pids.filter(runs)).toEqual([])
  })

  test('are found in the group without the environment of their parent', async () => {
    const { term: own } = term()
    own.child('clean', () =>
      spawn('env', ['-i', 'sh', '-c', `${sleeper('a')} & ${sleeper('b')}`], {
        cwd: folder,
        env: { PATH: process.env['PATH'] },
        stdio: 'ignore',
      }),
    )
    const pids = await Promise.all(['a', 'b'].map(pidIn))
    own.end(ENDED)
    await own.scope.join()
    expect(pids.filter(runs)).toEqual([])
  })

  test('are found by their parent when they have left the session without its environment', async () => {
    const { term: own } = term()
    const source = `require('node:child_process').spawn('sh', ['-c', 'echo $$ > a; trap "" TERM; while :; do /bin/sleep 1; done'], { env: {}, detached: true, stdio: 'ignore' }); setInterval(() => {}, 1000)`
    own.child('parent', () => spawn(process.execPath, ['-e', source], { cwd: folder, stdio: 'ignore' }))
    const pid = await pidIn('a')
    own.end(ENDED)
    await until(() => expect(own.scope.liveTasks()[0]?.waitsOn).toMatch(`process ${pid}`))
    own.hardAbort(ENDED)
    await own.scope.join()
    expect(runs(pid)).toBe(false)
  })

  test('are ended when their parent has failed; the failure is reported before', async () => {
    const { term: own, failures } = term()
    own.child('bad', shell(`${deaf('a')} & sleep 0.1; exit 3`))
    const pid = await pidIn('a')
    await until(() => expect(failures).toMatchObject([{ code: 'OWNED_EXIT', exitCode: 3 }]))
    expect(own.scope.liveTasks()).toMatchObject([{ name: 'processes that child bad left' }])
    own.end(ENDED)
    own.hardAbort(ENDED)
    await own.scope.join()
    expect(runs(pid)).toBe(false)
  })

  test('of a forked module end with it, and its messages arrive as before', async () => {
    const { term: own } = term()
    await writeFile(
      file('child.mjs'),
      `import { spawn } from 'node:child_process'
       const { pid } = spawn('sleep', ['600'], { stdio: 'ignore', env: {} })
       process.on('message', (m) => process.send({ echo: m, pid }))`,
    )
    const child = own.child('forked', () => fork(file('child.mjs'), { env: { ONLY: 'this' } }))
    child.send('hello')
    const [message] = await once(child, 'message')
    expect(message).toMatchObject({ echo: 'hello' })
    own.end(ENDED)
    await own.scope.join()
    expect(runs(message.pid)).toBe(false)
  })

  test('of other owners and other children are left alone', async () => {
    const [first, second] = [term(), term()]
    first.term.child('mine', shell(sleeper('a')))
    first.term.child('quick', shell(`echo done`))
    second.term.child('other', shell(sleeper('b')))
    const bystander = shell(`exec ${sleeper('c')}`)()
    const [a, b, c] = await Promise.all([pidIn('a'), pidIn('b'), pidIn('c')])
    first.term.end(ENDED)
    await first.term.scope.join()
    expect([runs(a), runs(b), runs(c)]).toEqual([false, true, true])
    bystander.kill('SIGKILL')
    await once(bystander, 'exit')
  })

  test('are found while they start one program after the other, in sessions of their own and without their parents', async () => {
    const count = 12
    const token = `token-${process.pid}`
    await writeFile(file('again.sh'), `[ -n "$AGAIN" ] || echo $$ >> pids\nexport AGAIN=1\nexec sh "$0"\n`)
    const env = { PATH: process.env['PATH'], TOKEN: token }
    const script = `for each in ${'x '.repeat(count)}; do (setsid sh again.sh &); done`
    await once(spawn('sh', ['-c', script], { cwd: folder, env, stdio: 'ignore' }), 'exit')
    const begun = await until(async () => {
      const lines = (await readFile(file('pids'), 'utf8')).split('\n')
      expect(lines).toHaveLength(count + 1)
      return lines.slice(0, -1).map(Number)
    })
    const searches = Array.from({ length: 150 }, () => new ProcessFamily({ token, leaders: [] }).search())
    const missed = searches.flatMap((found) => begun.filter((pid) => !found.includes(pid)))
    for (const pid of begun) process.kill(pid, 'SIGKILL')
    expect(missed).toEqual([])
  })

  test('are found by every search while each of them starts another one and ends', async () => {
    const token = `token-${process.pid}`
    await writeFile(file('next.sh'), `[ -e stop ] || (setsid sh "$0" &)\n`)
    const env = { PATH: process.env['PATH'], TOKEN: token }
    await once(spawn('sh', ['next.sh'], { cwd: folder, env, stdio: 'ignore' }), 'exit')
    const search = () => new ProcessFamily({ token, leaders: [] }).search()
    const searches = Array.from({ length: 100 }, search)
    await writeFile(file('stop'), '')
    await until(() => expect(search()).toEqual([]))
    expect(searches.filter((found) => found.length === 0)).toEqual([])
  })

  test('do not include a process whose environment is empty, or is no UTF-8', async () => {
    const others = [
      shell(`exec env -i ${sleeper('a')}`),
      shell(`export ODD=$(printf '\\377\\376'); exec ${sleeper('b')}`),
    ].map((start) => start())
    const pids = await Promise.all([pidIn('a'), pidIn('b')])
    const found = new ProcessFamily({ token: 'none', leaders: [] }).search()
    expect(pids.filter((pid) => found.includes(pid))).toEqual([])
    for (const other of others) other.kill('SIGKILL')
    await Promise.all(others.map((other) => once(other, 'exit')))
  })

  test('are not counted when they are zombies that nobody reaps', async () => {
    // A parent that is stopped reaps nothing, as PID 1 of many containers.
    const parent = bash(`set -m; sh -c 'echo $$ > a; sleep 0.1' & kill -STOP $$`)()
    const zombie = await pidIn('a')
    await until(() => expect(processEntry(zombie)).toMatchObject({ group: zombie, runs: false }))
    expect(process.kill(-zombie, 0)).toBe(true)
    // Another process of this machine that is just starting a program counts until it can be read.
    await until(() => expect(new ProcessFamily({ token: 'none', leaders: [zombie] }).running()).toEqual([]))
    parent.kill('SIGKILL')
    await once(parent, 'exit')
  })
})

describe.runIf(process.platform === 'linux')('the processes of a worker', () => {
  const spawns = (script: string, then = '') => {
    const source = `require('node:child_process').spawn('sh', ['-c', ${JSON.stringify(script)}], { cwd: ${JSON.stringify(folder)} })`
    return () => new Worker(`${source}; ${then}`, { eval: true })
  }

  test('get SIGTERM when the worker has ended with the term, without a hard abort', async () => {
    const { term: own, failures } = term()
    own.worker('running', spawns(`${sleeper('a')} & setsid ${sleeper('b')}`))
    const pids = await Promise.all(['a', 'b'].map(pidIn))
    own.end(ENDED)
    await own.scope.join()
    expect([pids.filter(runs), failures]).toEqual([[], []])
  })

  test('end after the worker, also when it has ended long before', async () => {
    const { term: own, failures } = term()
    own.worker('running', spawns(`${sleeper('a')} & setsid ${sleeper('b')}`))
    own.worker('gone', spawns(`${deaf('c')} & ${deaf('d')}`, 'process.exit(0)'))
    const pids = await Promise.all(['a', 'b', 'c', 'd'].map(pidIn))
    own.end(ENDED)
    own.hardAbort(ENDED)
    await own.scope.join()
    expect([pids.filter(runs), failures]).toEqual([[], []])
  })
})

describe('term.child', () => {
  test('refuses a process that was started before', async () => {
    const { term: own } = term()
    const child: ChildProcess = spawn('sleep', ['600'])
    expect(() => own.child('old', () => child)).toThrow(`which was started before. Call \`spawn()\` in \`start\``)
    child.kill('SIGKILL')
    await once(child, 'exit')
  })

  test('kills what `start` has started when it throws, or when it returns another process', async () => {
    const { term: own } = term()
    const old = spawn('sleep', ['600'])
    const started: ChildProcess[] = []
    const starts = () => {
      const child = spawn('sleep', ['600'])
      started.push(child)
      return child
    }
    const throwing = () => {
      starts()
      throw new Error('after the start')
    }
    expect(() => own.child('throwing', throwing)).toThrow('after the start')
    expect(() => own.child('other', () => starts() && old)).toThrow('was started before')
    await Promise.all(started.map(async (child) => expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])))
    old.kill('SIGKILL')
    expect(await once(old, 'exit')).toEqual([null, 'SIGKILL'])
  })

  test('leaves the environment of this process as it was', async () => {
    const { term: own } = term()
    const before = { ...process.env }
    own.child('quick', shell('env > env'))
    await until(() => stat(file('env')))
    expect({ ...process.env }).toEqual(before)
    await until(async () => expect(await readFile(file('env'), 'utf8')).toMatch(/^_TENURE_TERM=[-0-9a-f]{36}:1;$/mu))
  })
})
