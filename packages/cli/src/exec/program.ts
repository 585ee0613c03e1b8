import { spawn } from 'node:child_process'
import { onAbort } from '@tenure/core/internal'
import { Controller, type Term } from 'tenure'

/** How a program ended. */
export interface ProgramEnd {
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  /** Null if it exited by itself. */
  readonly signal: NodeJS.Signals | null
  /** Whether its term had begun to end, so that the program had got the stop signal. */
  readonly wasAsked: boolean
}

/** Options of a {@link Program}. */
export interface ProgramOptions {
  readonly file: string
  readonly args: readonly string[]
  /** What the program gets when its term begins to end. Processes that it leaves behind get SIGTERM. */
  readonly stopSignal: NodeJS.Signals
  /** The environment of the program, apart from what names its term. */
  readonly env: NodeJS.ProcessEnv
  /** The variables that name the replica. Called when the program starts. */
  readonly replica: () => { readonly identity: string; readonly namespace: string }
  /** Whether a process of the program runs. */
  readonly isLeft: () => boolean
  /** Called with the means to signal the program when it starts. */
  readonly onStart: (signal: (signal: NodeJS.Signals) => void) => void
  /** Called when the first process of the program has ended. Its descendants may still run. */
  readonly onEnd: (end: ProgramEnd) => void
  /** Called when the program has succeeded and none of its processes runs. */
  readonly onDone: () => void
}

/** The task that lasts until no process of the program runs. */
export const PROGRAM_TASK = 'child program'

/** How often to check whether the processes that a program left behind have ended, first and later. */
const SHORTEST_PAUSE_MS = 1
const LONGEST_PAUSE_MS = 50

/**
 * Runs a program for one term. `term.child()` does the rest: it stops the program and everything that the program has started, and the term
 * is not over before nothing of it runs. A program that fails is restarted as any controller.
 */
export class Program extends Controller {
  override readonly name = 'program'
  readonly #options: ProgramOptions

  constructor(options: ProgramOptions) {
    super()
    this.#options = options
  }

  override async run(term: Term): Promise<void> {
    const { isLeft, onDone } = this.#options
    if (!(await this.#succeeds(term))) return
    for (let pauseMs = SHORTEST_PAUSE_MS; isLeft(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await term.sleep(pauseMs)
    }
    onDone()
    await aborted(term.signal)
  }

  /** Starts the program. Resolves with whether it exited with 0 before its term began to end. A failure fails the controller. */
  #succeeds(term: Term): Promise<boolean> {
    const { file, args, stopSignal, onStart, onEnd } = this.#options
    const env = this.#environment(term)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const child = term.child(this.name, () => spawn(file, args, { env, stdio: 'inherit' }), { stopSignal })
    onStart((signal) => void child.kill(signal))
    child.once('close', (exitCode, signal) => {
      const wasAsked = term.signal.aborted
      if (child.pid !== undefined) onEnd({ exitCode, signal, wasAsked })
      resolve(exitCode === 0 && !wasAsked)
    })
    return promise
  }

  #environment(term: Term): NodeJS.ProcessEnv {
    const { identity, namespace } = this.#options.replica()
    return {
      ...this.#options.env,
      TENURE_LEASE: term.lease,
      TENURE_NAMESPACE: namespace,
      TENURE_IDENTITY: identity,
      TENURE_EPOCH: String(term.epoch),
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  onAbort(signal, resolve)
  await promise
}
