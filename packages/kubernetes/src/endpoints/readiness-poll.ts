import type { Clock } from '@tenure/core'
import { pause } from '../reflector/pause.ts'

/** How often a replica that is not ready yet is asked, as kube-apiserver asks itself. */
const UNREADY_MS = 100

/** The period of the readiness probe in the manifests of Tenure. A failure of the API server that is shorter than three of them does not count. */
const READY_MS = 5000

/** A replica is not ready any more after so many answers in a row, as the kubelet counts. */
const FAILURE_THRESHOLD = 3

/** Options of {@link pollReadiness}. */
export interface ReadinessPoll {
  readonly clock: Clock
  readonly isReady: () => boolean | Promise<boolean>
  /** Called when the replica becomes ready, and when it no longer is. */
  readonly onChange: (isReady: boolean) => void
}

/** Asks until the signal aborts. An answer that fails counts as no. */
export async function pollReadiness({ clock, isReady, onChange }: ReadinessPoll, signal: AbortSignal): Promise<void> {
  let isKnownReady = false
  let failures = 0
  while (!signal.aborted) {
    const answer = await tryAsk(isReady)
    if (signal.aborted) return
    failures = answer ? 0 : failures + 1
    const isChanged = isKnownReady ? failures >= FAILURE_THRESHOLD : answer
    if (isChanged) {
      isKnownReady = !isKnownReady
      onChange(isKnownReady)
    }
    await pause(isKnownReady ? READY_MS : UNREADY_MS, clock, signal)
  }
}

async function tryAsk(isReady: ReadinessPoll['isReady']): Promise<boolean> {
  try {
    return await isReady()
  } catch {
    return false
  }
}
