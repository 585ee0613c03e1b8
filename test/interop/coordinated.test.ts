import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GATE_ON, openRealApiServer } from '../scenarios/api-server.ts'
import type { LoopRun } from '../scenarios/loop-runs.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { CoordinatedFleet, type RealApiServer } from './coordinated-fleet.ts'
import { DEFAULT, type NamedPeer } from './mixed-lease.ts'

const MS = 1_000_000n
/** The accuracy of converting the wall clock of the electors in Go to the monotonic clock. */
const CLOCK_ERROR_NS = MS
/** An elector of client-go ends just after its release can be seen. */
const PEER_WINDOW_NS = 50n * MS
/** A handover between processes on a busy machine. */
const HANDOVER_NS = 1500n * MS
/** A candidate of client-go gives up after its renew deadline, and another one polls. */
const PEER_MS = 60_000
/** How long the plain elector is left with the lease. */
const WATCHED_MS = 4000

let server: RealApiServer
beforeAll(async () => {
  server = await openRealApiServer(GATE_ON)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('Under the controller of the API server', () => {
  it('the candidate with the oldest version leads, whether it is of Tenure or of client-go', async () => {
    await using fleet = await CoordinatedFleet.open(server)
    const newest = await fleet.startReplica('newest', '1.36.0')
    await newest.saw('loop-began')
    const older = await fleet.startPeer('older', '1.35.0')
    await led(older)
    const oldest = await fleet.startReplica('oldest', '1.34.0')
    await oldest.saw('loop-began', { timeoutMs: PEER_MS })
    const before = newest.events.length
    await oldest.terminate()
    await newest.saw('loop-began', { from: before, timeoutMs: PEER_MS })

    const runs = await fleet.runs()
    expect(runs.map(({ replica }) => replica)).toEqual(['newest', 'older', 'oldest', 'newest'])
    expect(overlapping(runs)).toEqual([])
  })

  it('a real kube-controller-manager makes way for an older candidate of Tenure, and leads after it', async () => {
    await using fleet = await CoordinatedFleet.open(server, {
      name: 'kube-controller-manager',
      namespace: 'kube-system',
    })
    const timing = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryPeriodMs: 1000 }
    const first = await server.controlPlane.startControllerManager({ coordinated: true, timing })
    // The controller names it before it acquires the lease. If a better candidate came in between, client-go would never acquire it.
    await fleet.lease.waitFor('that the controller manager acquires', ({ spec }) => spec.leaseDurationSeconds === 6, {
      timeoutMs: PEER_MS,
    })
    const older = await fleet.startReplica('older', '1.30.0')
    await older.saw('loop-began', { timeoutMs: PEER_MS })
    // It exits when it has lost the lease.
    await first.exited
    await server.controlPlane.startControllerManager({ coordinated: true, timing })
    await sleep(2 * timing.retryPeriodMs)
    const before = fleet.lease.length
    await older.terminate()
    const { holder } = await fleet.lease.waitFor(
      'a lease of the next controller manager',
      (seen) => seen.holder !== '' && seen.holder !== 'older' && seen.spec.leaseDurationSeconds === 6,
      { from: before, timeoutMs: PEER_MS },
    )
    expect(holder).not.toBe('older')
    expect(overlapping(await fleet.runs())).toEqual([])
  })

  it('a plain elector keeps its lease, gets none that is held, and Tenure does not write beside it', async () => {
    await using fleet = await CoordinatedFleet.open(server)
    const candidate = await fleet.startReplica('candidate', '1.35.0')
    await candidate.saw('loop-began')
    const plain = await fleet.startPeer('plain', 'plain')
    await sleep(WATCHED_MS)
    expect(plain.peer.events.map(({ event }) => event)).not.toContain('started-leading')

    await candidate.terminate()
    await led(plain)
    const next = await fleet.startReplica('next', '1.35.0')
    await next.follows('plain')
    await sleep(WATCHED_MS)
    expect(next.all('loop-began')).toEqual([])
    expect(fleet.lease.entries.filter(({ spec }) => spec.holderIdentity === 'next')).toEqual([])
    await plain.peer.terminate()
    await next.saw('loop-began', { timeoutMs: PEER_MS })
    expect(overlapping(await fleet.runs())).toEqual([])
  })

  it('a fleet becomes coordinated and plain again, replica by replica, with no overlap and no longer pause', async () => {
    await using fleet = await CoordinatedFleet.open(server)
    let replicas = [await fleet.startReplica('plain-0', 'plain')]
    await replicas[0]?.saw('loop-began')
    replicas.push(await fleet.startReplica('plain-1', 'plain'))
    for (const version of ['1.35.0', 'plain'] as const) {
      const old = replicas
      const fresh: ReplicaProcess[] = []
      for (const [index, replica] of old.entries()) {
        const started = await fleet.startReplica(`${version}-${index}${version === 'plain' ? '-again' : ''}`, version)
        await started.reached('following').catch(() => {})
        fresh.push(started)
        await sleep(1500)
        await replica.terminate()
      }
      replicas = fresh
    }
    await leads(replicas)

    const runs = await fleet.runs()
    // The controller chose in between.
    expect(fleet.lease.entries.filter(({ spec }) => spec.strategy !== undefined)).not.toEqual([])
    expect(overlapping(runs)).toEqual([])
    expect(pauses(runs).filter((pause) => pause > HANDOVER_NS)).toEqual([])
  })
})

describe.concurrent('When the API server that runs the controller restarts', () => {
  it('the leader leads on, and a replica that stops then has a successor when the controller is back', async () => {
    await using own = await openRealApiServer(GATE_ON)
    await using fleet = await CoordinatedFleet.open(own)
    const leader = await fleet.startReplica('leader', '1.35.0', DEFAULT)
    await leader.saw('loop-began')
    const follower = await fleet.startReplica('follower', '1.35.0', DEFAULT)
    await follower.follows('leader')
    await own.controlPlane.restartApiServer({ kill: true })
    await sleep(DEFAULT.retryPeriodMs * 2)
    expect(leader.all('loop-ended')).toEqual([])
    await leader.terminate()
    await follower.saw('loop-began', { timeoutMs: PEER_MS })
    expect(overlapping(await fleet.runs())).toEqual([])
  })
})

async function led({ peer }: NamedPeer): Promise<void> {
  await peer.waitFor('started-leading', { timeoutMs: PEER_MS })
}

/** Waits until one of the replicas is at work. */
async function leads(replicas: readonly ReplicaProcess[]): Promise<void> {
  await Promise.race(replicas.map((replica) => replica.saw('loop-began')))
}

/** The pairs of runs that overlapped by more than an elector of client-go takes to end. */
function overlapping(runs: readonly LoopRun[]): readonly (readonly [LoopRun, LoopRun])[] {
  return runs.flatMap((run, index) =>
    runs.slice(index + 1).flatMap((later) => {
      const window = run.epoch === 0n ? PEER_WINDOW_NS : CLOCK_ERROR_NS
      return later.beganAt < run.endedAt - window ? [[run, later] as const] : []
    }),
  )
}

/** The times between two runs in which nothing was at work, in nanoseconds. */
function pauses(runs: readonly LoopRun[]): readonly bigint[] {
  return runs.slice(1).map(({ beganAt }, index) => beganAt - (runs[index]?.endedAt ?? beganAt))
}
