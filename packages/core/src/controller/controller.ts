import type { Term } from '../term/term.ts'

/**
 * The unit of work of an application. A factory builds a new one for every term, so a controller may keep state in its fields
 * without ever seeing that of an earlier term.
 */
export abstract class Controller {
  /** Unique among the controllers of a lease. Used in logs, metrics and health checks; `[A-Za-z0-9][A-Za-z0-9._-]*`. */
  abstract readonly name: string

  /**
   * Does the work for as long as the term lasts. May also start tasks with `term.spawn` and return: the controller is at work
   * until this has returned *and* all its tasks have settled. A controller that ends or throws before its term is restarted.
   */
  abstract run(term: Term): Promise<void>

  /**
   * Prepares this instance for its run, ahead of the term: fills caches, opens connections, writes nothing. Called only where the
   * controller was registered with `warmUp`, and then before `run`, which is not called before this has settled. It is a head
   * start and no more: `run` has to work without, because a warm-up may be cut short, and a restart has none. What it starts
   * through `warm` goes on until the run for which it was done is over.
   */
  warmUp?(warm: WarmUp): Promise<void>
}

/**
 * What `warmUp()` works with: a {@link Term} without leadership. Its write gate is closed. It is over with the run of the controller for
 * which it was done, after the tasks of that run; or when nothing comes of it.
 */
export interface WarmUp extends Omit<Term, 'assertHeld' | 'remainingMs' | 'stepDown' | 'progress'> {
  /** 0: nothing may be written. */
  readonly epoch: bigint
  /** False: nothing may be written. */
  isHeld(): boolean
}

/** Builds a controller. Must return a new instance at every call. */
export type ControllerFactory = () => Controller
