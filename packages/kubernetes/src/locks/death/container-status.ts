import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { isContainerRef, type ContainerRef } from './container-ref.ts'

/** The reason that the kubelet writes when it has lost track of a container. The termination is then a guess. */
const UNKNOWN = 'ContainerStatusUnknown'

/** A status has whole seconds, and a process starts a moment after its container. */
const START_TOLERANCE_MS = 6000

/**
 * Whether the status of the Pod, as the kubelet has written it, says that this very start of the container has terminated.
 *
 * These prove nothing: another Pod of the same name, a container that was started again, a status without the ID of the
 * terminated container or without the time of its end, and an end before the process of the reference started. In the last case
 * the reference names the predecessor: a process that reads its Pod right after a restart can see the status from before the
 * restart. Both times come from the clock of the same node.
 */
export function hasTerminated(pod: JsonObject, ref: ContainerRef): boolean {
  if (stringAt(objectAt(pod, 'metadata'), 'uid') !== ref.podUid) return false
  return containerStatuses(pod)
    .filter((status) => stringAt(status, 'name') === ref.container)
    .flatMap((status) => [objectAt(status, 'state'), objectAt(status, 'lastState')])
    .map((state) => objectAt(state, 'terminated'))
    .some(
      (terminated) =>
        stringAt(terminated, 'containerID') === ref.containerId &&
        stringAt(terminated, 'reason') !== UNKNOWN &&
        Date.parse(String(stringAt(terminated, 'finishedAt'))) >= ref.processStartedAt,
    )
}

/** What a process knows of the container that it runs in. */
export interface ContainerQuery {
  /** The name of the container. Undefined if the Pod has only one container. */
  readonly container: string | undefined
  /** The ID of the container without the scheme of the runtime. Undefined if the kernel hides it. */
  readonly kernelId: string | undefined
  /** When the process started, in milliseconds since the Unix epoch by the clock of its node. */
  readonly startedAt: number
}

/**
 * The container of a Pod that this process runs in, once the kubelet reports it as running.
 *
 * If the kernel shows the ID, only the container with that ID counts. Otherwise, a container that started long before the process
 * counts as a predecessor, by the clock that the kubelet and the process share.
 */
export function containerOf(pod: JsonObject, query: ContainerQuery): ContainerRef | undefined {
  const statuses = containerStatuses(pod)
  const status = query.container === undefined ? only(statuses) : statusOf(statuses, query.container)
  if (status === undefined || !isRunning(status, query)) return undefined
  const { namespace, name: podName, uid } = objectAt(pod, 'metadata')
  const { name: container, containerID } = status
  const ref = {
    namespace,
    pod: podName,
    podUid: uid,
    container,
    containerId: containerID,
    processStartedAt: query.startedAt,
  }
  return isContainerRef(ref) ? ref : undefined
}

/** Whether a status reports the very start of the container that runs this process. */
function isRunning(status: JsonObject, { kernelId, startedAt }: ContainerQuery): boolean {
  const runningSince = Date.parse(String(stringAt(objectAt(objectAt(status, 'state'), 'running'), 'startedAt')))
  if (Number.isNaN(runningSince)) return false
  if (kernelId === undefined) return Math.abs(startedAt - runningSince) <= START_TOLERANCE_MS
  return stringAt(status, 'containerID')?.endsWith(`//${kernelId}`) === true
}

/** Whether a status names another start of the container as the present one, or says that this one has ended. */
export function isRefuted(pod: JsonObject, ref: ContainerRef): boolean {
  if (stringAt(objectAt(pod, 'metadata'), 'uid') !== ref.podUid) return true
  const status = statusOf(containerStatuses(pod), ref.container)
  const current = status && stringAt(status, 'containerID')
  return (
    (current !== undefined && current !== ref.containerId) ||
    isJsonObject(objectAt(status ?? {}, 'state')['terminated'])
  )
}

function containerStatuses(pod: JsonObject): JsonObject[] {
  const status = objectAt(pod, 'status')
  return ['containerStatuses', 'initContainerStatuses'].flatMap((key) => {
    const statuses = status[key]
    return Array.isArray(statuses) ? statuses.filter((one) => isJsonObject(one)) : []
  })
}

function statusOf(statuses: readonly JsonObject[], container: string): JsonObject | undefined {
  return statuses.find((status) => stringAt(status, 'name') === container)
}

function only(statuses: readonly JsonObject[]): JsonObject | undefined {
  return statuses.length === 1 ? statuses[0] : undefined
}
