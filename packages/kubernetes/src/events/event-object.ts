import type { PresentLease } from '@tenure/core'
import { EPOCH_ANNOTATION } from '../gate/epoch-stamp.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-object.ts'

/** An Event name ends in a dot and up to this many hexadecimal digits of the time. */
const SUFFIX_LENGTH = 17
const MAX_NAME = 253

/** The content of an Event on a lease. */
export interface EventContent {
  readonly leaseName: string
  readonly namespace: string
  readonly component: string
  readonly message: string
  /** The lease object, if it is known: gives the Event its UID and version. */
  readonly lease: PresentLease | undefined
  /** The epoch of the term that began, if it is known. */
  readonly epoch?: bigint | undefined
  /** The time of the event, in wall-clock milliseconds since the Unix epoch. */
  readonly wallTime: number
  /** Distinguishes events of the same millisecond. In [0, 1). */
  readonly random: number
}

/** An Event, with the name and namespace to find it again. */
export interface LeaseEventObject extends JsonObject {
  readonly metadata: { readonly name: string; readonly namespace: string }
}

/** The Event that client-go writes when leadership changes: reason `LeaderElection` on the Lease. */
export function leaseEvent(content: EventContent): LeaseEventObject {
  const { leaseName, namespace, component, message } = content
  const timestamp = eventTime(content.wallTime)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: eventName(content), namespace, ...epochAnnotation(content.epoch).metadata },
    involvedObject: {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      name: leaseName,
      namespace,
      ...identityOf(content.lease),
    },
    reason: 'LeaderElection',
    message,
    type: 'Normal',
    source: { component },
    reportingComponent: component,
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    count: 1,
  }
}

/** The metadata of an Event about a term with this epoch. */
export function epochAnnotation(epoch: bigint | undefined): {
  readonly metadata?: { readonly annotations: Readonly<Record<string, string>> }
} {
  return epoch === undefined ? {} : { metadata: { annotations: { [EPOCH_ANNOTATION]: String(epoch) } } }
}

/** Formats a wall-clock time as Events have it: RFC 3339 in UTC, whole seconds. */
export function eventTime(wallTime: number): string {
  return new Date(wallTime).toISOString().replace(/\.\d+Z/, 'Z')
}

/** The name that client-go gives an Event: the object and the time in nanoseconds. The digits below a millisecond are random. */
function eventName({ leaseName, wallTime, random }: EventContent): string {
  const nanoseconds = BigInt(Math.floor(wallTime)) * 1_000_000n + BigInt(Math.floor(random * 1_000_000))
  const prefix = leaseName.slice(0, MAX_NAME - SUFFIX_LENGTH).replace(/[-.]+$/, '')
  return `${prefix}.${nanoseconds.toString(16)}`
}

function identityOf(lease: PresentLease | undefined): { readonly uid?: string; readonly resourceVersion?: string } {
  if (lease === undefined) return {}
  const uid = isJsonObject(lease.native) ? stringAt(objectAt(lease.native, 'metadata'), 'uid') : undefined
  return { ...(uid === undefined ? {} : { uid }), resourceVersion: String(lease.version) }
}
