import type { KubernetesObject } from '@kubernetes/client-node'
import { deployment, disruptionBudget, labelsOf } from './deployment.ts'
import { flowSchema } from './flow-schema.ts'
import { leaseRole } from './lease-role.ts'
import { nodeReader } from './node-reader.ts'
import { resolveManifestsOptions, type ManifestsOptions, type ResolvedManifestsOptions } from './manifests-options.ts'

/**
 * Returns what a program needs in a cluster to stand for election: a service account, a Role with the least rights and its
 * binding, a FlowSchema, a PodDisruptionBudget, and a Deployment with the right probes and grace period.
 *
 * With `forLife`, also a ClusterRole and its binding, to see whether the node of the leader is ready. Everything works without them, but nobody
 * notices a node that is not ready before its Pods are marked or deleted.
 *
 * The controllers of the program need permissions of their own. The result is plain objects: change them as you need.
 *
 * @throws OptionsError naming the option, its value and what was expected
 *
 * @example
 * ```ts
 * console.log(toYaml(manifests({ name: 'janitor', namespace: 'ops', image: 'registry.example.com/janitor:1' })))
 * ```
 */
export function manifests(options: ManifestsOptions): KubernetesObject[] {
  const resolved = resolveManifestsOptions(options)
  const { name, namespace, others, proveDeath, watchPod, forLife, members, strategy, endpoints } = resolved
  const { role, roleBinding } = leaseRole({
    name,
    namespace,
    others,
    proveDeath,
    watchPod,
    forLife,
    members,
    ...(endpoints !== undefined && { endpoints }),
    ...(strategy !== undefined && { strategy }),
  })
  return [
    serviceAccount(resolved),
    role,
    roleBinding,
    ...(resolved.forLife || resolved.watchNode ? nodeReader(resolved) : []),
    flowSchema(resolved),
    disruptionBudget(resolved),
    deployment(resolved),
  ]
}

function serviceAccount(options: ResolvedManifestsOptions): KubernetesObject {
  const { name, namespace } = options
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace, labels: labelsOf(options) } }
}
