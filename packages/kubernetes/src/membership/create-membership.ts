import { GroupMembership } from './group-membership.ts'
import type { Membership } from './membership.ts'
import { type MembershipOptions, resolveMembershipOptions } from './membership-options.ts'

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
