import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, type Peer, startPeer } from '@tenure/test-control-plane'
import type { Figures } from '../figures.ts'
import { BINARY_VERSION, NAMESPACE } from './candidate.ts'
import { ObjectWatch } from './object-watch.ts'
import type { Round } from './rounds.ts'

/** What one round of client-go measures, in milliseconds. */
export interface ClientGoRound extends Round {
  /** From SIGKILL to the leader until another candidate leads. */
  readonly crash: number
}

const LANES = 10
/** At least one poll of every candidate. */
const SETTLE_MS = 5000
const PATIENCE_MS = 120_000
const AFTER_DEATH_MS = 60_000
const EQUALS = 5
const IDLE = 10

/** Measures candidates of client-go with the timing of Kubernetes components. The fleets run beside each other, because they mostly wait. */
export async function measureClientGo(server: ControlPlane, rounds: number): Promise<readonly ClientGoRound[]> {
  const samples: ClientGoRound[] = []
  let begun = 0
  const lane = async (_: unknown, index: number) => {
    await sleep(index * 700)
    while (begun < rounds) samples.push(await measureRound(server, `client-go-${begun++}`))
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return samples
}

/** A candidate leads alone; a better one joins and leads; it is stopped, and then its successor is killed. */
async function measureRound(server: ControlPlane, lease: string): Promise<ClientGoRound> {
  const peers: Peer[] = []
  const join = async (emulationVersion: string) => {
    const peer = await startCandidate(server, { lease, id: `${lease}-${peers.length}`, emulationVersion })
    peers.push(peer)
    return peer
  }
  try {
    const firstAt = wallMicros()
    const first = await join('1.4.0')
    const startToLead = sinceMs(firstAt, await startedLeading(first))
    await sleep(SETTLE_MS)
    const betterAt = wallMicros()
    const better = await join('1.3.0')
    const [betterLed, { t: firstEnded }] = await Promise.all([
      startedLeading(better),
      first.waitFor('stopped-leading', { timeoutMs: PATIENCE_MS }),
    ])
    const successor = await join('1.4.0')
    await sleep(SETTLE_MS)
    const leftAt = wallMicros()
    await better.terminate()
    const successorLed = await startedLeading(successor)
    const last = await join('1.4.0')
    await sleep(SETTLE_MS)
    const killedAt = wallMicros()
    await successor.process.kill()
    const crash = sinceMs(killedAt, await startedLeading(last))
    return {
      startToLead,
      betterJoinsToLead: sinceMs(betterAt, betterLed),
      preemptGap: sinceMs(firstEnded, betterLed),
      cleanLeave: sinceMs(leftAt, successorLed),
      crash,
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.process.kill()))
  }
}

/** The same figures as for candidates of Tenure: changes among five equal candidates, and writes of idle candidates. */
export async function measureQuietClientGo(server: ControlPlane, minutes: number): Promise<Figures> {
  const [flaps, writes] = await Promise.all([flapsPerMinute(server, minutes), writesPerMinute(server, minutes)])
  return { 'client_go.flaps_per_minute': flaps, 'client_go.writes_per_minute_idle': writes }
}

async function flapsPerMinute(server: ControlPlane, minutes: number): Promise<number> {
  using watch = await ObjectWatch.open(server, 'leases')
  const lease = 'client-go-flaps'
  const peers = await startAll(server, lease, EQUALS)
  await sleep(SETTLE_MS * 2)
  const before = watch.holders(lease).length
  await sleep(minutes * 60_000)
  const changes = watch.holders(lease).length - before
  await Promise.all(peers.map((peer) => peer.process.kill()))
  return changes / minutes
}

async function writesPerMinute(server: ControlPlane, minutes: number): Promise<number> {
  // The leases themselves are written to renew them.
  using watch = await ObjectWatch.open(server, 'leasecandidates')
  const lease = 'client-go-idle'
  const best = await startCandidate(server, { lease, id: `${lease}-best`, emulationVersion: '1.3.0' })
  await startedLeading(best)
  const peers = await startAll(server, lease, IDLE - 1)
  await best.process.kill()
  await sleep(AFTER_DEATH_MS)
  const before = watch.writes(lease)
  await sleep(minutes * 60_000)
  const writes = watch.writes(lease) - before
  await Promise.all(peers.map((peer) => peer.process.kill()))
  return writes / peers.length / minutes
}

async function startAll(server: ControlPlane, lease: string, count: number): Promise<readonly Peer[]> {
  const ids = Array.from({ length: count }, (_, index) => `${lease}-${index}`)
  return await Promise.all(ids.map((id) => startCandidate(server, { lease, id, emulationVersion: '1.4.0' })))
}

async function startCandidate(
  server: ControlPlane,
  { lease, id, emulationVersion }: { readonly lease: string; readonly id: string; readonly emulationVersion: string },
): Promise<Peer> {
  return await startPeer({
    program: 'client-go-candidate',
    kubeConfig: server.kubeConfig({ name: id, groups: ['system:masters'] }),
    namespace: NAMESPACE,
    lease,
    id,
    release: true,
    versions: { binaryVersion: BINARY_VERSION, emulationVersion },
  })
}

async function startedLeading(peer: Peer): Promise<number> {
  return (await peer.waitFor('started-leading', { timeoutMs: PATIENCE_MS })).t
}

/** The wall clock, in microseconds since 1970. */
function wallMicros(): number {
  return (performance.timeOrigin + performance.now()) * 1000
}

function sinceMs(from: number, to: number): number {
  return (to - from) / 1000
}
