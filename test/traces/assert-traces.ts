import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { checkFiles } from '../../packages/cli/src/check-trace/check-files.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import type { Finding } from '../../packages/cli/src/check-trace/finding.ts'
import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'

/** How the name of a trace ends. A replica that starts again adds a number. */
const SUFFIX = '.trace'

/** The variable that has a process trace its electors into a file in this folder. */
export function traceInto(folder: string, name: string): { readonly TENURE_TRACE: string } {
  return { TENURE_TRACE: join(folder, `${name}${SUFFIX}`) }
}

/** What {@link assertTraces} expects. */
interface ExpectedTraces {
  /** What an independent watch saw. @default none */
  readonly recordings?: readonly TraceFile[]
  /** How many traces there are at least. @default 1 */
  readonly atLeast?: number
  /** The versions of the lease that the suite wrote: they may name a replica, which did not send them. @default none */
  readonly edited?: ReadonlySet<string>
}

/**
 * Checks the traces in a folder, and recordings of an independent watch beside them. Every suite with processes calls it when they have ended.
 *
 * @throws BrokenTracesError if a rule is broken
 * @throws Error if there are too few traces
 */
export async function assertTraces(
  folder: string,
  { recordings = [], atLeast = 1, edited = new Set() }: ExpectedTraces = {},
): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.includes(SUFFIX))
  if (names.length < atLeast) throw new Error(`Expected at least ${atLeast} traces in ${folder}, got ${names.length}`)
  const traces = names.map((name) => new TraceFile(join(folder, name)))
  const findings = checkFiles([...traces, ...recordings]).findings.filter((finding) => !isOfEdit(finding, edited))
  if (findings.length === 0) return
  throw new BrokenTracesError(findings)
}

/** The traces of some replicas are no behaviour of the specification. */
export class BrokenTracesError extends Error {
  override readonly name = 'BrokenTracesError'
  readonly findings: readonly Finding[]

  constructor(findings: readonly Finding[]) {
    const rules = findings.slice(0, 10).map(describeFinding).join('\n')
    super(`The traces of the replicas are no behaviour of the specification:\n${rules}`)
    this.findings = findings
  }
}

function isOfEdit({ rule, message }: Finding, edited: ReadonlySet<string>): boolean {
  const [, version = ''] = /^version (\d+) names /u.exec(message) ?? []
  return rule === 'source' && edited.has(version)
}
