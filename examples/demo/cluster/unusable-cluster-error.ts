/** The API server that was given cannot be used. */
export class UnusableClusterError extends Error {
  override readonly name = 'UnusableClusterError'

  constructor(cause: unknown) {
    super(`The given API server cannot be used: ${describe(cause)}`, { cause })
  }
}

/** The HTTP client hides the cause of a failed connection inside another error. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${describe(error.cause)}` : error.message
}
