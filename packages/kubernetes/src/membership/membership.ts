import type { Extension } from '@tenure/core'
import type { Member, MemberChange } from './member.ts'
import type { MetricsView } from './metrics-view.ts'

/** Who is there: an extension for `manager.use()` that publishes this replica and follows the others. */
export interface Membership extends Required<Pick<Extension, 'name' | 'group' | 'start' | 'stop'>> {
  /** The members that are `living` or `suspect`, this replica included, in the order of their identities. */
  readonly members: readonly Member[]
  /** This replica as it publishes itself; undefined before the start. */
  readonly self: Member | undefined
  /** Whether `members` is complete and up to date. False before the first list, and during an outage. */
  readonly isCurrent: boolean
  /** Calls `listener` with every change. The returned function removes it. If it throws, the error is logged. */
  on(listener: (change: MemberChange) => void): () => void
  /**
   * Publishes a note of this replica to the others, or withdraws it with `undefined`. Resolves when the Lease holds it, or when this
   * replica leaves. Notes that change together share a write.
   */
  note(key: string, value: string | undefined): Promise<void>
  /**
   * Reads the group again with a consistent read, and renews the Lease of this replica before if that is overdue. Resolves when `members` is
   * at least as new as the call. For decisions that must not come from a late view.
   * @throws ApiRequestError if the API server cannot be reached, or refuses
   */
  refresh(signal?: AbortSignal): Promise<void>
  /**
   * Declares a member gone because this program knows that its process has ended, and deletes its Lease. A member that lives all the same
   * writes its Lease again and joins. Does nothing for an unknown identity, and for this replica.
   */
  bury(identity: string): void
  /** Explains in one or two sentences who is there, and what is wrong. The wording may change at any time. */
  explain(): string
  /** The metrics, for `ops.registries`. */
  readonly metrics: MetricsView
}
