import { monotonicMs } from '../monotonic-clock.ts'
import type { ReplicaReport } from './messages.ts'

/** A report without its stamp. */
export type Unstamped = ReplicaReport extends infer R ? (R extends unknown ? Omit<R, 'at'> : never) : never

/** Tells the demo. */
export type Report = (report: Unstamped) => void

/** Stamps a report and sends it to the demo, which started this process. */
export function report(unstamped: Unstamped): void {
  if (process.connected) process.send?.({ ...unstamped, at: monotonicMs() })
}
