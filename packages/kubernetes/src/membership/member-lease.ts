import { createHash } from 'node:crypto'
import { ANNOTATION_PREFIX } from '@tenure/core'
import { formatMicroTime } from '@tenure/core/internal'
import { integerAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import type { ObservedObject } from '../reflector/observed-object.ts'

/** The label that the Leases of a group share. Its value is the name of the group. */
export const GROUP_LABEL: string = `${ANNOTATION_PREFIX}member-of`

/** What a member says of itself, as JSON in one annotation. */
const FACTS = `${ANNOTATION_PREFIX}member`

/** A longer annotation is not read. */
const MAX_FACTS_LENGTH = 16_384

/** The longest duration that counts: anybody who may write a Lease could make it immortal otherwise. */
const MAX_DURATION_SECONDS = 3600

/** What a member publishes of itself. */
export interface MemberFacts {
  readonly address?: string | undefined
  readonly version?: string | undefined
  readonly zone?: string | undefined
  /** Identifies the process to others that look for proof of its death. */
  readonly process?: string | undefined
  readonly notes: Readonly<Record<string, string>>
}

/** An identity Lease as it is stored. */
export interface MemberLease {
  readonly name: string
  readonly uid: string
  /** Of this state of the Lease. */
  readonly resourceVersion: bigint
  readonly identity: string
  /** What the Lease states; undefined if that is not a duration. */
  readonly durationMs: number | undefined
  /** Without that of the group. */
  readonly labels: Readonly<Record<string, string>>
  readonly facts: MemberFacts
}

/** What never changes about the Lease of a member. */
export interface MemberLeaseSource {
  readonly group: string
  readonly namespace: string
  readonly identity: string
  readonly durationMs: number
  readonly labels: Readonly<Record<string, string>>
  readonly pod: { readonly name: string; readonly uid: string } | undefined
}

/** The name of a member's Lease: the group, and a hash of the identity, which may hold characters that a name cannot. */
export function memberLeaseName(group: string, identity: string): string {
  return `${group}-${createHash('sha256').update(identity).digest('hex').slice(0, 26)}`
}

/** The body of a Lease that is created, or that replaces the stored one. Keeps what others put there. */
export function memberLeaseBody(
  source: MemberLeaseSource,
  facts: MemberFacts,
  { stored = {}, now }: { readonly stored?: JsonObject | undefined; readonly now: number },
): JsonObject {
  const { group, namespace, identity, durationMs, pod } = source
  const { managedFields: _, ...metadata } = objectAt(stored, 'metadata')
  const renewTime = formatMicroTime(now)
  return {
    ...stored,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      name: memberLeaseName(group, identity),
      namespace,
      labels: { ...objectAt(metadata, 'labels'), ...source.labels, [GROUP_LABEL]: group },
      annotations: { ...objectAt(metadata, 'annotations'), [FACTS]: JSON.stringify(facts) },
      ...(pod && { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }] }),
    },
    spec: {
      ...objectAt(stored, 'spec'),
      holderIdentity: identity,
      leaseDurationSeconds: durationMs / 1000,
      renewTime,
      acquireTime: stringAt(objectAt(stored, 'spec'), 'acquireTime') ?? renewTime,
    },
  }
}

/** Reads an identity Lease. Undefined for an absent one and for one without a holder: it is nobody's. */
export function readMemberLease(seen: ObservedObject): MemberLease | undefined {
  if (seen.kind === 'absent') return undefined
  const metadata = objectAt(seen.object, 'metadata')
  const spec = objectAt(seen.object, 'spec')
  const { [GROUP_LABEL]: _, ...labels } = textsIn(objectAt(metadata, 'labels'))
  const identity = stringAt(spec, 'holderIdentity') ?? ''
  if (identity === '' || stringAt(metadata, 'deletionTimestamp') !== undefined) return undefined
  const seconds = integerAt(spec, 'leaseDurationSeconds') ?? 0
  return {
    name: stringAt(metadata, 'name') ?? '',
    uid: stringAt(metadata, 'uid') ?? '',
    resourceVersion: seen.version,
    identity,
    durationMs: seconds > 0 ? Math.min(seconds, MAX_DURATION_SECONDS) * 1000 : undefined,
    labels,
    facts: readFacts(stringAt(objectAt(metadata, 'annotations'), FACTS)),
  }
}

/** Any client that may write the Lease can write this. Fields of another type count as missing. */
function readFacts(text: string | undefined): MemberFacts {
  const json = text === undefined || text.length > MAX_FACTS_LENGTH ? undefined : tryParse(text)
  if (!isJsonObject(json)) return { notes: {} }
  return {
    address: stringAt(json, 'address'),
    version: stringAt(json, 'version'),
    zone: stringAt(json, 'zone'),
    process: stringAt(json, 'process'),
    notes: textsIn(objectAt(json, 'notes')),
  }
}

function textsIn(object: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
