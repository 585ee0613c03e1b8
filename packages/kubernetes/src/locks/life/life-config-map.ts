import { ANNOTATION_PREFIX, LockRequestError, type LeaseRecord } from '@tenure/core'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { annotationCodec, LEADER_ANNOTATION } from '../legacy/leader-annotation.ts'
import type { LockCodec } from '../lease/object-lock.ts'

/** The Pod that owns the ConfigMap. The garbage collector deletes the ConfigMap after this Pod. */
export interface PodOwner {
  readonly name: string
  readonly uid: string
}

/** The uid of the owner to which the record belongs. Somebody who changes the owner alone makes another holder. */
const OWNER_ANNOTATION = 'lock.tenure.dev/owner'

/** What a leader notes when it hands the lease over. The new holder removes the note with its first renewal. */
const TRANSFER_ANNOTATION = `${ANNOTATION_PREFIX}transfer`

const RECORD = annotationCodec({ kind: 'ConfigMap', resource: 'configmaps', title: 'configmap' })

/**
 * Keeps the record in a ConfigMap whose ownerReference is the Pod of the holder, as `leader.Become()` of operator-lib does.
 *
 * A ConfigMap of operator-lib has no record. Its holder is its owner, by the name of the Pod. `self` returns the Pod of this process.
 */
export function lifeCodec(self: () => PodOwner): LockCodec {
  return {
    resource: RECORD.resource,
    title: RECORD.title,
    parse: parseRecord,
    body: (stored, metadata, record) => {
      const body = RECORD.body(stored, metadata, record)
      const ownerReferences = isByHolder(stored, record) ? [reference(self())] : ownersOf(stored)
      const uid = stringAt(ownerReferences[0] ?? {}, 'uid') ?? ''
      const bodyMetadata = objectAt(body, 'metadata')
      const annotations = { ...objectAt(bodyMetadata, 'annotations'), [OWNER_ANNOTATION]: uid }
      return { ...body, metadata: { ...bodyMetadata, annotations, ownerReferences } }
    },
  }
}

/** The Pod that owns the ConfigMap. @throws LockRequestError with failure `rejected` if it is not owned by one Pod: it grants nothing */
export function ownerOf(object: JsonObject): PodOwner {
  const owners = ownersOf(object)
  const [owner = {}] = owners
  const [apiVersion, kind, name, uid] = ['apiVersion', 'kind', 'name', 'uid'].map((key) => stringAt(owner, key))
  if (owners.length === 1 && apiVersion === 'v1' && kind === 'Pod' && name !== undefined && uid !== undefined)
    return { name, uid }
  const found = owners.map(describeOwner).join(', ') || 'none'
  const [namespace, configMap] = ['namespace', 'name'].map((key) => stringAt(objectAt(object, 'metadata'), key))
  throw new LockRequestError(
    'rejected',
    `Expected the configmap ${namespace}/${configMap} to have one ownerReference, to a Pod, got ${found}. It is no ` +
      'lock of a leader for life. Delete it, or choose another name',
  )
}

/** The kind and the name; of another API group also its version, because a Pod of another group is no Pod. */
function describeOwner(owner: JsonObject): string {
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((key) => stringAt(owner, key))
  return kind === 'Pod' && apiVersion !== 'v1' ? `${apiVersion} ${kind} ${name}` : `${kind} ${name}`
}

/** Whether a write makes the writer the holder. A release and a transfer do not. */
export function isAcquisition(before: LeaseRecord, record: LeaseRecord): boolean {
  return isOfHolder(record) && before.acquireTime !== record.acquireTime
}

/**
 * Whether the Pod of the writer becomes the owner. Others write only annotations, a release or a transfer: a new holder, and every real
 * renewal of it, has a new time.
 */
function isByHolder(stored: JsonObject, record: LeaseRecord): boolean {
  if (ownersOf(stored).length === 0) return true
  return isOfHolder(record) && parseRecord(stored).renewTime !== record.renewTime
}

/** Whether only its holder writes such a record, apart from annotations. */
function isOfHolder({ holderIdentity, annotations }: LeaseRecord): boolean {
  return holderIdentity !== '' && annotations[TRANSFER_ANNOTATION] === undefined
}

function parseRecord(object: JsonObject): LeaseRecord {
  const annotations = objectAt(objectAt(object, 'metadata'), 'annotations')
  const recordOwner = stringAt(annotations, OWNER_ANNOTATION)
  const isRecorded = stringAt(annotations, LEADER_ANNOTATION) !== undefined && recordOwner !== undefined
  const record = isRecorded ? RECORD.parse(object) : undefined
  if (record?.holderIdentity === '') return record
  const owner = ownerOf(object)
  return record !== undefined && recordOwner === owner.uid ? record : recordOfOwner(owner, object)
}

/** What a ConfigMap without a record of its owner says. */
function recordOfOwner({ name }: PodOwner, object: JsonObject): LeaseRecord {
  const createdAt = stringAt(objectAt(object, 'metadata'), 'creationTimestamp')
  return {
    holderIdentity: name,
    leaseDurationSeconds: undefined,
    acquireTime: createdAt,
    renewTime: createdAt,
    leaseTransitions: undefined,
    annotations: {},
  }
}

function ownersOf(object: JsonObject): readonly JsonObject[] {
  const owners = objectAt(object, 'metadata')['ownerReferences']
  return Array.isArray(owners) ? owners.filter((owner) => isJsonObject(owner)) : []
}

function reference({ name, uid }: PodOwner): JsonObject {
  return { apiVersion: 'v1', kind: 'Pod', name, uid }
}
