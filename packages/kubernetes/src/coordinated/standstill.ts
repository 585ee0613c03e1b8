import type { Clock, LockSnapshot, PresentLease } from '@tenure/core'
import { jittered, type Random, type Timer } from '@tenure/core/internal'

/** How long nobody has to be named. An election takes up to 10 s if it has to wait for a dead candidate. */
const STUCK_MS = 20_000

/** How long a named replica may take before others ask whether it is still there. */
const NAMED_MS = 500

/** Shorter than any lease: nobody can have held the lease and lost it between two views that are this close. */
const UNSEEN_MS = 500

/** Options of {@link Standstill}. */
interface StandstillOptions {
  readonly clock: Clock
  /** Spreads the replicas that ask for the same named one. */
  readonly random: Random
  /** The lease duration of the replicas in milliseconds: how long a holder may act that was not seen. */
  readonly leaseDurationMs: number
  /** Called whenever the lease has not changed for long, with the lease. */
  readonly onStill: (snapshot: LockSnapshot) => void
  /** Called when the replica that the controller has named for a free lease has not come, with the lease. */
  readonly onNamed: (lease: PresentLease) => void
}

/**
 * Notices that nobody writes the lease.
 *
 * 1. For 20 s longer than anybody may hold it. A holder of before may have had it for longer than the one that the controller has named,
 *    and may still act.
 * 2. For half a second after the controller has named a replica for a free lease. The controller may have named a replica that has left: it
 *    reads leases and candidates from two caches.
 */
export class Standstill {
  readonly #options: StandstillOptions
  #longestMs: number
  #timer: Timer | undefined
  #naming: Timer | undefined
  /** When the lease was seen without a holder, if that is the last view. */
  #freeAt: number | undefined

  constructor(options: StandstillOptions) {
    this.#options = options
    this.#longestMs = options.leaseDurationMs
  }

  /** Takes in a view of the lease. */
  seen(snapshot: LockSnapshot): void {
    this.close()
    const { clock, onStill } = this.#options
    const heldMs = snapshot.kind === 'present' ? (snapshot.record.leaseDurationSeconds ?? 0) * 1000 : 0
    this.#longestMs = Math.max(this.#longestMs, heldMs)
    this.#timer = clock.setTimer(this.#longestMs + STUCK_MS, () => {
      onStill(snapshot)
      this.seen(snapshot)
    })
    this.#awaitNamed(snapshot)
  }

  /** The watch broke. It may miss changes. */
  interrupted(): void {
    this.#freeAt = undefined
  }

  close(): void {
    this.#timer?.cancel()
    this.#naming?.cancel()
  }

  #awaitNamed(snapshot: LockSnapshot): void {
    const { clock, random, onNamed } = this.#options
    const now = clock.now()
    const freeAt = this.#freeAt ?? -Infinity
    this.#freeAt = undefined
    if (snapshot.kind === 'absent') return
    const { holderIdentity, acquireTime } = snapshot.record
    if (holderIdentity === '') this.#freeAt = now
    else if (acquireTime === undefined && now - freeAt < UNSEEN_MS)
      this.#naming = clock.setTimer(jittered(NAMED_MS, random()), () => onNamed(snapshot))
  }
}
