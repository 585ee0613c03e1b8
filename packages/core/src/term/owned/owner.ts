import type { Clock } from '../../ports/clock.ts'
import type { TaskNote } from '../task-scope.ts'
import type { OwnedProcesses } from './owned-processes.ts'

/** What `ControllerTerm` offers to the code of owned things, such as child processes and servers. */
export interface Owner {
  readonly signal: AbortSignal
  readonly hardSignal: AbortSignal
  readonly gateSignal: AbortSignal
  readonly clock: Clock
  /** The child processes of this run and of its workers. */
  readonly processes: OwnedProcesses
  /**
   * Whether code of the user may be called or continued now. Reads the clock. Once the time of the term is up, it ends the term and
   * returns false, even if no timer has fired yet.
   */
  admits(): boolean
  /** @throws ScopeClosedError once the term has begun to end or its time is up. */
  assertOpen(name: string): void
  /** Starts a task. A rejection fails the controller. Does not throw if `assertOpen` passed in the same turn. */
  track<T>(name: string, work: (task: TaskNote) => T | Promise<T>): Promise<T>
  /** Runs a function of the user that something outside of the term calls. */
  enter<T>(work: () => T | Promise<T>): Promise<T>
  /** Records where tasks of this name are started, before the first of them. */
  noteSite(name: string): void
  defer(cleanup: (signal: AbortSignal) => unknown): void
}
