import { checkFiles, type TraceReport } from '../../packages/cli/src/check-trace/check-files.ts'
import type { TraceCheckerOptions } from '../../packages/cli/src/check-trace/trace-checker.ts'
import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'

/** Checks the lines of one trace. */
export function checkLines(name: string, lines: readonly string[], options?: TraceCheckerOptions): TraceReport {
  return checkFiles([new TraceFile(name, [lines])], options)
}
