import type { ReplicaReport } from './replica-event.ts'

/** Sends a report to the driver, with the time of the call. */
export function report(event: ReplicaReport): void {
  process.send?.({ ...event, at: process.hrtime.bigint() })
}
