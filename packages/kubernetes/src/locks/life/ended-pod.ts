import { objectAt, stringAt, type JsonObject } from '../../json-object.ts'
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

/**
 * Whether the Pod of a holder will not free the ConfigMap by itself, although the holder has most likely ended. Less than a proof: the
 * next leader must wait.
 *
 * 1. The Pod has failed or succeeded: evicted, preempted, shut down with its node, completed. Nobody may ever delete it.
 * 2. It is the Pod of this process, and the holder was an earlier start of its container.
 */
export function hasMostLikelyEnded(pod: JsonObject, { owner, ref, acquireTime, self }: HeldBy): boolean {
  const uid = stringAt(objectAt(pod, 'metadata'), 'uid')
  if (uid !== owner.uid) return false
  const phase = stringAt(objectAt(pod, 'status'), 'phase')
  if (phase === 'Failed' || phase === 'Succeeded') return true
  if (uid !== self.podUid || !(Date.parse(acquireTime) < self.startedAt)) return false
  if (ref === undefined) return true
  return self.ref !== undefined && self.ref.container === ref.container && self.ref.containerId !== ref.containerId
}
