import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { resolveDurationMs } from '../../options/duration.ts'
import { assertKnownKeys } from '../../options/known-keys.ts'
import { OptionsError } from '../../options/options-error.ts'
import { assertOneOf } from '../../options/one-of.ts'
import type { Timer } from '../../ports/clock.ts'
import type { TaskNote } from '../task-scope.ts'
import { FamilyEnd } from './family-end.ts'
import { OwnedExitError } from './owned-exit-error.ts'
import { guardEvents } from './guard-events.ts'
import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/** How to end a child process at the end of the term. */
export interface ChildOptions {
  /** The signal that the child gets when the term begins to end. Processes that it leaves behind get SIGTERM. @default 'SIGTERM' */
  readonly stopSignal?: NodeJS.Signals
  /**
   * How long the child and its descendants may take to exit after that, in milliseconds. Then they get SIGKILL. The hard abort kills them
   * in any case. @default until the hard abort
   */
  readonly killAfterMs?: number
}

/** A child process and its options. */
export interface ChildStart<C extends ChildProcess> {
  readonly start: () => C
  readonly options: ChildOptions
}

/**
 * Starts a child process. The task lasts until the child has exited, its standard streams have closed and none of its descendants runs. A
 * guard process kills them all if this process dies.
 */
export function child<C extends ChildProcess>(owner: Owner, name: string, { start, options }: ChildStart<C>): C {
  assertKnownKeys('`term.child()`', options, ['stopSignal', 'killAfterMs'])
  const killAfterMs = resolveDurationMs('killAfterMs', options.killAfterMs, { fallback: Infinity, min: 0 })
  assertOneOf('stopSignal', options.stopSignal, Object.keys(constants.signals))
  const task = `child ${name}`
  owner.assertOpen(task)
  const family = owner.processes.start(start)
  const { started } = family
  if (!family.children.includes(started) && reportsChildren()) {
    family.family.signal('SIGKILL')
    throw notStartedHere(name, started)
  }
  const rest = new FamilyEnd(owner, family)
  owner
    .track(task, async (note) => {
      const over = closed(started)
      const forget = endWithTerm({
        owner,
        task: note,
        child: started,
        rest,
        killAfterMs,
        stopSignal: options.stopSignal ?? 'SIGTERM',
      })
      note.waitsOn = `process ${started.pid}`
      const guards = [started, ...started.stdio].map((emitter) => emitter && guardEvents(owner, emitter))
      const failure = failureOf(name, await over)
      for (const forgetGuard of guards) forgetGuard?.()
      await rest.finish({ name: task, task: note, failure: owner.signal.aborted ? undefined : failure, forget })
    })
    .catch(() => {})
  return started
}

/** Bun and Deno do not report the child processes that they start. */
function reportsChildren(): boolean {
  return !('bun' in process.versions) && !('deno' in process.versions)
}

function notStartedHere(name: string, child: ChildProcess): OptionsError {
  return new OptionsError(
    `Expected \`start\` of \`term.child('${name}', start)\` to start the child process that it returns, got process ${child.pid}, which was started before. Call \`spawn()\` in \`start\``,
  )
}

function failureOf(name: string, { failure, exitCode, signal }: ChildEnd): { readonly error: Error } | undefined {
  if (failure !== undefined) return { error: failure }
  return exitCode === 0 ? undefined : { error: new OwnedExitError(name, exitCode, signal) }
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
  readonly rest: FamilyEnd
  readonly killAfterMs: number
  readonly stopSignal: NodeJS.Signals
}

/**
 * Sends the stop signal to the process when the term begins to end, and SIGTERM to the processes that it leaves behind. Kills all of them
 * if they do not end. The returned function removes the listeners.
 */
function endWithTerm({ owner, task, child, rest, killAfterMs, stopSignal }: ChildEnding): () => void {
  const askRest = (): void => rest.ask()
  const kill = (): void => {
    task.waitsOn = `process ${child.pid} to close after SIGKILL`
    child.kill('SIGKILL')
    rest.kill()
    // A process that was not found may hold the streams open forever.
    if (hasExited(child)) destroyStreams(child)
    else child.once('exit', () => destroyStreams(child))
  }
  let timer: Timer | undefined
  const forgetStop = onAbort(owner.signal, () => {
    task.waitsOn = `process ${child.pid} to close after ${stopSignal}`
    rest.find()
    if (hasExited(child)) askRest()
    else child.once('exit', askRest).kill(stopSignal)
    if (killAfterMs < Infinity) timer = owner.clock.setTimer(killAfterMs, kill)
  })
  const forgetKill = onAbort(owner.hardSignal, kill)
  return () => {
    forgetStop()
    forgetKill()
    timer?.cancel()
    child.off('exit', askRest)
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function destroyStreams(child: ChildProcess): void {
  for (const stream of child.stdio) stream?.destroy()
}
