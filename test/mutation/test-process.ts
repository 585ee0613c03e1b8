import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { ChangedFile } from '../mutants/changed-file.ts'

const PROGRAM = fileURLToPath(new URL('./run-tests.ts', import.meta.url))

/** A test file to run, and how long it may take. */
export interface TestToRun {
  /** From the root of the project. */
  readonly test: string
  /** In milliseconds. */
  readonly limitMs: number
}

/** What the process is asked to do. */
export interface Request {
  readonly changed: ChangedFile
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

  /** Runs test files with a change, one after the other, and returns the first failure. Undefined if all tests pass. */
  async failureOf(changed: ChangedFile, tests: readonly TestToRun[]): Promise<string | undefined> {
    for (const { test, limitMs } of tests) {
      const failure = await this.#run({ changed, test }, limitMs)
      if (failure !== undefined) return failure
    }
    return undefined
  }

  async #run(request: Request, limitMs: number): Promise<string | undefined> {
    const child = (this.#child ??= this.#start())
    child.send(request)
    const limit = AbortSignal.timeout(Math.ceil(limitMs))
    const ended = new AbortController()
    const signal = AbortSignal.any([limit, ended.signal])
    try {
      const [answer] = (await Promise.race([once(child, 'message', { signal }), diedOf(child, signal)])) as [Answer]
      return answer.failure
    } catch (error) {
      this.#kill()
      if (limit.aborted) return 'the time limit'
      throw error
    } finally {
      ended.abort()
    }
  }

  #start(): ChildProcess {
    const { TENURE_MUTANT: _, ...env } = process.env
    // A process group of its own, so that workers in an endless loop end with it.
    return fork(PROGRAM, { cwd: this.#root, env, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#kill)
    this.#kill()
  }
}

async function diedOf(child: ChildProcess, signal: AbortSignal): Promise<never> {
  const [code] = (await once(child, 'exit', { signal })) as [number | null]
  throw new Error(`Expected the process of the tests to answer, but it exited with ${code}`)
}
