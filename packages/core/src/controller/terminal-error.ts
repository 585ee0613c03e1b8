import { TenureError } from '../tenure-error.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { textOf } from '../text-of.ts'

/** Throw this in a controller if a restart would not help. The replica ends its term immediately. */
export class TerminalError extends TenureError {
  override readonly code = 'TERMINAL'
}

/** A controller ended before its term. */
export class ControllerReturnedError extends TenureError {
  override readonly code = 'CONTROLLER_RETURNED'

  constructor(controller: string) {
    super(`Controller \`${controller}\` returned, and all its tasks ended, before its term`)
  }
}

/** A controller failed more often than its restart limits allow. */
export class ControllerFailedError extends TenureError {
  override readonly code = 'CONTROLLER_FAILED'
  /** The name of the controller. */
  readonly controller: string

  /** @param more further details for the message */
  constructor(controller: string, cause: unknown, more?: string) {
    const why = more === undefined ? textOf(cause) : `${textOf(cause)}; ${more}`
    super(`Controller \`${controller}\` failed and will not restart: ${why}`, { cause })
    this.controller = controller
  }
}

/** The reason of the abort signals of a controller that restarts. */
export class ControllerRestartError extends TermEndedError {
  override readonly code = 'CONTROLLER_RESTART'

  constructor(controller: string, cause: unknown) {
    super(`Controller \`${controller}\` restarts: ${textOf(cause)}`, { cause })
  }
}
