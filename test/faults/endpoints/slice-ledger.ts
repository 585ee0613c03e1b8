import { monitorEventLoopDelay } from 'node:perf_hooks'
import { absences, type Death, emptyMs, lingering, type Wrong } from './judge.ts'
import type { ServiceFleet, ServiceReplica } from './service-fleet.ts'
import { monotonicNow } from './slice-watch.ts'

/** How long the slice may still have a replica after its lease. */
const MARGIN_MS = 1000

/** What a slice was wrong about; all empty if nothing. */
export interface Verdict {
  /** `198.18.0.1 for 12 ms, …`: the living replicas that were absent. */
  readonly dropped: readonly string[]
  /** The same of the dead replicas that were present for too long. */
  readonly lingering: readonly string[]
  readonly emptyMs: number
}

/** The ends of replicas of a fleet, and by when the slice must be without each. */
export class SliceLedger {
  readonly #fleet: ServiceFleet
  readonly #leaseDurationMs: number
  readonly #from = monotonicNow()
  readonly #deaths: { readonly address: string; readonly at: number; readonly from: number }[] = []
  /** How late this process runs on a busy machine: no watch sees anything earlier, and the replicas fare no better. */
  readonly #delay: ReturnType<typeof monitorEventLoopDelay> = monitorEventLoopDelay({ resolution: 10 })

  constructor(fleet: ServiceFleet, leaseDurationMs: number) {
    this.#fleet = fleet
    this.#leaseDurationMs = leaseDurationMs
    this.#delay.enable()
  }

  /** Kills a replica; fulfils when the slice is without it. */
  async kill(replica: ServiceReplica): Promise<void> {
    const { at } = this.#fleet.end(replica, 'SIGKILL')
    this.#deaths.push({ address: replica.address, at, from: at + this.#leaseDurationMs })
    await this.#fleet.watch.without(replica.address, at)
  }

  /** Stops a replica; fulfils when it is gone. The slice must be without it by then. */
  async stop(replica: ServiceReplica): Promise<void> {
    const { at, gone } = this.#fleet.end(replica, 'SIGTERM')
    const from = await gone
    this.#deaths.push({ address: replica.address, at, from: from - MARGIN_MS })
    await this.#fleet.watch.without(replica.address, at)
  }

  /**
   * Compares the versions of the slice since this began with the lives and deaths.
   *
   * @param outages when nobody could write the slice, until every replica has renewed its Lease: the dead may stay for a lease after that
   */
  judge(outages: readonly { readonly from: number; readonly to: number }[] = []): Verdict {
    const { watch } = this.#fleet
    const lives = this.#fleet.lives.map((life) => ({ ...life, from: Math.max(life.from, this.#from) }))
    const slack = MARGIN_MS + (2 * this.#delay.max) / 1e6
    const deaths = this.#deaths.map(({ address, at, from }): Death => {
      const hit = outages.filter((outage) => outage.to > at && outage.from < from + MARGIN_MS)
      return { address, by: Math.max(from, ...hit.map(({ to }) => to + this.#leaseDurationMs)) + slack }
    })
    const tell = ({ address, from, ms }: Wrong): string =>
      `${address} for ${Math.round(ms)} ms, ${Math.round(from - this.#from)} ms after the begin`
    return {
      dropped: absences(watch.versions, lives).map(tell),
      lingering: lingering(watch.versions, deaths, monotonicNow()).map(tell),
      emptyMs: emptyMs(watch.versions, lives),
    }
  }

  close(): void {
    this.#delay.disable()
  }
}
