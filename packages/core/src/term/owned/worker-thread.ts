import type { Worker } from 'node:worker_threads'
import { assertKnownKeys } from '../../options/known-keys.ts'
import { OwnedExitError } from './owned-exit-error.ts'
import { onAbort, type Owner } from './owner.ts'

/** How a worker thread is ended with its term. */
export interface WorkerOptions {
  /**
   * Posted to the worker when the term begins to end, so that it may finish; it is terminated at the hard abort. Without one it
   * is terminated when the term begins to end.
   */
  readonly stopMessage?: unknown
}

/** A worker thread and how to end it. */
export interface WorkerStart<W extends Worker> {
  readonly start: () => W
  readonly options: WorkerOptions
}

/** Starts a worker thread and tracks it until it has exited. */
export function worker<W extends Worker>(owner: Owner, name: string, { start, options }: WorkerStart<W>): W {
  assertKnownKeys('`term.worker()`', options, ['stopMessage'])
  owner.assertOpen(`worker ${name}`)
  const started = start()
  const asks = options.stopMessage !== undefined
  owner
    .track(`worker ${name}`, async (task) => {
      task.waitsOn = `exit of worker ${started.threadId}`
      const over = exited(started)
      const terminate = (): void => void started.terminate()
      const forgetStop = onAbort(owner.signal, asks ? () => started.postMessage(options.stopMessage, []) : terminate)
      const forgetKill = onAbort(owner.hardSignal, terminate)
      const { failure, exitCode } = await over
      forgetStop()
      forgetKill()
      if (owner.signal.aborted) return
      if (failure !== undefined) throw failure.error
      if (exitCode !== 0) throw new OwnedExitError(name, exitCode)
    })
    .catch(() => {})
  return started
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
