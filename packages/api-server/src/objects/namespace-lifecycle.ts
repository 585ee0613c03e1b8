import { ApiStatusError, forbidden, notFound } from './api-status.ts'
import { subjectOf, type ResourceDefinition } from '../resources/resource-definition.ts'
import type { ObjectRef, Store } from '../storage/store.ts'

/** Namespaces that exist from the start; the first three cannot be deleted. */
export const PRESET_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const

const PROTECTED: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public'])

function namespaceRef(name: string): ObjectRef {
  return { collection: 'namespaces', namespace: '', name }
}

/** Whether the resource is namespaced and the namespace of the object does not exist. */
export function lacksNamespace(store: Store, definition: ResourceDefinition, { namespace }: ObjectRef): boolean {
  return definition.namespaced && store.get(namespaceRef(namespace)) === undefined
}

/** @throws ApiStatusError 404 if the namespace does not exist, 403 if it is being deleted. */
export function assertNamespaceTakes(store: Store, definition: ResourceDefinition, target: ObjectRef): void {
  if (!definition.namespaced) return
  const namespace = store.get(namespaceRef(target.namespace))
  if (namespace === undefined) {
    throw notFound({ group: '', resource: 'namespaces', kind: 'Namespace', name: target.namespace })
  }
  if (namespace.metadata.deletionTimestamp === undefined) return
  const why = `unable to create new content in namespace ${target.namespace} because it is being terminated`
  const refusal = forbidden(subjectOf(definition, target.name), why)
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${target.namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  throw new ApiStatusError(403, 'Forbidden', refusal.message, { details: { ...refusal.details, causes: [cause] } })
}

/** @throws ApiStatusError 403 for a namespace that the server needs. */
export function assertNamespaceMayGo(definition: ResourceDefinition, name: string): void {
  if (definition.collection !== 'namespaces' || !PROTECTED.has(name)) return
  throw forbidden(subjectOf(definition, name), 'this namespace may not be deleted')
}

/**
 * Does the work of the namespace controller: removes the objects in a namespace that is being deleted, then the namespace.
 * Objects with finalizers stay, and the namespace stays until the last of them is gone.
 */
export function advanceNamespaceDeletion(store: Store, name: string, remove: (ref: ObjectRef) => void): void {
  const ref = namespaceRef(name)
  if (store.get(ref)?.metadata.deletionTimestamp === undefined) return
  for (const contentRef of contentOf(store, name)) remove(contentRef)
  const namespace = store.get(ref)
  if (namespace === undefined || contentOf(store, name).length > 0) return
  if ((namespace.metadata.finalizers ?? []).length > 0) return
  store.delete(ref)
}

function contentOf(store: Store, namespace: string): ObjectRef[] {
  return store
    .collections()
    .flatMap((collection) =>
      store.list(collection, namespace).map((object) => ({ collection, namespace, name: object.metadata.name ?? '' })),
    )
}
