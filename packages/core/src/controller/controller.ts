import type { Term } from '../term/term.ts'

/**
 * Your unit of work. A factory builds a new instance for every run, so a controller can keep state in its fields and never sees the state
 * of an earlier term.
 */
export abstract class Controller {
  /** The name in logs, metrics and health checks. Unique among the controllers of a lease; matches `[A-Za-z0-9][A-Za-z0-9._-]*`. */
  abstract readonly name: string

  /**
   * Does the work while the term lasts. It may also start tasks with `term.spawn` and return: a run lasts until this method has returned
   * *and* all its tasks have settled. A controller whose run ends or fails before the term is restarted.
   */
  abstract run(term: Term): Promise<void>

  /**
   * Prepares this instance before its term: fills caches and opens connections, but writes nothing. Called only if the controller was
   * registered with `warmUp`. `run` is called after this has settled. `run` must also work without a warm-up: a warm-up may be cancelled,
   * and a restart has none. Work that was started through `warm` continues until the end of the run.
   */
  warmUp?(warm: WarmUp): Promise<void>
}

/**
 * What `warmUp()` gets: a {@link Term} without leadership. Its write gate is closed. It ends after the tasks of the run that follows, or
 * when the warm-up is cancelled.
 */
export interface WarmUp extends Omit<
  Term,
  'assertHeld' | 'remainingMs' | 'stepDown' | 'progress' | 'bequeath' | 'inherited' | 'predecessor'
> {
  /** 0: nothing may be written. */
  readonly epoch: bigint
  /** False: nothing may be written. */
  isHeld(): boolean
}

/** Builds a controller. Every call must return a new instance. */
export type ControllerFactory = () => Controller
