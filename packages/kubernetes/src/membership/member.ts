/**
 * Whether a member is there. `living`: its Lease was renewed in time. `suspect`: a renewal is overdue, but the Lease has not expired.
 * `left`: its Lease was deleted, as by a clean stop. `gone`: its Lease expired, or its container has provably ended.
 */
type MemberState = 'living' | 'suspect' | 'left' | 'gone'

/** One replica of a group, as its identity Lease describes it. */
export interface Member {
  /** The identity of the replica, unique per start of its process. */
  readonly identity: string
  /** The name of its Lease. */
  readonly lease: string
  /** Whether the member is there. */
  readonly state: MemberState
  /** The address that the replica published; undefined if it has none. */
  readonly address: string | undefined
  /** The version of the program that the replica published. */
  readonly version: string | undefined
  /** The failure domain that the replica published. */
  readonly zone: string | undefined
  /** The labels of its Lease that the replica chose itself. */
  readonly labels: Readonly<Record<string, string>>
  /** When this replica last saw the Lease of the member change, in monotonic milliseconds of its own. */
  readonly renewedAt: number
  /** What the replica publishes of itself for others to act on, by key. Untrusted: any client that may write the Lease can set it. */
  readonly notes: Readonly<Record<string, string>>
}

/**
 * A change of the group. `joined`: a member that was unknown, or had left. `changed`: a member publishes something else, or is no longer
 * suspect. The others as in {@link MemberState}.
 */
export interface MemberChange {
  /** What happened. */
  readonly kind: 'joined' | 'changed' | 'suspect' | 'left' | 'gone'
  /** The member after the change. */
  readonly member: Member
}
