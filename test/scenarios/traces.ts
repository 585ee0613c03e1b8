import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'
import type { AnnotatedVersion } from './lease-journal.ts'

/** What an independent watch saw of a lease, `namespace/name`, as `tenure watch --record` would write it. */
export function recordingOf(lease: string, seen: readonly AnnotatedVersion[]): TraceFile {
  const [namespace, name] = lease.split('/')
  const lines = seen
    .filter(({ type }) => type !== 'DELETED')
    .map(({ version, spec, annotations }) =>
      JSON.stringify({
        at: new Date(0).toISOString(),
        lease,
        object: { metadata: { namespace, name, resourceVersion: version, annotations }, spec },
      }),
    )
  return new TraceFile('the independent watch', [lines])
}
