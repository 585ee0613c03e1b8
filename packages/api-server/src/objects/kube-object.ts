import type { JsonObject, JsonValue } from './json-value.ts'

/** The metadata of a stored object, with the fields that the server itself reads. */
export interface ObjectMeta {
  /** Unique within the collection and namespace. */
  name?: string
  /** The prefix of a name that the server completes. Used when `name` is missing. */
  generateName?: string
  /** Missing for objects of the cluster. */
  namespace?: string
  /** Unique in time. The server sets it. */
  uid?: string
  /** The version of the last change, for compare-and-swap. The server sets it. */
  resourceVersion?: string
  /** Counts the changes of the spec. The server sets it. */
  generation?: number
  /** When the object was created (RFC 3339). The server sets it. */
  creationTimestamp?: string
  /** When the deletion was requested (RFC 3339). Missing unless the object is being deleted. */
  deletionTimestamp?: string
  /** The grace period of the deletion, in seconds. */
  deletionGracePeriodSeconds?: number
  /** Values to select objects by. */
  labels?: Record<string, string>
  /** Values of clients. */
  annotations?: Record<string, string>
  /** What must be removed before the object can go. */
  finalizers?: string[]
  /** The owners. The object is garbage when all of them are gone. */
  ownerReferences?: JsonObject[]
  /** Which manager wrote which fields. */
  managedFields?: ManagedFieldsEntry[]
  [field: string]: JsonValue
}

/** Which fields one manager wrote in one way: an entry of `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  /** The name of the manager. */
  manager: string
  /** How it wrote: by server-side apply or by another write. */
  operation: 'Apply' | 'Update'
  /** The API version of the fields. */
  apiVersion: string
  /** When the manager last changed the fields (RFC 3339). */
  time?: string
  /** The format of `fieldsV1`. */
  fieldsType: 'FieldsV1'
  /** The set of fields. */
  fieldsV1: JsonObject
  /** The subresource that it wrote through. Missing for the object itself. */
  subresource?: string
  [field: string]: JsonValue
}

/** An object of the Kubernetes API. */
export interface KubeObject {
  /** The API group and version, such as `apps/v1`. */
  apiVersion: string
  /** The kind, such as `Deployment`. */
  kind: string
  /** The name, namespace, version and other metadata. */
  metadata: ObjectMeta
  [field: string]: JsonValue
}
