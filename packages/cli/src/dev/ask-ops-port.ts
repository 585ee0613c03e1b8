import { withDeadline } from '@tenure/kubernetes/internal'
import type { Terminal } from '../terminal.ts'

/** How long a replica may take to answer. */
const ANSWER_MS = 1000

/** The answer of an operations port. */
export interface OpsAnswer {
  readonly isOk: boolean
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
    return { isOk: answer.ok, text: await answer.text() }
  })
}
