import type { V1ClusterRole, V1ClusterRoleBinding } from '@kubernetes/client-node'
import type { ResolvedManifestsOptions } from './manifests-options.ts'

/**
 * The right to see that a node is drained, and who has it. Nodes belong to the cluster, and which node a Pod gets is not known before, so the
 * right is on all nodes.
 */
export function nodeRole({
  name,
  namespace,
}: ResolvedManifestsOptions): readonly [role: V1ClusterRole, binding: V1ClusterRoleBinding] {
  const metadata = { name: `${namespace}-${name}-nodes` }
  const apiGroup = 'rbac.authorization.k8s.io'
  return [
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}
