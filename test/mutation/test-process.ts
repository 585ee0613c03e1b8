import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { ChangedFile } from '../mutants/changed-file.ts'

const PROGRAM = fileURLToPath(new URL('./run-tests.ts', import.meta.url))

/**
 * Runs a program in a process namespace, which ends with the program: a mutant may kill every process that it sees. The shell reaps the
 * processes that lost their parent.
 */
const NAMESPACE = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-current-user']),
  '--pid',
  '--fork',
  '--mount-proc',
  '--kill-child',
  'sh',
  '-c',
  '"$@"; exit $?',
  'sh',
]

/** Empty where the system has no such namespaces. */
const isolated: readonly string[] = spawnSync('unshare', [...NAMESPACE.slice(1), 'true']).status === 0 ? NAMESPACE : []

/** A test file to run, and how long it may take. */
export interface TestToRun {
  /** From the root of the project. */
  readonly test: string
  /** In milliseconds. */
  readonly limitMs: number
}

/** What the process is asked to do. */
export interface Request {
  /** Undefined to run the test as it is. */
  readonly changed?: ChangedFile
  readonly test: string
}

/** What the process answers. */
export interface Answer {
  /** What failed. Undefined if all tests passed. */
  readonly failure?: string
}

/**
 * A process that holds a test runner and all it has loaded, so that a mutant costs little more than its tests. It starts at the first
 * run, and again after a run that took too long.
 */
export class TestProcess implements Disposable {
  readonly #root: string
  #child: ChildProcess | undefined
  readonly #kill = (): void => {
    if (this.#child?.pid === undefined) return
    process.kill(-this.#child.pid, 'SIGKILL')
    this.#child = undefined
  }

  constructor(root: string) {
    this.#root = root
    process.once('exit', this.#kill)
  }

  /** Runs a test file with a change, and returns what failed. Undefined if all tests pass. */
  async failureOf(changed: ChangedFile, { test, limitMs }: TestToRun): Promise<string | undefined> {
    const child = this.#child ?? (await this.#loaded(test))
    child.send({ changed, test } satisfies Request)
    const limit = AbortSignal.timeout(Math.ceil(limitMs))
    const ended = new AbortController()
    const signal = AbortSignal.any([limit, ended.signal])
    try {
      return (await answerOf(child, signal)).failure
    } catch (error) {
      this.#kill()
      if (limit.aborted) return 'the time limit'
      throw error
    } finally {
      ended.abort()
    }
  }

  /** A new process that has run a test file once as it is: its limit is for the tests, not for the start and the modules that they load. */
  async #loaded(test: string): Promise<ChildProcess> {
    const child = (this.#child = this.#start())
    const ended = new AbortController()
    child.send({ test } satisfies Request)
    await answerOf(child, ended.signal).finally(() => ended.abort())
    return child
  }

  #start(): ChildProcess {
    const { TENURE_MUTANT: _, ...env } = process.env
    const [execPath = process.execPath, ...execArgv] = [...isolated, process.execPath, ...process.execArgv]
    return fork(PROGRAM, {
      cwd: this.#root,
      env,
      execPath,
      execArgv,
      // A process group of its own, so that workers in an endless loop end with it.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#kill)
    this.#kill()
  }
}

/** The next answer of a process. @throws Error if the process ends, or the signal aborts */
async function answerOf(child: ChildProcess, signal: AbortSignal): Promise<Answer> {
  const [answer] = (await Promise.race([once(child, 'message', { signal }), diedOf(child, signal)])) as [Answer]
  return answer
}

async function diedOf(child: ChildProcess, signal: AbortSignal): Promise<never> {
  const [code] = (await once(child, 'exit', { signal })) as [number | null]
  throw new Error(`Expected the process of the tests to answer, but it exited with ${code}`)
}
