import { isJsonObject, stringAt } from '../../json-object.ts'

/** One start of one container: what a process is known by as long as it may run. */
export interface ContainerRef {
  readonly namespace: string
  readonly pod: string
  readonly podUid: string
  readonly container: string
  /** With the scheme of the runtime, for example `containerd://4c01…`. Differs from start to start. */
  readonly containerId: string
  /**
   * When the process that wrote this started, in milliseconds since the Unix epoch by the clock of its node. Whatever ended before
   * then was another start of the container.
   */
  readonly processStartedAt: number
}

const KEYS = ['namespace', 'pod', 'podUid', 'container', 'containerId'] as const

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Writes a reference into one line of text. */
export function formatContainerRef(ref: ContainerRef): string {
  const texts = Object.fromEntries(KEYS.map((key) => [key, ref[key]]))
  return JSON.stringify({ ...texts, processStartedAt: ref.processStartedAt })
}

/** Reads what {@link formatContainerRef} wrote. Anybody can have written it: undefined for anything that names no container. */
export function parseContainerRef(text: string): ContainerRef | undefined {
  const object = tryParse(text)
  if (!isJsonObject(object)) return undefined
  const [namespace = '', pod = '', podUid = '', container = '', containerId = ''] = KEYS.map((key) =>
    stringAt(object, key),
  )
  const isNamed = [namespace, pod, container].every((name) => DNS_NAME.test(name))
  const processStartedAt = object['processStartedAt']
  if (!isNamed || podUid === '' || containerId === '' || typeof processStartedAt !== 'number') return undefined
  return { namespace, pod, podUid, container, containerId, processStartedAt }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
