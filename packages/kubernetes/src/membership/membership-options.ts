import type { LeaseClientOptions } from '../locks/lease/lease-client.ts'

/** Options of {@link membership}. */
export interface MembershipOptions extends Partial<LeaseClientOptions> {
  /** Name of the group: the value of the label that its Leases share, and the beginning of their names. An RFC 1123 label. */
  readonly group: string
  /** Namespace of the Leases. It must exist. @default `POD_NAMESPACE`, the namespace of the service account, `default` */
  readonly namespace?: string
  /** The address that this replica publishes: an IP address, or a host name. @default none */
  readonly address?: string
  /** The version of the program that this replica publishes. @default none */
  readonly version?: string
  /** The failure domain that this replica publishes. @default none */
  readonly zone?: string
  /** Labels that this replica adds to its Lease. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /** Name of the Pod that owns the Lease, so that the garbage collector deletes it with the Pod. @default `POD_NAME` */
  readonly pod?: string
  /** Name of the container of this process, if its Pod has several and `proveDeath` is set. @default `CONTAINER_NAME` */
  readonly container?: string
  /**
   * How long a member may stay silent before it counts as gone, in milliseconds: whole seconds. Other replicas measure it on their own
   * monotonic clocks, from when they saw the last renewal. @default 15000
   */
  readonly leaseDurationMs?: number
  /** How often a member renews its Lease, in milliseconds. At most a third of `leaseDurationMs`. @default a third of `leaseDurationMs` */
  readonly renewIntervalMs?: number
  /**
   * Whether a member is gone as soon as the kubelet reports that its container has ended, instead of when its Lease expires. Needs the
   * right to get, list and watch Pods. @default false
   */
  readonly proveDeath?: boolean
}
