import { withDeadline } from '@tenure/kubernetes/internal'
import type { Terminal } from '../terminal.ts'

/** How long a replica may take to answer. */
const ANSWER_MS = 1000

/** Asks an operations port for a path. Resolves with undefined if it does not serve the path. */
export type AskOps = (path: string) => Promise<string | undefined>

/** The answer of an operations port. */
export interface OpsAnswer {
  readonly status: number
  readonly text: string
}

/** Asks an operations port on this machine. Rejects if it does not answer. */
export function askOpsPort(
  port: number,
  path: string,
  { clock, interrupted }: Pick<Terminal, 'clock' | 'interrupted'>,
): Promise<OpsAnswer> {
  return withDeadline({ clock, timeoutMs: ANSWER_MS, signal: interrupted }, async (signal) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal })
    return { status: answer.status, text: await answer.text() }
  })
}

/** Asks an operations port on this machine as {@link AskOps}. */
export function askPort(port: number | undefined, terminal: Pick<Terminal, 'clock' | 'interrupted'>): AskOps {
  return asking((path) => {
    if (port === undefined) throw new Error('it has no operations port')
    return askOpsPort(port, path, terminal)
  })
}

/** Asks what answers as an operations port. The answer of a health check that fails counts, too. */
export function asking(get: (path: string) => Promise<OpsAnswer>): AskOps {
  return async (path) => {
    const { status, text } = await get(path)
    return status === 404 ? undefined : text
  }
}
