import type { JsonObject, JsonValue } from './json-value.ts'

/** The metadata of a stored object. Typed fields are those that the server reads. */
export interface ObjectMeta {
  /** Unique within the collection and namespace. */
  name?: string
  /** The prefix of a name that the server generates if `name` is missing. */
  generateName?: string
  /** Missing for cluster-scoped objects. */
  namespace?: string
  /** Unique over time: a recreated object has another `uid`. The server sets it. */
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
  /** Labels, for selectors. */
  labels?: Record<string, string>
  /** Arbitrary data of clients. */
  annotations?: Record<string, string>
  /** The object is removed only after all finalizers are. */
  finalizers?: string[]
  /** The owners. A garbage collector removes the object when all of them are gone. */
  ownerReferences?: JsonObject[]
  /** The owner of each field. */
  managedFields?: ManagedFieldsEntry[]
  [field: string]: JsonValue
}

/** An entry of `metadata.managedFields`: the fields that one manager wrote with one operation. */
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
  /** The subresource of the write, such as `status`. Missing for the main resource. */
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
