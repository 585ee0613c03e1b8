import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { checkFiles } from '../../packages/cli/src/check-trace/check-files.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'
import type { LeaseVersion } from './lease-journal.ts'

/** How the name of a trace ends. A replica that starts again adds a number. */
export const TRACE_SUFFIX = '.trace'

/** The traces of a scenario. */
interface ScenarioTraces {
  readonly folder: string
  /** `namespace/name` of the lease. */
  readonly lease: string
  /** What the independent watch saw. */
  readonly seen: readonly LeaseVersion[]
}

/** Checks the traces of all replicas, and the independent watch beside them. @throws Error with the broken rules. */
export async function assertTraces({ folder, lease, seen }: ScenarioTraces): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.includes(TRACE_SUFFIX))
  const traces = names.map((name) => new TraceFile(join(folder, name)))
  const { findings } = checkFiles([...traces, new TraceFile('the independent watch', [recorded(lease, seen)])])
  if (findings.length === 0) return
  const rules = findings.slice(0, 10).map(describeFinding).join('\n')
  throw new Error(`The traces of the replicas are no behaviour of the specification:\n${rules}`)
}

/** The lines that `tenure watch --record` would write. */
function recorded(lease: string, seen: readonly LeaseVersion[]): readonly string[] {
  const [namespace, name] = lease.split('/')
  return seen
    .filter(({ type }) => type !== 'DELETED')
    .map(({ version, spec }) =>
      JSON.stringify({
        at: new Date(0).toISOString(),
        lease,
        object: { metadata: { namespace, name, resourceVersion: version }, spec },
      }),
    )
}
