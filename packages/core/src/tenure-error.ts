/** The base of every error that Tenure throws. */
export abstract class TenureError extends Error {
  /** Stable and meant for programs, unlike the message. */
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}
