import type { V1FlowSchema } from '@kubernetes/client-node'
import type { ResolvedManifestsOptions } from './manifests-options.ts'

/** After the FlowSchemas of the elections of Kubernetes itself, and before those for all other requests. */
const PRECEDENCE = 250

/**
 * Puts the lease traffic of the program into the priority level that Kubernetes has for elections. Without it, leases outside of
 * `kube-system` queue up with all other requests of service accounts, and an overloaded API server delays renewals.
 *
 * A FlowSchema is cluster-scoped: the user who applies it needs the permission.
 */
export function flowSchema({ name, namespace, forLife }: ResolvedManifestsOptions): V1FlowSchema {
  return {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: { name: `${namespace}-${name}-leader-election` },
    spec: {
      matchingPrecedence: PRECEDENCE,
      priorityLevelConfiguration: { name: 'leader-election' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name, namespace } }],
          resourceRules: [
            {
              ...(forLife
                ? { apiGroups: [''], resources: ['configmaps'] }
                : { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }),
              verbs: ['get', 'list', 'watch', 'create', 'update'],
              namespaces: [namespace],
            },
          ],
        },
      ],
    },
  }
}
