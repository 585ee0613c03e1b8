import type { Urgency } from './decide.ts'

/** How long a replica leaves a difference to those that come before it in the slice. */
const PATIENCE: Readonly<Record<Urgency, { readonly firstMs: number; readonly stepMs: number }>> = {
  own: { firstMs: 0, stepMs: 0 },
  gone: { firstMs: 250, stepMs: 50 },
  repair: { firstMs: 1000, stepMs: 50 },
}

/** Replicas beyond this rank are as patient as that of this rank. */
const MAX_RANK = 20

/** Remembers since when each kind of difference is as it is. */
export class Patience {
  readonly #noticed = new Map<Urgency, { readonly at: number; readonly what: string }>()

  /**
   * When to settle a difference. Another difference begins to wait again.
   *
   * @param what describes the difference; undefined if there is none
   * @param rank how many replicas come before this one
   */
  dueAt(
    urgency: Urgency,
    what: string | undefined,
    { now, rank }: { readonly now: number; readonly rank: number },
  ): number {
    if (what === undefined) {
      this.#noticed.delete(urgency)
      return Infinity
    }
    const noticed = this.#noticed.get(urgency)
    const at = noticed?.what === what ? noticed.at : now
    this.#noticed.set(urgency, { at, what })
    const { firstMs, stepMs } = PATIENCE[urgency]
    return at + firstMs + stepMs * Math.min(rank, MAX_RANK)
  }
}
