import type { WantedEndpoint } from './endpoint-note.ts'
import type { SliceEndpoint } from './slice-endpoint.ts'

/**
 * Remembers since when members have no entry in the slice.
 *
 * Replicas need not agree about who is gone: one may have proof, and another begins to count again after it was cut off. A member whose entry was
 * removed counts as there only when it renews its Lease after that. Otherwise one replica would add the dead again that the others remove. What
 * was renewed before may be seen late, as after a pause, so the renewal must follow a consistent read of the group.
 */
export class Absences {
  readonly #since = new Map<string, number>()
  /** Those that are missing since before a consistent read. */
  readonly #isConfirmed = new Set<string>()

  /** The addresses of those that have not renewed since their entry is missing. */
  doubtful(wanted: readonly WantedEndpoint[], slice: readonly SliceEndpoint[], now: number): ReadonlySet<string> {
    const listed = new Set(slice.map(({ address }) => address))
    const missing = wanted.filter(({ endpoint }) => !listed.has(endpoint.address))
    const addresses = new Set(missing.map(({ endpoint }) => endpoint.address))
    for (const address of this.#since.keys()) if (!addresses.has(address)) this.#forget(address)
    for (const address of addresses) if (!this.#since.has(address)) this.#since.set(address, now)
    const isDoubtful = ({ endpoint, renewedAt }: WantedEndpoint) =>
      renewedAt <= (this.#since.get(endpoint.address) ?? 0)
    return new Set(missing.filter(isDoubtful).map(({ endpoint }) => endpoint.address))
  }

  /** The group was read with a consistent read. */
  confirm(now: number): void {
    for (const address of this.#since.keys()) {
      if (this.#isConfirmed.has(address)) continue
      this.#isConfirmed.add(address)
      this.#since.set(address, now)
    }
  }

  #forget(address: string): void {
    this.#since.delete(address)
    this.#isConfirmed.delete(address)
  }
}
