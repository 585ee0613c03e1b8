import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import type { ContainerRef } from '../death/container-ref.ts'

/** The holder of a ConfigMap, and the process that asks. */
export interface HeldBy {
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

/** What the Pod of a holder says of its end. Less than a proof: the next leader must wait. */
export type PodEnd =
  /** The Pod has failed or succeeded, or the holder was an earlier start of the container of this process. */
  | { readonly kind: 'ended' }
  /** The Pod terminates. It is overdue when it is still there after this time, in milliseconds: no kubelet reports its end. */
  | { readonly kind: 'terminating'; readonly dueMs: number }

/**
 * Whether the Pod of a holder has ended or terminates, but may never be deleted; undefined if it runs.
 *
 * 1. The Pod has failed or succeeded: evicted, preempted, shut down with its node, completed. Nobody may ever delete it.
 * 2. It is the Pod of this process, and the holder was an earlier start of its container.
 * 3. It was deleted. A kubelet that nobody hears from does not remove it.
 */
export function podEnd(pod: JsonObject, { ref, acquireTime, self }: HeldBy): PodEnd | undefined {
  const metadata = objectAt(pod, 'metadata')
  const phase = stringAt(objectAt(pod, 'status'), 'phase')
  if (phase === 'Failed' || phase === 'Succeeded') return { kind: 'ended' }
  const isOurs = stringAt(metadata, 'uid') === self.podUid
  if (isOurs && isEarlierStart({ ref, acquireTime, self })) return { kind: 'ended' }
  if (stringAt(metadata, 'deletionTimestamp') === undefined) return undefined
  const graceMs = (integerAt(metadata, 'deletionGracePeriodSeconds') ?? DEFAULT_GRACE_SECONDS) * 1000
  return { kind: 'terminating', dueMs: graceMs + REPORT_MS }
}

/**
 * Whether the control plane has marked a Pod as not ready, because it does not hear from the kubelet of its node. The node lifecycle controller
 * then sets the condition Ready, and only that, to False.
 */
export function isOnLostNode(pod: JsonObject): boolean {
  const gates = objectAt(pod, 'spec')['readinessGates']
  const hasGates = Array.isArray(gates) && gates.length > 0
  return !hasGates && conditionOf(pod, 'Ready') === 'False' && conditionOf(pod, 'ContainersReady') === 'True'
}

/** The grace period of a Pod that states none. */
const DEFAULT_GRACE_SECONDS = 30

/** The time in which a kubelet reports the end of a Pod after its grace period. */
const REPORT_MS = 10_000

/** Whether a holder in the Pod of this process was an earlier start of the container of this process. */
function isEarlierStart({ ref, acquireTime, self }: HeldBy): boolean {
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
