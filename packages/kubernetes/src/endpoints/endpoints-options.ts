import type { LeaseClientOptions } from '../locks/lease/lease-client.ts'
import type { Membership } from '../membership/membership.ts'

/**
 * Which replicas are in the slice. `lease`: the living and ready ones, by their identity Leases. `master-count`: as kube-apiserver with
 * `--endpoint-reconciler-type=master-count`, but a dead entry goes before a living one. `leader`: the present leader only. `none`: writes
 * nothing.
 */
export type EndpointsMode = 'lease' | 'master-count' | 'leader' | 'none'

/** A port of the Service that every replica listens on. */
export interface EndpointPortOptions {
  /** Name of the port, as in the Service. An RFC 1123 label. @default '' */
  readonly name?: string
  /** The port number. */
  readonly port: number
  /** The protocol. @default 'TCP' */
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
  /** The application protocol, such as `kubernetes.io/h2c`. @default none */
  readonly appProtocol?: string
}

/** Options of {@link endpoints}. */
export interface EndpointsOptions extends Partial<LeaseClientOptions> {
  /** Name of the Service. It must exist and have no selector. */
  readonly service: string
  /** Namespace of the Service, the slice and the Leases. @default `POD_NAMESPACE`, the namespace of the service account, `default` */
  readonly namespace?: string
  /** Which replicas are in the slice. The same for all replicas. @default 'lease' */
  readonly mode?: EndpointsMode
  /** The IP address at which clients reach this replica. Loopback and link-local addresses are refused. Not needed with mode `none`. */
  readonly address?: string
  /** The ports of the slice. The same for all replicas. Not needed with mode `none`. */
  readonly ports?: readonly EndpointPortOptions[]
  /** The address family of the slice. @default that of `address` */
  readonly addressType?: 'IPv4' | 'IPv6'
  /** Name of the EndpointSlice. Two slices of one Service, one per address family, need two names. @default the name of the Service */
  readonly slice?: string
  /** The node of this replica, for topology-aware routing. @default `NODE_NAME` */
  readonly nodeName?: string
  /** The zone of this replica, for topology-aware routing. @default none */
  readonly zone?: string
  /** How many replicas there are. Needed with mode `master-count`, and only there. */
  readonly count?: number
  /** The lease whose leader is in the slice, with mode `leader`. @default the lease of the manager */
  readonly lease?: string
  /** Whether this replica is ready for clients. Called every 100 ms until it is, then every second. @default all checks of `/readyz` pass */
  readonly isReady?: () => boolean | Promise<boolean>
  /** The group of replicas, if the program has one already. @default a group of its own with the name of the slice */
  readonly membership?: Membership
  /** Of the group of its own: as {@link MembershipOptions.leaseDurationMs}. @default 15000 */
  readonly leaseDurationMs?: number
  /** Of the group of its own: as {@link MembershipOptions.renewIntervalMs}. @default a third of `leaseDurationMs` */
  readonly renewIntervalMs?: number
  /** Of the group of its own: as {@link MembershipOptions.proveDeath}. @default false */
  readonly proveDeath?: boolean
}
