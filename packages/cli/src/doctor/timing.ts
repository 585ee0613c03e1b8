import { LEASES, type StoredLease } from '../cluster/leases.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { durationText } from '../status/duration.ts'
import type { Terminal } from '../terminal.ts'
import type { Finding } from './finding.ts'

/** How many requests the latency is measured with. */
const SAMPLES = 5

/** A request may take this share of the lease duration: the default renew deadline is 2/3 of it, and a request may take a fourth of that. */
const REQUEST_SHARE = 1 / 6

/** A renew time further in the future than this shows a clock that is ahead. */
const CLOCK_SLACK_MS = 2000

/** Measures how long the API server takes to read a lease, and compares that with what the duration of the lease allows. */
export async function checkLatency(
  cluster: Cluster,
  { namespace, name, lease }: StoredLease,
  { clock }: Terminal,
): Promise<readonly Finding[]> {
  const { leaseDurationSeconds = 0, holderIdentity } = lease.record
  if (holderIdentity === '' || leaseDurationSeconds <= 0) return []
  let worstMs = 0
  for (let sample = 0; sample < SAMPLES; sample++) {
    const since = clock.now()
    await cluster.get({ ...LEASES, namespace, name })
    worstMs = Math.max(worstMs, clock.now() - since)
  }
  return latencyFindings(`lease ${namespace}/${name}`, worstMs, leaseDurationSeconds * 1000)
}

/** What a latency means for a lease of this duration. */
export function latencyFindings(about: string, worstMs: number, durationMs: number): readonly Finding[] {
  const allowedMs = durationMs * REQUEST_SHARE
  if (worstMs <= allowedMs / 2) return []
  return [
    {
      severity: worstMs > allowedMs ? 'error' : 'warning',
      about,
      problem: `the API server took ${durationText(worstMs)} to read it from here, and a renewal may take ${durationText(allowedMs)} by default`,
      remedy: 'Raise `leaseDurationMs` and `renewDeadlineMs`, or find out what slows the API server down.',
    },
  ]
}

/** Finds a holder whose wall clock is ahead. Tenure compares no wall clocks, but people and some other clients do. */
export function clockFindings({ namespace, name, lease }: StoredLease, wallTime: number): readonly Finding[] {
  const aheadMs = Date.parse(lease.record.renewTime ?? '') - wallTime
  if (!(aheadMs > CLOCK_SLACK_MS) || lease.record.holderIdentity === '') return []
  return [
    {
      severity: 'warning',
      about: `lease ${namespace}/${name}`,
      problem: `its holder wrote a renew time that is ${durationText(aheadMs)} in the future by the clock of this machine`,
      remedy: 'Synchronize the clocks of the nodes and of this machine.',
    },
  ]
}
