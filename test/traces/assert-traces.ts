import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { checkFiles } from '../../packages/cli/src/check-trace/check-files.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'

/** How the name of a trace ends. A replica that starts again adds a number. */
const SUFFIX = '.trace'

/** The variable that has a process trace its electors into a file in this folder. */
export function traceInto(folder: string, name: string): { readonly TENURE_TRACE: string } {
  return { TENURE_TRACE: join(folder, `${name}${SUFFIX}`) }
}

/**
 * Checks the traces in a folder, and recordings of an independent watch beside them. Every suite with processes calls it when they have ended.
 *
 * @throws Error with the broken rules
 */
export async function assertTraces(folder: string, recordings: readonly TraceFile[] = []): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.includes(SUFFIX))
  const traces = names.map((name) => new TraceFile(join(folder, name)))
  const { findings } = checkFiles([...traces, ...recordings])
  if (findings.length === 0) return
  const rules = findings.slice(0, 10).map(describeFinding).join('\n')
  throw new Error(`The traces of the replicas are no behaviour of the specification:\n${rules}`)
}
