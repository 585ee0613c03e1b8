import type { Access } from '@tenure/test-control-plane'
import { type RawLease, RawLeaseClient } from '../handover/raw-lease.ts'

/** A holder and the time since which it held the lease, in milliseconds on the monotonic clock. `''` for no holder. */
interface Holding {
  readonly holder: string
  readonly since: number
}

/** The changes of a lease over a period. */
export interface LeaseHistory {
  /** The number of changes to another holder, with or without a gap. */
  readonly changes: number
  /** The time without a holder. */
  readonly leaderlessMs: number
  /** The holders in order. */
  readonly holders: readonly string[]
}

/** An independent watch of a lease, separate from all replicas. */
export class LeaseJournal implements Disposable {
  readonly #client: RawLeaseClient
  #holdings: Holding[] = []
  #standbys: readonly string[] = []

  private constructor(client: RawLeaseClient) {
    this.#client = client
  }

  /** Opens the watch; the lease has to exist. */
  static async open(access: Access, namespace: string, name: string): Promise<LeaseJournal> {
    const client = new RawLeaseClient(access, namespace)
    const journal = new LeaseJournal(client)
    const lease = await client.get(name)
    journal.#note(lease)
    await client.watch(lease, (seen) => journal.#note(seen))
    return journal
  }

  /** The current holder, or `''`. */
  get holder(): string {
    return this.#holdings.at(-1)?.holder ?? ''
  }

  /** The identities of the standbys, first the one that tries first. */
  get standbys(): readonly string[] {
    return this.#standbys
  }

  /** Forgets everything except the current holder. */
  restart(): void {
    this.#holdings = this.#holdings.slice(-1)
  }

  /** The changes since the last restart. */
  history(): LeaseHistory {
    const holders = this.#holdings.map(({ holder }) => holder).filter((holder) => holder !== '')
    const changes = holders.filter((holder, index) => index > 0 && holder !== holders[index - 1]).length
    const leaderlessMs = this.#holdings.reduce((total, { holder, since }, index) => {
      const until = this.#holdings[index + 1]?.since ?? performance.now()
      return holder === '' ? total + until - since : total
    }, 0)
    return { changes, leaderlessMs, holders }
  }

  [Symbol.dispose](): void {
    this.#client.close()
  }

  #note({ spec, metadata }: RawLease): void {
    const { holderIdentity: holder } = spec
    const text = metadata.annotations?.['tenure.dev/standby'] ?? '{}'
    const { standbys = [] } = JSON.parse(text) as { readonly standbys?: readonly { readonly identity: string }[] }
    this.#standbys = standbys.map(({ identity }) => identity)
    if (holder !== this.#holdings.at(-1)?.holder) this.#holdings.push({ holder, since: performance.now() })
  }
}
