import { type KubeConfig, RbacAuthorizationV1Api, type V1Role, type V1RoleBinding } from '@kubernetes/client-node'
import { leaseRole } from '@tenure/kubernetes'
import { LEASE } from '../lease.ts'

const RBAC = 'rbac.authorization.k8s.io'

/** Allows the users to stand for the lease and to do the janitor's work, and nothing else. */
export async function allowJanitor(options: {
  readonly kubeConfig: KubeConfig
  readonly namespace: string
  readonly users: readonly string[]
}): Promise<void> {
  const { kubeConfig, namespace } = options
  const subjects = options.users.map((name) => ({ kind: 'User', apiGroup: RBAC, name }))
  const election = leaseRole({ name: LEASE.name, namespace, subjects })
  const work = { role: workRole(namespace), roleBinding: bindingOf(workRole(namespace), subjects) }
  const api = kubeConfig.makeApiClient(RbacAuthorizationV1Api)
  for (const { role, roleBinding } of [election, work]) {
    await api.createNamespacedRole({ namespace, body: role })
    await api.createNamespacedRoleBinding({ namespace, body: roleBinding })
  }
}

function workRole(namespace: string): V1Role {
  return {
    metadata: { name: 'janitor-work', namespace },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'create', 'update', 'delete'] }],
  }
}

function bindingOf({ metadata }: V1Role, subjects: V1RoleBinding['subjects']): V1RoleBinding {
  return {
    ...(metadata && { metadata }),
    roleRef: { apiGroup: RBAC, kind: 'Role', name: metadata?.name ?? '' },
    ...(subjects && { subjects }),
  }
}
