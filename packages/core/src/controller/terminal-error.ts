import { TenureError } from '../tenure-error.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { textOf } from '../text-of.ts'

/** Thrown by a controller to say that a restart would not help: the replica gives up its term at once. */
export class TerminalError extends TenureError {
  override readonly code = 'TERMINAL'
}

/** A controller ended although its term lasts. */
export class ControllerReturnedError extends TenureError {
  override readonly code = 'CONTROLLER_RETURNED'

  constructor(controller: string) {
    super(`Controller \`${controller}\` returned, and all its tasks ended, while its term lasts`)
  }
}

/** A controller failed more often than its restart limits allow. */
export class ControllerFailedError extends TenureError {
  override readonly code = 'CONTROLLER_FAILED'
  /** The name of the controller. */
  readonly controller: string

  /** `more` says what else there is to know. */
  constructor(controller: string, cause: unknown, more?: string) {
    const why = more === undefined ? textOf(cause) : `${textOf(cause)}; ${more}`
    super(`Controller \`${controller}\` failed and is not restarted any more: ${why}`, { cause })
    this.controller = controller
  }
}

/** The reason with which the signals of a controller abort that is to be restarted. */
export class ControllerRestartError extends TermEndedError {
  override readonly code = 'CONTROLLER_RESTART'

  constructor(controller: string, cause: unknown) {
    super(`Controller \`${controller}\` is restarted: ${textOf(cause)}`, { cause })
  }
}
