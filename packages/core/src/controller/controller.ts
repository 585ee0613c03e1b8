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
   * until this has returned *and* all its tasks have settled. One that ends or throws before the term does is restarted.
   */
  abstract run(term: Term): Promise<void>
}

/** Builds a controller. Must return a new instance at every call. */
export type ControllerFactory = () => Controller
