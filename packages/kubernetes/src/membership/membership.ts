import type { Extension } from '@tenure/core'
import { GroupMembership } from './group-membership.ts'
import type { Member, MemberChange } from './member.ts'
import { type MembershipOptions, resolveMembershipOptions } from './membership-options.ts'
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
   * Declares a member gone because this program knows that its process has ended, and deletes its Lease. A member that lives all the same
   * writes its Lease again and joins. Does nothing for an unknown identity, and for this replica.
   */
  bury(identity: string): void
  /** Explains in one or two sentences who is there, and what is wrong. The wording may change at any time. */
  explain(): string
  /** The metrics, for `ops.registries`. */
  readonly metrics: MetricsView
}

/**
 * Publishes this replica in a Lease of its own, and follows the Leases of its group.
 *
 * The extension starts after servers, and stops before them. Its start publishes this replica. If the API server refuses that, for missing
 * rights or a missing namespace, the manager does not start. If the API server cannot be reached, the extension tries again in the
 * background.
 *
 * In steady state each member writes its own Lease once per `renewIntervalMs`, and nothing else. A member is gone when its Lease was not
 * seen to change for its whole duration, while this replica itself could read and write. After an outage the duration starts again for
 * all. The replica that leads deletes the Lease of a member that is gone. Where nobody does, the others do, in the order of their
 * identities.
 *
 * @throws OptionsError naming the option, its value and what was expected
 *
 * @example
 * ```ts
 * import { membership } from '@tenure/kubernetes'
 * import { createManager } from 'tenure'
 *
 * const group = membership({ group: 'shop', address: '10.0.0.7', zone: 'eu-1a' })
 * group.on(({ kind, member }) => console.log(kind, member.identity))
 * const manager = createManager({ lease: { name: 'shop' } }).use(group)
 * ```
 */
export function membership(options: MembershipOptions): Membership {
  return new GroupMembership(resolveMembershipOptions(options, process.env))
}
