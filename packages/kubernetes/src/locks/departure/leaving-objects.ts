import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'

/** Taints of nodes whose Pods are about to be evicted. A node that is only cut off or under pressure has none of them. */
const DRAIN_TAINTS: readonly (string | undefined)[] = [
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/shutdown',
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
]

/** Whether an object is being deleted. */
export function isBeingDeleted(object: JsonObject): boolean {
  return stringAt(objectAt(object, 'metadata'), 'deletionTimestamp') !== undefined
}

/** Whether a node takes no new Pods: it is cordoned, drained or about to be removed. */
export function isDraining(node: JsonObject): boolean {
  const { unschedulable, taints } = objectAt(node, 'spec')
  return isBeingDeleted(node) || unschedulable === true || (Array.isArray(taints) && taints.some(isDrainTaint))
}

function isDrainTaint(taint: unknown): boolean {
  return isJsonObject(taint) && DRAIN_TAINTS.includes(stringAt(taint, 'key'))
}
