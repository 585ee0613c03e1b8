import { isJsonObject, objectAt, stringAt, type JsonObject } from '../transport/json-object.ts'
import type { ContainerRef } from './container-ref.ts'

/** What the kubelet writes when it has lost sight of a container. That the container has ended is a guess then. */
const UNKNOWN = 'ContainerStatusUnknown'

/** The status tells whole seconds, and a process starts a moment after its container. */
const START_TOLERANCE_MS = 6000

/**
 * Whether the status of the Pod, as the kubelet has written it, says that this very start of the container has terminated.
 *
 * A Pod of the same name that is another one, a container that was started again, and a status without the ID of what has
 * terminated prove nothing.
 */
export function hasTerminated(pod: JsonObject, ref: ContainerRef): boolean {
  if (stringAt(objectAt(pod, 'metadata'), 'uid') !== ref.podUid) return false
  return containerStatuses(pod)
    .filter((status) => stringAt(status, 'name') === ref.container)
    .flatMap((status) => [objectAt(status, 'state'), objectAt(status, 'lastState')])
    .map((state) => objectAt(state, 'terminated'))
    .some(
      (terminated) =>
        stringAt(terminated, 'containerID') === ref.containerId && stringAt(terminated, 'reason') !== UNKNOWN,
    )
}

/** Who looks for the container that it runs in. */
export interface Inhabitant {
  /** Undefined where the Pod has one container only. */
  readonly container: string | undefined
  /** When the process started, in milliseconds since the Unix epoch by the clock of its node. */
  readonly startedAt: number
}

/**
 * The container of a Pod that this process runs in, once the kubelet says that it runs.
 *
 * The kubelet and the process share the clock of their node, so a container that started long before the process is taken for the
 * one before: its status may be the older one.
 */
export function containerOf(pod: JsonObject, { container, startedAt }: Inhabitant): ContainerRef | undefined {
  const metadata = objectAt(pod, 'metadata')
  const statuses = containerStatuses(pod)
  const status = container === undefined ? only(statuses) : statuses.find((one) => stringAt(one, 'name') === container)
  if (status === undefined) return undefined
  const runningSince = Date.parse(stringAt(objectAt(objectAt(status, 'state'), 'running'), 'startedAt') ?? '')
  if (!(Math.abs(startedAt - runningSince) <= START_TOLERANCE_MS)) return undefined
  const [podUid, containerId] = [stringAt(metadata, 'uid'), stringAt(status, 'containerID')]
  const [namespace, name] = [stringAt(metadata, 'namespace'), stringAt(metadata, 'name')]
  const ofStatus = stringAt(status, 'name')
  if (!podUid || !containerId || !namespace || !name || !ofStatus) return undefined
  return { namespace, pod: name, podUid, container: ofStatus, containerId }
}

function containerStatuses(pod: JsonObject): JsonObject[] {
  const status = objectAt(pod, 'status')
  return ['containerStatuses', 'initContainerStatuses'].flatMap((key) => {
    const statuses = status[key]
    return Array.isArray(statuses) ? statuses.filter((one) => isJsonObject(one)) : []
  })
}

function only(statuses: readonly JsonObject[]): JsonObject | undefined {
  return statuses.length === 1 ? statuses[0] : undefined
}
