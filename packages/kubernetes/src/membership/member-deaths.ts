import type { LockWatch } from '@tenure/core'
import type { DeathProof } from '../locks/death-proof.ts'
import type { MemberLease } from './member-lease.ts'

/** Watches the processes of members that say which they are, and reports those that have provably ended. */
export class MemberDeaths {
  readonly #proof: DeathProof
  readonly #onDead: (lease: MemberLease) => void
  readonly #watches = new Map<string, { readonly process: string; readonly watch: LockWatch }>()

  constructor(proof: DeathProof, onDead: (lease: MemberLease) => void) {
    this.#proof = proof
    this.#onDead = onDead
  }

  /** The members that are there now. Watches the new ones, and no longer those that are not among them. */
  follow(leases: readonly MemberLease[]): void {
    const wanted = new Map(leases.map((lease) => [lease.uid, lease]))
    for (const [uid, { process, watch }] of this.#watches) {
      if (wanted.get(uid)?.facts.process === process) continue
      this.#watches.delete(uid)
      void watch.close()
    }
    for (const [uid, lease] of wanted) this.#watch(uid, lease)
  }

  /** Resolves when all watches are closed. */
  async close(): Promise<void> {
    await Promise.all([...this.#watches.values()].map(({ watch }) => watch.close()))
  }

  #watch(uid: string, lease: MemberLease): void {
    const { process } = lease.facts
    if (process === undefined || this.#watches.has(uid)) return
    const holder = { identity: lease.identity, acquireTime: '', processRef: process }
    const watch = this.#proof.watchHolder(holder, { dead: () => this.#onDead(lease) })
    this.#watches.set(uid, { process, watch })
  }
}
