import { prepareProcessGuard, resolveTimingOptions } from '@tenure/core/internal'
import pino, { type Logger } from 'pino'
import { type CandidacyEvent, createManager, EXIT_CODE, exitCodeOf, type Extension, type ProcessManager } from 'tenure'
import type { Terminal } from '../terminal.ts'
import { deadlineGuard } from './deadline-guard.ts'
import { type ExecCommand, type ExecOptions, execOptions } from './exec-options.ts'
import { exitCodeOfEnd, exitCodeOfStop } from './exit-code-of-program.ts'
import { CANNOT_START, codeOfSpawnError, whyNotStartable } from './find-program.ts'
import { forwardedSignals } from './forwarded-signals.ts'
import { Program, PROGRAM_TASK, type ProgramEnd } from './program.ts'

/**
 * Runs a program while this process leads a lease. Returns the exit code when it has stopped.
 *
 * @throws OptionsError naming the invalid flag or option.
 */
export async function exec(command: ExecCommand, { env, err, interrupted }: ExecTerminal): Promise<number> {
  const options = execOptions(command, env)
  const why = whyNotStartable(options.file, env['PATH'])
  if (why !== undefined) {
    const problem = why === CANNOT_START.notFound ? 'no such program' : 'not an executable file'
    err(`Could not start \`${options.file}\`: ${problem}. The lease was not touched.\n`)
    return why
  }
  const execution = new Execution(options)
  // From its start on, the manager handles signals itself.
  return interrupted.aborted ? EXIT_CODE.clean : await execution.run()
}

type ExecTerminal = Pick<Terminal, 'env' | 'err' | 'interrupted'>

/** One call of `tenure exec`, from its start to its exit code. */
class Execution {
  readonly #options: ExecOptions
  readonly #manager: ProcessManager
  /** Passes a signal on to the program that runs. */
  #signal: (signal: NodeJS.Signals) => void = () => {}
  /** How the program of the present term ended last. */
  #end: ProgramEnd | undefined
  /** Why this process stops by itself. */
  #exitCode: number | undefined

  constructor(options: ExecOptions) {
    const { abortGraceMs } = resolveTimingOptions(options.timing)
    this.#options = options
    this.#manager = createManager({ ...options.manager, logger: loggerOf(options) })
    this.#manager.register(() => this.#program())
    this.#manager.use(forwardedSignals((signal) => this.#signal(signal)))
    const remainingMs = (): number => Math.max(0, ...this.#manager.candidacies.map((own) => own.remainingMs()))
    this.#manager.use(deadlineGuard({ remainingMs, marginMs: abortGraceMs / 2 }))
    this.#manager.use({ name: 'exit-code', onEvent: (event) => this.#onEvent(event) })
    this.#manager.use(preparedGuards())
  }

  /** Competes for the lease until a signal, the success of the program, or a loss that is to end this process. */
  async run(): Promise<number> {
    try {
      await this.#manager.start()
    } catch (error) {
      // The manager has logged it.
      return exitCodeOf(error)
    }
    return this.#exitCode ?? exitCodeOfStop(this.#end, this.#options.stopSignal)
  }

  #program(): Program {
    const manager = this.#manager
    return new Program({
      ...this.#options,
      replica: () => manager,
      isLeft: () => manager.candidacies.some((own) => own.liveTasks().some(({ name }) => name === PROGRAM_TASK)),
      onStart: (signal) => {
        this.#signal = signal
        this.#end = undefined
      },
      onEnd: (end) => {
        this.#signal = () => {}
        this.#end = end
      },
      onDone: () => this.#stop(EXIT_CODE.clean),
    })
  }

  #onEvent(event: CandidacyEvent): void {
    if (event.kind === 'controller-failed') {
      const code = codeOfSpawnError(event.error)
      if (code !== undefined) this.#stop(code)
    }
    if (event.kind !== 'term-over' || event.reason === 'shutdown') return
    if (this.#options.onLoss === 'exit') {
      const failed = event.reason === 'controller-failed' ? this.#end : undefined
      this.#stop(failed === undefined ? EXIT_CODE.leadershipLost : exitCodeOfEnd(failed))
    }
    this.#end = undefined
  }

  /** Releases the lease when nothing of the program is left. Only the first exit code counts. */
  #stop(exitCode: number): void {
    this.#exitCode ??= exitCode
    void this.#manager.stop()
  }
}

/**
 * The guard that `term.child()` starts is there before the term begins: a program should not wait for it. The guard of the next term waits
 * until another replica leads, because its start would slow down the handover. None follows the last term.
 */
function preparedGuards(): Extension {
  let discard = (): void => {}
  let isStopping = false
  const prepare = (): void => void (discard = prepareProcessGuard())
  return {
    name: 'prepared-guards',
    start: prepare,
    onEvent: (event) => {
      if (event.kind === 'term-over') isStopping = event.reason === 'shutdown'
      if (event.kind === 'leader-observed' && event.identity !== '' && !isStopping) prepare()
    },
    stop: () => discard(),
  }
}

/** Logs to the standard error: the standard output belongs to the program. `createManager()` refuses a level that does not exist. */
function loggerOf({ logLevel }: ExecOptions): Logger {
  const level = logLevel in pino.levels.values || logLevel === 'silent' ? logLevel : 'info'
  return pino({ level }, pino.destination({ dest: 2, sync: true }))
}
