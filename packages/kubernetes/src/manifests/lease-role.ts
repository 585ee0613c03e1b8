import type { RbacV1Subject, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node'

/** Options of {@link leaseRole}. */
export interface LeaseRoleOptions {
  /** Name of the Lease. */
  readonly name: string
  /** Namespace of the Lease, the Role and the RoleBinding. */
  readonly namespace: string
  /** Who stands for election. @default the service account of the namespace that has the name of the Lease */
  readonly subjects?: readonly RbacV1Subject[]
  /** Name of the Role and the RoleBinding. @default '<name>-leader-election' */
  readonly roleName?: string
}

/** What allows a replica to stand for election, and nothing else. */
export interface LeaseRole {
  readonly role: V1Role
  readonly roleBinding: V1RoleBinding
}

/**
 * Returns the least that a replica must be allowed: to follow and update the one Lease, to create it, and to record Events.
 *
 * The API server cannot restrict `create` by name. `list` and `watch` are restricted to the one Lease, because requests for them
 * select it by `metadata.name`.
 */
export function leaseRole(options: LeaseRoleOptions): LeaseRole {
  const { name, namespace } = options
  const metadata = { name: options.roleName ?? `${name}-leader-election`, namespace }
  const subjects = options.subjects ?? [{ kind: 'ServiceAccount', name, namespace }]
  return {
    role: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules: rulesFor(name) },
    roleBinding: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [...subjects],
    },
  }
}

function rulesFor(leaseName: string): V1PolicyRule[] {
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
  return [
    { ...leases, resourceNames: [leaseName], verbs: ['get', 'list', 'watch', 'update'] },
    { ...leases, verbs: ['create'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ]
}
