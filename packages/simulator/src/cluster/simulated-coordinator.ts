import { type LeaseRecord, LockRequestError, type PresentLease } from '@tenure/core'
import { formatMicroTime } from '@tenure/core/internal'
import type { Run } from '../run.ts'
import { latencyMs } from './network.ts'
import type { SimulatedApiServer } from './simulated-api-server.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { LEASE_NAME } from './stored-lease.ts'

/**
 * An election controller like that of kube-apiserver, which names who leads. While faults happen, it may behave badly:
 *
 * - `honest`: it does not.
 * - `lying`: it names or prefers any candidate of the run while another one leads. The candidate may have ended.
 * - `stalled`: it does nothing for up to two minutes.
 * - `doubled`: two decide, each with an order of its own.
 * - `switched`: the API server elects at some times, and the replicas at others.
 */
export type SimulatedCoordination = (typeof SIMULATED_COORDINATIONS)[number]

/** The values of {@link SimulatedCoordination}. */
export const SIMULATED_COORDINATIONS = ['honest', 'lying', 'stalled', 'doubled', 'switched'] as const

/** As in kube-apiserver: how often it looks, how long a candidate has to answer, and the duration of a lease that it names a holder in. */
const ELECTION_MS = 5000

const MAX_STALL_MS = 120_000

/** A candidate as the controller knows it. Times are true times. */
interface Candidate {
  readonly process: SimulatedProcess
  readonly pinged: () => void
  renewedAt: number
  pingedAt: number
}

/** The election controller of a run, with its candidates. */
export class SimulatedCoordinator {
  /** Whether the API server elects. If not, the replicas decide. */
  decides = true
  readonly #cluster: Run & { readonly server: SimulatedApiServer }
  readonly #kind: SimulatedCoordination
  readonly #candidates = new Map<string, Candidate>()
  /** Every identity that ever stood. */
  readonly #known = new Set<string>()
  #changedAt = 0
  #stalledUntil = 0
  #isLooking = false

  constructor(cluster: Run & { readonly server: SimulatedApiServer }, kind: SimulatedCoordination) {
    this.#cluster = cluster
    this.#kind = kind
  }

  /** Begins to watch the lease. */
  start(): void {
    const changed = () => {
      this.#changedAt = this.#cluster.now
      this.#lookSoon()
    }
    const watch = () => {
      const stop = this.#cluster.server.watch(LEASE_NAME, changed, () => {
        stop()
        this.#cluster.agenda.add(this.#cluster.now, watch)
      })
    }
    watch()
    this.#tick()
  }

  /** Stores a candidate. `pinged` asks it to renew. */
  stand(process: SimulatedProcess, pinged: () => void): void {
    this.#known.add(process.identity)
    this.#candidates.set(process.identity, { process, pinged, renewedAt: this.#cluster.now, pingedAt: 0 })
    this.#lookSoon()
  }

  /** The candidate lives. Returns whether it is stored. */
  renew({ identity }: SimulatedProcess): boolean {
    const candidate = this.#candidates.get(identity)
    if (candidate === undefined) return false
    candidate.renewedAt = this.#cluster.now
    this.#lookSoon()
    return true
  }

  /** Deletes the candidate. */
  withdraw({ identity }: SimulatedProcess): void {
    this.#candidates.delete(identity)
    this.#lookSoon()
  }

  /** Whether the candidate exists and has no open ping. */
  isAlive(identity: string): boolean {
    const candidate = this.#candidates.get(identity)
    return candidate !== undefined && candidate.renewedAt >= candidate.pingedAt
  }

  #tick(): void {
    const { agenda, now } = this.#cluster
    this.#misbehave()
    this.#look()
    agenda.add(now + ELECTION_MS, () => this.#tick())
  }

  #lookSoon(): void {
    const { agenda, now, random } = this.#cluster
    if (this.#isLooking) return
    this.#isLooking = true
    agenda.add(now + latencyMs(random), () => {
      this.#isLooking = false
      this.#look()
    })
  }

  #misbehave(): void {
    const { isCalm, now, random } = this.#cluster
    if (isCalm) {
      this.#stalledUntil = 0
      this.decides = true
      return
    }
    if (this.#kind === 'stalled' && random() < 0.1) this.#stalledUntil = now + random() * MAX_STALL_MS
    if (this.#kind === 'switched' && random() < 0.1) this.decides = !this.decides
    if (this.#kind === 'lying' && random() < 0.3) this.#lie()
  }

  #look(): void {
    const { now, server } = this.#cluster
    if (!this.decides || now < Math.max(this.#stalledUntil, server.downUntil)) return
    const found = server.read(LEASE_NAME)
    const best = this.#best()
    const holder = found.kind === 'absent' ? '' : found.record.holderIdentity
    if (best === holder || !this.#isSettled() || best === undefined) return
    if (found.kind === 'absent') this.#name(best, undefined)
    else this.#elect(best, found)
  }

  #elect(best: string, found: PresentLease): void {
    const { holderIdentity, preferredHolder } = found.record
    if (holderIdentity === '' || this.#isExpired(found)) this.#name(best, found)
    else if (preferredHolder !== best) this.#prefer(best, found)
  }

  /** Whether every candidate that was asked has answered, or had the time to. Asks those that have been silent. */
  #isSettled(): boolean {
    const { now, random } = this.#cluster
    let isSettled = true
    for (const candidate of this.#candidates.values()) {
      const { renewedAt, pingedAt, process, pinged } = candidate
      if (now - renewedAt < ELECTION_MS) continue
      if (renewedAt < pingedAt) {
        isSettled &&= now - pingedAt >= ELECTION_MS
        continue
      }
      candidate.pingedAt = now
      isSettled = false
      process.post(now + latencyMs(random), pinged, 'network')
    }
    return isSettled
  }

  /** The candidate with the best version among those that answered lately, and the first by name of those that are equal. */
  #best(): string | undefined {
    const { now, isCalm, random } = this.#cluster
    const votes = [...this.#candidates.values()].filter(({ renewedAt }) => now - renewedAt < ELECTION_MS)
    const sign = this.#kind === 'doubled' && !isCalm && random() < 0.5 ? -1 : 1
    votes.sort((a, b) => sign * ((b.process.grade ?? 0) - (a.process.grade ?? 0)) || byName(a.process, b.process))
    return votes[0]?.process.identity
  }

  #isExpired({ record }: PresentLease): boolean {
    return this.#cluster.now - this.#changedAt > (record.leaseDurationSeconds ?? 0) * 1000
  }

  #lie(): void {
    const { random, server } = this.#cluster
    const found = server.read(LEASE_NAME)
    const known = [...this.#known]
    const anybody = known[Math.floor(random() * known.length)]
    if (found.kind === 'absent' || anybody === undefined) return
    if (random() < 0.5) this.#name(anybody, found)
    else this.#prefer(anybody, found)
  }

  #name(holderIdentity: string, found: PresentLease | undefined): void {
    const { now } = this.#cluster
    this.#cluster.say('coordinator', `names ${holderIdentity}`)
    const times = { acquireTime: undefined, renewTime: formatMicroTime(Date.UTC(2026, 0, 1) + now) }
    const named = { holderIdentity, leaseDurationSeconds: ELECTION_MS / 1000, preferredHolder: undefined, ...times }
    this.#write({ leaseTransitions: undefined, annotations: {}, ...found?.record, ...named }, found)
  }

  #prefer(preferredHolder: string, found: PresentLease): void {
    this.#cluster.say('coordinator', `prefers ${preferredHolder}`)
    this.#cluster.tell({ kind: 'holder-preferred', holder: found.record.holderIdentity })
    this.#write({ ...found.record, preferredHolder }, found)
  }

  #write(record: LeaseRecord, found: PresentLease | undefined): void {
    try {
      this.#cluster.server.write(LEASE_NAME, record, found)
    } catch (error) {
      if (!(error instanceof LockRequestError)) throw error
    }
  }
}

function byName(a: SimulatedProcess, b: SimulatedProcess): number {
  return a.identity < b.identity ? -1 : 1
}
