import type { Clock } from '../../ports/clock.ts'
import type { TaskNote } from '../task-scope.ts'
import type { OwnedProcesses } from './owned-processes.ts'

/** What the things that a term owns are built on: a part of the term. */
export interface Owner {
  readonly signal: AbortSignal
  readonly hardSignal: AbortSignal
  readonly gateSignal: AbortSignal
  readonly clock: Clock
  /** The child processes of this run, and those of its workers. */
  readonly processes: OwnedProcesses
  /**
   * The door of the term: asked of the clock before anything calls code of the user, or goes on with it. False once the time of
   * the term is up; the term has been ended then, even if no timer has fired yet.
   */
  admits(): boolean
  /** @throws ScopeClosedError once the term has begun to end, and when it does not admit. */
  assertOpen(name: string): void
  /** Starts a tracked task, which fails the controller when it rejects. In the same turn as `assertOpen`, it does not throw. */
  track<T>(name: string, work: (task: TaskNote) => T | Promise<T>): Promise<T>
  /** Runs a function of the user that is called from outside of the term. */
  enter<T>(work: () => T | Promise<T>): Promise<T>
  /** Remembers where tasks of this name come from, ahead of the first. */
  noteSite(name: string): void
  defer(cleanup: (signal: AbortSignal) => unknown): void
}
