import type { V1ClusterRole, V1ClusterRoleBinding } from '@kubernetes/client-node'
import type { ResolvedManifestsOptions } from './manifests-options.ts'

/**
 * The right to read nodes: single ones for a leader for life, and a watch for replicas that see that their node is drained. Nodes belong to
 * the cluster, and which node a Pod gets is not known before, so the right is on all nodes.
 */
export function nodeReader(options: ResolvedManifestsOptions): [V1ClusterRole, V1ClusterRoleBinding] {
  const { name, namespace, forLife, watchNode } = options
  const verbs = [...(forLife ? ['get'] : []), ...(watchNode ? ['list', 'watch'] : [])]
  const apiGroup = 'rbac.authorization.k8s.io'
  const apiVersion = `${apiGroup}/v1`
  const metadata = { name: `${namespace}-${name}-nodes` }
  return [
    { apiVersion, kind: 'ClusterRole', metadata, rules: [{ apiGroups: [''], resources: ['nodes'], verbs }] },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}
