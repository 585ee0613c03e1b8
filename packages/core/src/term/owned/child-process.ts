import type { ChildProcess } from 'node:child_process'
import { resolveDurationMs } from '../../options/duration.ts'
import { assertKnownKeys } from '../../options/known-keys.ts'
import type { Timer } from '../../ports/clock.ts'
import type { TaskNote } from '../task-scope.ts'
import { OwnedExitError } from './owned-exit-error.ts'
import { onAbort, type Owner } from './owner.ts'

/** How a child process is ended with its term. */
export interface ChildOptions {
  /** What it is sent when the term begins to end. @default 'SIGTERM' */
  readonly stopSignal?: NodeJS.Signals
  /** How long it may take to exit after that, before it is killed. At the hard abort it is killed in any case. @default until then */
  readonly killAfterMs?: number
}

/** A child process and how to end it. */
export interface ChildStart<C extends ChildProcess> {
  readonly start: () => C
  readonly options: ChildOptions
}

/** Starts a child process and tracks it until it has exited and its standard streams have closed. */
export function child<C extends ChildProcess>(owner: Owner, name: string, { start, options }: ChildStart<C>): C {
  assertKnownKeys('`term.child()`', options, ['stopSignal', 'killAfterMs'])
  const killAfterMs = resolveDurationMs('killAfterMs', options.killAfterMs, { fallback: Infinity, min: 0 })
  owner.assertOpen(`child ${name}`)
  const started = start()
  owner
    .track(`child ${name}`, async (task) => {
      const over = closed(started)
      const forget = endWithTerm({
        owner,
        task,
        child: started,
        killAfterMs,
        stopSignal: options.stopSignal ?? 'SIGTERM',
      })
      task.waitsOn = `process ${started.pid}`
      const { failure, exitCode, signal } = await over.finally(forget)
      if (owner.signal.aborted) return
      if (failure !== undefined) throw failure
      if (exitCode !== 0) throw new OwnedExitError(name, exitCode, signal)
    })
    .catch(() => {})
  return started
}

interface ChildEnd {
  readonly failure?: Error
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
}

/** Resolves when the process has exited and its streams have closed, or when it could not be started. */
function closed(child: ChildProcess): Promise<ChildEnd> {
  const { promise, resolve } = Promise.withResolvers<ChildEnd>()
  const onError = (failure: Error): void => {
    if (child.pid === undefined) resolve({ failure, exitCode: null, signal: null })
  }
  child.on('error', onError)
  child.once('close', (exitCode, signal) => {
    child.off('error', onError)
    resolve({ exitCode, signal })
  })
  return promise
}

interface ChildEnding {
  readonly owner: Owner
  readonly task: TaskNote
  readonly child: ChildProcess
  readonly killAfterMs: number
  readonly stopSignal: NodeJS.Signals
}

/** Asks the process to stop when the term begins to end, and kills it when it does not. Returns the function that ends that. */
function endWithTerm({ owner, task, child, killAfterMs, stopSignal }: ChildEnding): () => void {
  const kill = (): void => {
    task.waitsOn = `process ${child.pid} to close after SIGKILL`
    child.kill('SIGKILL')
    // A process that it has started may hold its streams open for ever.
    if (child.exitCode !== null || child.signalCode !== null) destroyStreams(child)
    else child.once('exit', () => destroyStreams(child))
  }
  let timer: Timer | undefined
  const forgetStop = onAbort(owner.signal, () => {
    task.waitsOn = `process ${child.pid} to close after ${stopSignal}`
    child.kill(stopSignal)
    if (killAfterMs < Infinity) timer = owner.clock.setTimer(killAfterMs, kill)
  })
  const forgetKill = onAbort(owner.hardSignal, kill)
  return () => {
    forgetStop()
    forgetKill()
    timer?.cancel()
  }
}

function destroyStreams(child: ChildProcess): void {
  for (const stream of child.stdio) stream?.destroy()
}
