import { type CandidacyEvent, HealthProbe } from '@tenure/core'
import type { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { resolveEndpointsOptions, type EndpointsOptions } from '../../src/endpoints/endpoints-options.ts'
import { ReplicaEndpoints } from '../../src/endpoints/replica-endpoints.ts'
import { GroupMembership, type MemberHost } from '../../src/membership/group-membership.ts'
import type { MemberChange } from '../../src/membership/member.ts'
import { resolveMembershipOptions, type MembershipOptions } from '../../src/membership/membership-options.ts'
import type { VirtualApi, Wire } from './virtual-api.ts'

const ENV = {}

/** What a process of a test runs on. */
export interface ReplicaSetup {
  readonly api: VirtualApi
  readonly clock: VirtualClock
  readonly identity: string
  readonly random?: () => number
  readonly wire?: Wire
}

/** A manager that leads nothing. */
function hostOf(identity: string): MemberHost {
  return { identity, candidacies: [], readyz: new HealthProbe() }
}

/** A member on the virtual API server, with the changes that it has seen. */
export function memberOf(
  { api, clock, identity, random = () => 0.5, wire }: ReplicaSetup,
  options: Partial<MembershipOptions> = {},
): { readonly member: GroupMembership; readonly host: MemberHost; readonly seen: string[] } {
  const resolved = resolveMembershipOptions({ group: 'shop', namespace: 'ops', clock, random, ...options }, ENV)
  const connection = api.connect(identity, wire)
  const member = new GroupMembership(resolved, () => ({
    connection,
    proof: undefined,
    close: () => connection.close(),
  }))
  const seen: string[] = []
  member.on((change: MemberChange) => void seen.push(`${change.kind} ${change.member.identity}`))
  return { member, host: hostOf(identity), seen }
}

/** Endpoints on the virtual API server. */
export function endpointsOf(
  { api, clock, identity, random = () => 0.5, wire }: ReplicaSetup,
  options: Partial<EndpointsOptions> = {},
): { readonly endpoints: ReplicaEndpoints; readonly host: MemberHost } {
  const given = { service: 'shop', namespace: 'ops', ports: [{ name: 'http', port: 8080 }], clock, random, ...options }
  const connection = api.connect(identity, wire)
  const endpoints = new ReplicaEndpoints(resolveEndpointsOptions(given, ENV), () => ({
    connection,
    proof: undefined,
    close: () => connection.close(),
  }))
  return { endpoints, host: hostOf(identity) }
}

/** What a follower tells its extensions when the manager stops. */
export const STOPPED: CandidacyEvent = {
  lease: 'shop',
  kind: 'state',
  from: { kind: 'following', observedLeader: undefined },
  to: { kind: 'stopped' },
}

/** Starts what takes virtual time. */
export async function after<T>(clock: VirtualClock, work: Promise<T>, ms = 500): Promise<T> {
  const settled = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await clock.advance(ms)
  const outcome = await settled
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
