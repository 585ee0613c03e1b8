import type { Clock, LockSnapshot } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'

/** How long nobody has to be named. An election takes up to 10 s if it has to wait for a dead candidate. */
const STUCK_MS = 20_000

/** Options of {@link Standstill}. */
interface StandstillOptions {
  readonly clock: Clock
  /** The lease duration of the replicas in milliseconds: how long a holder may act that was not seen. */
  readonly leaseDurationMs: number
  /** Called whenever the lease has not changed for long, with the lease. */
  readonly onStill: (snapshot: LockSnapshot) => void
}

/**
 * Notices that nobody has written the lease for 20 s longer than anybody may hold it. A holder of before may have had it for longer than the
 * one that the controller has named, and may still act.
 */
export class Standstill {
  readonly #options: StandstillOptions
  #longestMs: number
  #timer: Timer | undefined

  constructor(options: StandstillOptions) {
    this.#options = options
    this.#longestMs = options.leaseDurationMs
  }

  /** Takes in a view of the lease. */
  seen(snapshot: LockSnapshot): void {
    this.#timer?.cancel()
    const { clock, onStill } = this.#options
    const heldMs = snapshot.kind === 'present' ? (snapshot.record.leaseDurationSeconds ?? 0) * 1000 : 0
    this.#longestMs = Math.max(this.#longestMs, heldMs)
    this.#timer = clock.setTimer(this.#longestMs + STUCK_MS, () => {
      onStill(snapshot)
      this.seen(snapshot)
    })
  }

  close(): void {
    this.#timer?.cancel()
  }
}
