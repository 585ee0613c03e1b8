import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openRealApiServer } from '../scenarios/api-server.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { DEFAULT, MixedLease, type NamedPeer, type PeerProgram, saidAt, SHORT } from './mixed-lease.ts'
import { monotonicAt, monotonicAtTime } from './wall-clock.ts'

/** The number of clean handovers in each direction. Crashes and pauses are an eighth of it. */
const ROUNDS = Number(process.env['TENURE_INTEROP_ROUNDS'] ?? 50)
const HARD_ROUNDS = Math.max(1, Math.round(ROUNDS / 8))
/** The number of concurrent leases for the clean handovers. */
const LEASES = Number(process.env['TENURE_INTEROP_LEASES'] ?? 1)
/** Long enough for rounds of several seconds each. */
const TIMEOUT_MS = 20 * 60_000 + ROUNDS * 5000

const MS = 1_000_000n
const LEASE_NS = BigInt(SHORT.leaseDurationMs) * MS
/** The accuracy of converting the wall clock of the peers to the monotonic clock. */
const CLOCK_ERROR_NS = MS
/** A peer ends just after its release can be seen. 0.2 to 2.5 ms were measured on a quiet machine. */
const PEER_WINDOW_NS = 50n * MS
/** The time to notice an expired lease, acquire it and act, on a busy machine. */
const SLACK_NS = 1500n * MS

let server: ApiServer
beforeAll(async () => {
  server = await openRealApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.each<PeerProgram>(['client-go-elector', 'controller-runtime-manager'])('A lease shared with %s', (program) => {
  describe.concurrent('changes hands', { timeout: TIMEOUT_MS }, () => {
    it('cleanly, in both directions, with no overlap beyond the window of the peer', async () => {
      await Promise.all(partsOf(ROUNDS, LEASES).map((rounds) => handToAndFro(program, rounds)))
    })

    it('with no overlap at all where Tenure has the cautious options', async () => {
      await using lease = await MixedLease.open(server, program, SHORT)
      const replica = await lease.startLeader({ acquireDelayMs: 100 })

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const peer = await lease.startPeer()
        await takesFromTenure(lease, replica, peer)
        expect(await givesToTenure(replica, peer)).toBeLessThanOrEqual(CLOCK_ERROR_NS)
      }
    })

    it('after the peer was killed, when its lease has run out and no sooner', async () => {
      await using lease = await MixedLease.open(server, program, SHORT)
      const replica = await lease.startLeader()

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const peer = await lease.startPeer()
        await takesFromTenure(lease, replica, peer)
        const from = replica.events.length
        await peer.peer.process.kill()
        const { at } = await replica.saw('loop-began', { from })
        expectTakenAfterExpiry(lease, peer.id, at)
      }
    })

    it('after Tenure was killed, when its lease has run out and no sooner', async () => {
      await using lease = await MixedLease.open(server, program, SHORT)

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const replica = await lease.startLeader()
        const peer = await lease.startPeer()
        replica.signal('SIGKILL')
        const began = await saidAt(peer, 'started-leading')
        expectTakenAfterExpiry(lease, replica.name, began)
        await peer.peer.terminate()
      }
    })

    it('after Tenure was paused: it does not act in its old term when it goes on', async () => {
      await using lease = await MixedLease.open(server, program, SHORT)
      const replica = await lease.startLeader()

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const peer = await lease.startPeer()
        replica.signal('SIGSTOP')
        const began = await saidAt(peer, 'started-leading')
        const from = replica.events.length
        replica.signal('SIGCONT')
        const over = await replica.saw('term-over', { from })
        expect(over.outcome).not.toBe('released')
        expectNoActHeldSince(replica, began)
        await lease.scenario.lease.waitFor(`a lease of ${peer.id}`, () => lease.isHeldBy(peer.id))
        expect(await givesToTenure(replica, peer)).toBeLessThanOrEqual(PEER_WINDOW_NS)
      }
    })

    // A peer that resumes as a former leader releases the lease of another holder, because it does not check the holder.
    it('after the peer was paused: Tenure leads when the peer has woken up and is gone', async () => {
      await using lease = await MixedLease.open(server, program, SHORT)
      const replica = await lease.startLeader()

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const peer = await lease.startPeer()
        await takesFromTenure(lease, replica, peer)
        const from = replica.events.length
        peer.peer.process.pause()
        const { at, epoch } = await replica.saw('loop-began', { from })
        expectTakenAfterExpiry(lease, peer.id, at)
        peer.peer.process.resume()
        await peer.peer.process.exited
        await lease.scenario.lease.changes(3)
        await lease.scenario.lease.waitFor(`a lease of ${replica.name}`, () => lease.isHeldBy(replica.name))
        const ends = replica.all('term-ending').filter((ending) => ending.epoch === epoch)
        expect(ends.map(({ reason }) => reason)).toEqual(lease.wasFreedSince(at) ? ['superseded'] : [])
      }
    })

    it('cleanly with the timing of Kubernetes components', async () => {
      await using lease = await MixedLease.open(server, program, DEFAULT)
      const replica = await lease.startLeader()

      for (let round = 0; round < HARD_ROUNDS; round++) {
        const peer = await lease.startPeer()
        expect(await takesFromTenure(lease, replica, peer)).toBeLessThanOrEqual(CLOCK_ERROR_NS)
        expect(await givesToTenure(replica, peer)).toBeLessThanOrEqual(PEER_WINDOW_NS)
      }
    })
  })
})

/** Splits `total` into so many parts that differ by one at most. */
function partsOf(total: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor((total + index) / count))
}

/** Hands one lease from Tenure to a peer and back, again and again. */
async function handToAndFro(program: PeerProgram, rounds: number): Promise<void> {
  await using lease = await MixedLease.open(server, program, SHORT)
  const replica = await lease.startLeader()

  for (let round = 0; round < rounds; round++) {
    const peer = await lease.startPeer()
    expect(await takesFromTenure(lease, replica, peer)).toBeLessThanOrEqual(CLOCK_ERROR_NS)
    expect(await givesToTenure(replica, peer)).toBeLessThanOrEqual(PEER_WINDOW_NS)
  }
  expectNoWorkOutsideTerms(replica)
}

/** Makes Tenure step down for the peer. Returns how long both were at work, in nanoseconds; negative for a gap. */
async function takesFromTenure(lease: MixedLease, replica: ReplicaProcess, peer: NamedPeer): Promise<bigint> {
  const from = replica.events.length
  await replica.stepDown({ cooldownMs: 60_000 })
  const began = await saidAt(peer, 'started-leading')
  const ended = await replica.saw('loop-ended', { from })
  await replica.follows(peer.id, { from })
  await lease.scenario.lease.waitFor(`a lease of ${peer.id}`, () => lease.isHeldBy(peer.id))
  return ended.at - began
}

/** Stops the peer. Returns how long both were at work, in nanoseconds; negative for a gap. */
async function givesToTenure(replica: ReplicaProcess, { peer }: NamedPeer): Promise<bigint> {
  const from = replica.events.length
  const exit = await peer.terminate()
  const exitedAt = process.hrtime.bigint()
  expect(exit.code).toBe(0)
  const began = await replica.saw('loop-began', { from })
  // A process that ends in the middle of a renewal does not report its stop and does not release.
  const stopped = peer.events.find(({ event }) => event === 'stopped-leading')
  return (stopped === undefined ? exitedAt : monotonicAt(stopped.t)) - began.at
}

/** Expects the next leader after the lease has expired, counted from the send of its last renewal, and soon after that. */
function expectTakenAfterExpiry(lease: MixedLease, previous: string, began: bigint): void {
  const { at: seenAt, spec } = lease.lastChangeBy(previous, began)
  expect(began - monotonicAtTime(spec.renewTime ?? '')).toBeGreaterThanOrEqual(LEASE_NS - CLOCK_ERROR_NS)
  expect(began - seenAt).toBeLessThan(LEASE_NS + SLACK_NS)
}

/** Expects that the replica never considered itself the leader after `since`. */
function expectNoActHeldSince(replica: ReplicaProcess, since: bigint): void {
  expect(replica.all('acted').filter(({ at, isHeld }) => at >= since && isHeld)).toEqual([])
}

/** Expects that every act of the replica lies within a run that it reported. */
function expectNoWorkOutsideTerms(replica: ReplicaProcess): void {
  const ends = new Map(replica.all('loop-ended').map(({ epoch, at }) => [epoch, at]))
  const late = replica.all('acted').filter(({ epoch, at }) => at > (ends.get(epoch) ?? at))
  expect(late).toEqual([])
}
