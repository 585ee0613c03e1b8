import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import type { ContainerRef } from '../death/container-ref.ts'
import type { PodOwner } from './life-config-map.ts'

/** The holder of a ConfigMap, and the process that asks. */
export interface HeldBy {
  readonly owner: PodOwner
  /** The container of the holder, if it has published one. */
  readonly ref: ContainerRef | undefined
  /** When the holder acquired the lease. RFC 3339. */
  readonly acquireTime: string
  /** This process: its Pod, its container if that is known, and when it started, in milliseconds since the Unix epoch. */
  readonly self: {
    readonly podUid: string | undefined
    readonly ref: ContainerRef | undefined
    readonly startedAt: number
  }
}

/** Why the ConfigMap of a holder may be deleted, although nothing proves that its container has ended. */
export type ReasonToFree =
  /** The Pod has failed or succeeded, or the holder was an earlier start of the container of this process. */
  | { readonly kind: 'ended' }
  /** Its node is not ready or cannot be reached: the control plane has marked the Pod, or the node says so. */
  | { readonly kind: 'node-not-ready' }
  /** The Pod terminates. It is overdue when it is still there after this time, in milliseconds: no kubelet reports its end. */
  | { readonly kind: 'terminating'; readonly dueMs: number }

/**
 * Why the ConfigMap of a holder may be deleted; undefined if it must stay. Less than a proof that the holder has ended: the next leader must
 * wait.
 *
 * 1. The Pod has failed or succeeded: evicted, preempted, shut down with its node, completed. Nobody may ever delete it.
 * 2. It is the Pod of this process, and the holder was an earlier start of its container.
 * 3. Its node is not ready. The node lifecycle controller then sets the condition Ready of the Pod, and only that, to False.
 * 4. It was deleted, and its kubelet has not removed it in time.
 */
export function reasonToFree(pod: JsonObject, { owner, ref, acquireTime, self }: HeldBy): ReasonToFree | undefined {
  const metadata = objectAt(pod, 'metadata')
  const uid = stringAt(metadata, 'uid')
  if (uid !== owner.uid) return undefined
  const phase = stringAt(objectAt(pod, 'status'), 'phase')
  if (phase === 'Failed' || phase === 'Succeeded') return { kind: 'ended' }
  if (uid === self.podUid && isEarlierStart({ ref, acquireTime, self })) return { kind: 'ended' }
  if (isOnLostNode(pod)) return { kind: 'node-not-ready' }
  if (stringAt(metadata, 'deletionTimestamp') === undefined) return undefined
  const graceSeconds = metadata['deletionGracePeriodSeconds']
  const graceMs = typeof graceSeconds === 'number' ? graceSeconds * 1000 : DEFAULT_GRACE_MS
  return { kind: 'terminating', dueMs: graceMs + REPORT_MS }
}

/** Whether the control plane has marked a Pod as not ready, because it does not hear from the kubelet of its node. */
export function isOnLostNode(pod: JsonObject): boolean {
  const gates = objectAt(pod, 'spec')['readinessGates']
  const hasGates = Array.isArray(gates) && gates.length > 0
  return !hasGates && conditionOf(pod, 'Ready') === 'False' && conditionOf(pod, 'ContainersReady') === 'True'
}

/** The grace period of a Pod that states none. */
const DEFAULT_GRACE_MS = 30_000

/** The time in which a kubelet reports the end of a Pod after its grace period. */
const REPORT_MS = 10_000

/** Whether a holder in the Pod of this process was an earlier start of the container of this process. */
function isEarlierStart({ ref, acquireTime, self }: Omit<HeldBy, 'owner'>): boolean {
  if (!(Date.parse(acquireTime) < self.startedAt)) return false
  if (ref === undefined) return true
  return self.ref !== undefined && self.ref.container === ref.container && self.ref.containerId !== ref.containerId
}

/** The status of a condition of a Pod or a Node. */
export function conditionOf(object: JsonObject, type: string): string | undefined {
  const { conditions } = objectAt(object, 'status')
  const all = Array.isArray(conditions) ? conditions.filter((one) => isJsonObject(one)) : []
  const found = all.find((one) => one['type'] === type)
  return found && stringAt(found, 'status')
}
