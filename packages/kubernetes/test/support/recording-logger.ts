import type { Logger } from '@tenure/core'

/** A line of the log, with everything that was bound to the logger that wrote it. */
export interface Line {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A logger that adds its lines, and those of its children, to `lines`. */
export function recordingLogger(lines: Line[], bindings: Readonly<Record<string, unknown>> = {}): Logger {
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push({ level, message, fields: { ...bindings, ...fields } })
  const child = (more: Readonly<Record<string, unknown>>) => recordingLogger(lines, { ...bindings, ...more })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child }
}
