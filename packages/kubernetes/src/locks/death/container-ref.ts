import { isJsonObject } from '../../json-object.ts'

/** One start of one container. It identifies a process for as long as that may run. */
export interface ContainerRef {
  readonly namespace: string
  readonly pod: string
  readonly podUid: string
  readonly container: string
  /** With the scheme of the runtime, for example `containerd://4c01…`. Differs from start to start. */
  readonly containerId: string
  /**
   * When the process that wrote this started, in milliseconds since the Unix epoch by the clock of its node. Whatever ended
   * before then was another start of the container.
   */
  readonly processStartedAt: number
}

const KEYS = ['namespace', 'pod', 'podUid', 'container', 'containerId', 'processStartedAt'] as const

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Writes a reference into one line of text. */
export function formatContainerRef(ref: ContainerRef): string {
  return JSON.stringify(Object.fromEntries(KEYS.map((key) => [key, ref[key]])))
}

/**
 * Reads what {@link formatContainerRef} wrote. Returns undefined for any other text: every client that may write the lease may
 * have written it.
 */
export function parseContainerRef(text: string): ContainerRef | undefined {
  const object = tryParse(text)
  if (!isJsonObject(object) || !isContainerRef(object)) return undefined
  const { namespace, pod, podUid, container, containerId, processStartedAt } = object
  return { namespace, pod, podUid, container, containerId, processStartedAt }
}

/** Whether every field is present and well-formed. */
export function isContainerRef(fields: Partial<Record<keyof ContainerRef, unknown>>): fields is ContainerRef {
  const { namespace, pod, podUid, container, containerId, processStartedAt } = fields
  const areNames = [namespace, pod, container].every((name) => typeof name === 'string' && DNS_NAME.test(name))
  const areIds = [podUid, containerId].every((id) => typeof id === 'string' && id !== '')
  return areNames && areIds && typeof processStartedAt === 'number'
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
