import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import type { Figures } from '../figures.ts'
import { ReplicaProcess } from '../handover/replica-process.ts'
import { Candidate, leaseOf } from './candidate.ts'
import type { CrashPlace } from './crashes.ts'
import { ObjectWatch } from './object-watch.ts'

const EQUALS = 5
const IDLE = 10
/** For the first elections. */
const SETTLE_MS = 10_000
/** Until the lease of the killed leader has expired, another leads for good, and its candidate is known to be dead. */
const AFTER_DEATH_MS = 60_000

/** How often five candidates of equal versions that start at once change the leader, in a minute. */
export async function measureFlaps(server: ControlPlane, mode: string, minutes: number): Promise<Figures> {
  using watch = await ObjectWatch.open(server, 'leases')
  const lease = `${mode}-flaps`
  const candidates = startAll(server, lease, EQUALS)
  await sleep(SETTLE_MS)
  const before = watch.holders(lease).length
  await sleep(minutes * 60_000)
  const changes = watch.holders(lease).length - before
  await Promise.all(candidates.map((candidate) => candidate.stop()))
  return { [`${mode}.flaps_per_minute`]: changes / minutes }
}

/**
 * The writes of leases and LeaseCandidates for one lease, besides renewals of the lease, for each of nine idle candidates and a minute. The
 * best of ten candidates was killed while it led. Writes of the controller count.
 */
export async function measureIdleWrites(
  { server, kubeConfigPath }: CrashPlace,
  mode: 'peers' | 'server',
  minutes: number,
): Promise<Figures> {
  using leases = await ObjectWatch.open(server, 'leases')
  // Without the feature gate there are none.
  using candidacies = mode === 'server' ? await ObjectWatch.open(server, 'leasecandidates') : undefined
  const lease = `${mode}-idle`
  const best = new ReplicaProcess({ identity: `${lease}-best`, lease: leaseOf(lease, '1.3.0') }, kubeConfigPath)
  await best.told('wrote')
  const candidates = startAll(server, lease, IDLE - 1)
  await sleep(SETTLE_MS)
  best.end('SIGKILL')
  await sleep(AFTER_DEATH_MS)
  const writes = () => {
    const renewals = candidates.reduce((sum, candidate) => sum + candidate.renewals, 0)
    return leases.writes(lease) + (candidacies?.writes(lease) ?? 0) - renewals
  }
  const before = writes()
  await sleep(minutes * 60_000)
  const counted = writes() - before
  await Promise.all(candidates.map((candidate) => candidate.stop()))
  return { [`${mode}.writes_per_minute_idle`]: counted / candidates.length / minutes }
}

function startAll(server: ControlPlane, lease: string, count: number): readonly Candidate[] {
  const names = Array.from({ length: count }, (_, index) => `${lease}-${index}`)
  const candidates = names.map((identity) => new Candidate({ server, lease }, { identity, emulationVersion: '1.4.0' }))
  for (const candidate of candidates) candidate.start()
  return candidates
}
