/** Writes one log line: structured fields first, then the message, as in pino. */
export type LogMethod = (fields: Readonly<Record<string, unknown>>, message: string) => void

/** The logger that Tenure needs. A pino logger fits. */
export interface Logger {
  /** Logs a detail of normal operation. */
  readonly debug: LogMethod
  /** Logs a change of state. */
  readonly info: LogMethod
  /** Logs a problem that Tenure handles. */
  readonly warn: LogMethod
  /** Logs a problem that needs attention. */
  readonly error: LogMethod
  /** A logger that adds `bindings` to every line. */
  child(bindings: Readonly<Record<string, unknown>>): Logger
}

const drop: LogMethod = () => {}

/** A logger that drops every line. */
export const silentLogger: Logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => silentLogger }
