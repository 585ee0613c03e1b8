import type { V1ClusterRole, V1ClusterRoleBinding } from '@kubernetes/client-node'
import type { ResolvedManifestsOptions } from './manifests-options.ts'

/** The right to read single nodes, which replicas of a leader for life use if they have it. Nodes belong to the cluster. */
export function nodeReader({ name, namespace }: ResolvedManifestsOptions): [V1ClusterRole, V1ClusterRoleBinding] {
  const apiGroup = 'rbac.authorization.k8s.io'
  const apiVersion = `${apiGroup}/v1`
  const metadata = { name: `${namespace}-${name}-leader-for-life` }
  return [
    { apiVersion, kind: 'ClusterRole', metadata, rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }] },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}
