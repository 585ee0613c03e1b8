import type { Worker } from 'node:worker_threads'
import { assertKnownKeys } from '../../options/known-keys.ts'
import { OptionsError } from '../../options/options-error.ts'
import { textOf } from '../../text-of.ts'
import { FamilyEnd } from './family-end.ts'
import { OwnedExitError } from './owned-exit-error.ts'
import { guardEvents } from './guard-events.ts'
import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/** How to end a worker thread at the end of the term. */
export interface WorkerOptions {
  /**
   * Posted to the worker when the term begins to end, so that it can finish; the hard abort terminates it. Without a message, it is
   * terminated when the term begins to end.
   */
  readonly stopMessage?: unknown
}

/** A worker thread and its options. */
export interface WorkerStart<W extends Worker> {
  readonly start: () => W
  readonly options: WorkerOptions
}

/** Starts a worker thread. The task lasts until the worker has exited and none of the processes that it started runs. */
export function worker<W extends Worker>(owner: Owner, name: string, { start, options }: WorkerStart<W>): W {
  assertKnownKeys('`term.worker()`', options, ['stopMessage'])
  assertPostable(options.stopMessage)
  const task = `worker ${name}`
  owner.assertOpen(task)
  const family = owner.processes.start(start)
  const { started } = family
  const rest = new FamilyEnd(owner, family)
  owner
    .track(task, async (note) => {
      note.waitsOn = `exit of worker ${started.threadId}`
      const over = exited(started)
      const forget = endWithTerm({ owner, worker: started, rest, options })
      const forgetGuard = guardEvents(owner, started)
      const failure = failureOf(name, await over)
      forgetGuard()
      if (owner.signal.aborted) rest.ask()
      await rest.finish({ name: task, task: note, failure: owner.signal.aborted ? undefined : failure, forget })
    })
    .catch(() => {})
  return started
}

interface WorkerEnding {
  readonly owner: Owner
  readonly worker: Worker
  readonly rest: FamilyEnd
  readonly options: WorkerOptions
}

/** Ends the worker, and then the processes that it leaves behind. The returned function removes the listeners. */
function endWithTerm({ owner, worker, rest, options }: WorkerEnding): () => void {
  let hasExited = false
  worker.once('exit', () => (hasExited = true))
  const terminate = (): void => void worker.terminate()
  const forgetStop = onAbort(owner.signal, () => {
    if (hasExited) rest.ask()
    else if (options.stopMessage === undefined) terminate()
    else post(worker, options.stopMessage)
  })
  const forgetKill = onAbort(owner.hardSignal, () => {
    terminate()
    rest.kill()
  })
  return () => {
    forgetStop()
    forgetKill()
  }
}

/** At the end of the term it could only be an uncaught exception. */
function assertPostable(stopMessage: unknown): void {
  try {
    structuredClone(stopMessage)
  } catch (cause) {
    throw OptionsError.expected('`stopMessage` to be something that can be posted to a worker', stopMessage, {
      remedy: textOf(cause),
      cause,
    })
  }
}

/** The message may have been changed since it was checked, and may be impossible to post. */
function post(worker: Worker, stopMessage: unknown): void {
  try {
    worker.postMessage(stopMessage, [])
  } catch {
    void worker.terminate()
  }
}

function failureOf(name: string, { failure, exitCode }: WorkerEnd): { readonly error: unknown } | undefined {
  if (failure !== undefined) return failure
  return exitCode === 0 ? undefined : { error: new OwnedExitError(name, exitCode) }
}

interface WorkerEnd {
  readonly failure: { readonly error: unknown } | undefined
  readonly exitCode: number
}

function exited(worker: Worker): Promise<WorkerEnd> {
  const { promise, resolve } = Promise.withResolvers<WorkerEnd>()
  let failure: WorkerEnd['failure']
  const onError = (error: unknown): void => void (failure ??= { error })
  worker.on('error', onError)
  worker.once('exit', (exitCode) => {
    worker.off('error', onError)
    resolve({ failure, exitCode })
  })
  return promise
}
