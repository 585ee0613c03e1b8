import { equalJson, type JsonObject } from './json-value.ts'
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from './kube-object.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'

/** The version of a stored object, for the answer to a write that stores nothing. */
export function versionOf(object: KubeObject): Pick<ObjectMeta, 'resourceVersion'> {
  const { resourceVersion } = object.metadata
  return resourceVersion === undefined ? {} : { resourceVersion }
}

/** Keeps the fields that a client must not change. */
export function changedMetadata(given: ObjectMeta, previous: ObjectMeta, subresource: string): ObjectMeta {
  const base = subresource === 'status' ? { ...previous, ...withManagedFields(given.managedFields) } : given
  const {
    selfLink: _selfLink,
    generation: _generation,
    namespace: _namespace,
    creationTimestamp: _creationTimestamp,
    deletionTimestamp: _deletionTimestamp,
    deletionGracePeriodSeconds: _deletionGracePeriodSeconds,
    ...kept
  } = base
  return { ...kept, ...pick(previous, KEPT_METADATA), uid: base.uid ?? previous.uid ?? '' }
}

/** The field `managedFields`, omitted if the list is empty. */
export function withManagedFields(entries: ManagedFieldsEntry[] | undefined): ObjectMeta {
  return entries === undefined || entries.length === 0 ? {} : { managedFields: entries }
}

const KEPT_METADATA = [
  'namespace',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
]

function pick(metadata: ObjectMeta, fields: readonly string[]): ObjectMeta {
  return Object.fromEntries(Object.entries(metadata).filter(([field]) => fields.includes(field)))
}

/** Increments the generation if the write changes a counted field. */
export function withGeneration(next: KubeObject, previous: KubeObject, definition: ResourceDefinition): KubeObject {
  if (
    !definition.countsGenerations ||
    equalJson(countedContent(next, definition), countedContent(previous, definition))
  ) {
    return next
  }
  return { ...next, metadata: { ...next.metadata, generation: (previous.metadata.generation ?? 0) + 1 } }
}

function countedContent(object: KubeObject, definition: ResourceDefinition): JsonObject {
  const { metadata, apiVersion: _apiVersion, ...content } = object
  if (definition.subresources.includes('status')) delete content['status']
  return definition.countsLabels ? { ...content, labels: metadata.labels ?? {} } : content
}

/** Whether a write changes nothing. Such a write is not stored, and watchers see no event. */
export function isSame(next: KubeObject, previous: KubeObject): boolean {
  const { resourceVersion: _next, ...nextMetadata } = next.metadata
  const { resourceVersion: _previous, ...previousMetadata } = previous.metadata
  return equalJson({ ...next, metadata: nextMetadata }, { ...previous, metadata: previousMetadata })
}
