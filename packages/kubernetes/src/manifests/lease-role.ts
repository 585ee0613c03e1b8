import { assertKnownKeys } from '@tenure/core/internal'
import { OLDEST_EMULATION_VERSION } from '../coordinated/candidate-object.ts'
import type { RbacV1Subject, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node'

/** Options of {@link leaseRole}. */
export interface LeaseRoleOptions {
  /** Name of the Lease. */
  readonly name: string
  /**
   * Names of further Leases that the same process stands for. Two or more share one watch of the namespace, and the API server
   * cannot restrict that by name. @default none
   */
  readonly others?: readonly string[]
  /** Whether followers look for proof that the holder's container has ended, as `proveDeath` of a lease says. @default false */
  readonly proveDeath?: boolean
  /** Whether replicas see that their own Pod is being deleted. Adds the right to read Pods. @default false */
  readonly watchPod?: boolean
  /**
   * The `strategy` of a lease. `OldestEmulationVersion` needs rights on LeaseCandidates, where the API server has an election controller.
   * @default none
   */
  readonly strategy?: string
  /**
   * Whether a `lifeLock()` keeps the leases, in ConfigMaps, instead of Leases. Adds the right to read Pods, and removes that to record
   * Events. @default false
   */
  readonly forLife?: boolean
  /** Whether the process is in a `membership()`, also that of its `endpoints()`: adds all rights on the Leases of the namespace. @default false */
  readonly members?: boolean
  /** The Service of `endpoints()`: adds the right to read it, and to write an EndpointSlice of that name. @default none */
  readonly endpoints?: string
  /** Namespace of the Leases, the Role and the RoleBinding. */
  readonly namespace: string
  /** The accounts that stand for election. @default the service account of the namespace that has the name of the Lease */
  readonly subjects?: readonly RbacV1Subject[]
  /** Name of the Role and the RoleBinding. @default '<name>-leader-election' */
  readonly roleName?: string
}

/** The permissions to stand for election, and no others. */
export interface LeaseRole {
  /** The permissions. */
  readonly role: V1Role
  /** Who has the permissions. */
  readonly roleBinding: V1RoleBinding
}

const OPTION_NAMES = [
  'name',
  'others',
  'proveDeath',
  'watchPod',
  'strategy',
  'forLife',
  'members',
  'endpoints',
  'namespace',
  'subjects',
  'roleName',
] as const satisfies (keyof LeaseRoleOptions)[]

/**
 * Returns the least permissions of a replica: to follow, create and update its Leases, and to record Events.
 *
 * The API server cannot restrict `create` by name. `list` and `watch` are restricted to a single Lease, because requests for them
 * select it by `metadata.name`; several Leases share a watch of the whole namespace. `proveDeath`, `watchPod` and `forLife` add the right
 * to read Pods, and `strategy: 'OldestEmulationVersion'` those on LeaseCandidates. `members` adds rights on all Leases of the namespace,
 * because the names of identity Leases are not known before.
 */
export function leaseRole(options: LeaseRoleOptions): LeaseRole {
  assertKnownKeys('`leaseRole()`', options, OPTION_NAMES)
  const { name, namespace } = options
  const metadata = { name: options.roleName ?? `${name}-leader-election`, namespace }
  const subjects = options.subjects ?? [{ kind: 'ServiceAccount', name, namespace }]
  return {
    role: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules: rulesFor(options) },
    roleBinding: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [...subjects],
    },
  }
}

/** Every process has a candidate of its own, whose name nobody knows before. */
const CANDIDATE_RULE: V1PolicyRule = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leasecandidates'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
}

/** Every process has an identity Lease of its own, and may delete those of members that are gone. */
const MEMBER_RULE: V1PolicyRule = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['create', 'delete', 'get', 'list', 'update', 'watch'],
}

function endpointRules(service: string): V1PolicyRule[] {
  const slices = { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'] }
  return [
    { apiGroups: [''], resources: ['services'], resourceNames: [service], verbs: ['get'] },
    { ...slices, resourceNames: [service], verbs: ['list', 'update', 'watch'] },
    { ...slices, verbs: ['create'] },
  ]
}

function rulesFor(options: LeaseRoleOptions): V1PolicyRule[] {
  const { forLife = false, strategy, members = false, endpoints } = options
  return [
    ...leaseRules(options),
    ...(strategy === OLDEST_EMULATION_VERSION ? [CANDIDATE_RULE] : []),
    ...(members ? [MEMBER_RULE] : []),
    ...(endpoints === undefined ? [] : endpointRules(endpoints)),
    // With a lock of one's own, Tenure writes no Events.
    ...(forLife ? [] : [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]),
    ...podRules(options),
  ]
}

/** Every Pod has a name of its own, which is not known before. */
function podRules({ proveDeath = false, watchPod = false, forLife = false }: LeaseRoleOptions): V1PolicyRule[] {
  if (!proveDeath && !watchPod && !forLife) return []
  return [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }]
}

function leaseRules({ name, others = [], forLife = false }: LeaseRoleOptions): V1PolicyRule[] {
  const leases = forLife
    ? { apiGroups: [''], resources: ['configmaps'] }
    : { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
  return [
    ...rulesForNamed(leases, [name, ...others], forLife ? ['update', 'delete'] : ['update']),
    { ...leases, verbs: ['create'] },
  ]
}

/** The rights on leases of these names. Several share a watch of the namespace, which RBAC cannot restrict by name. */
function rulesForNamed(leases: Omit<V1PolicyRule, 'verbs'>, names: string[], write: string[]): V1PolicyRule[] {
  const named = { ...leases, resourceNames: names }
  const follow = ['list', 'watch']
  if (names.length === 1) return [{ ...named, verbs: ['get', ...follow, ...write] }]
  return [
    { ...named, verbs: ['get', ...write] },
    { ...leases, verbs: follow },
  ]
}
